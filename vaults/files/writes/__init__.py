"""Atomic writes: temporary files, renames, replacement, and what is left of them after a kill."""
