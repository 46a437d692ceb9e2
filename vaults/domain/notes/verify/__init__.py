"""Whether files, rows and journal agree."""
