"""Atomic writes: temporary files, renames, replacement, and cleaning up after a kill."""
