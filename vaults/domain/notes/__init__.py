"""Notes: Markdown files that people and agents edit together. Files are the truth; rows are derived from them."""
