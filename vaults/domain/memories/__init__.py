"""Memories: stored, changed, linked, corrected, expired; what contradicts or repeats another."""
