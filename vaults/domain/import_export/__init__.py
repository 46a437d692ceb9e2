"""Whole vaults in and out, as JSONL or Markdown."""
