"""Notes: Markdown files as people and agents edit them together. Files are the truth, rows are read off them."""
