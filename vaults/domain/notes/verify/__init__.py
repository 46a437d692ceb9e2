"""Checking that files, rows and journal agree."""
