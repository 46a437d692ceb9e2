"""Edits a part of a note and nothing else: ``pipeline`` holds the steps, ``draft`` the values. Pure."""
