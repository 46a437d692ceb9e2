"""Files of a vault: atomic writes, contained paths, Markdown."""
