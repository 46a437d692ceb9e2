"""Readers of what other systems leave on a disk: each yields the lines that ``import jsonl`` takes."""
