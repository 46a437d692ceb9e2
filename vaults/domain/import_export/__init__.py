"""Importing and exporting whole vaults, as JSONL or Markdown."""
