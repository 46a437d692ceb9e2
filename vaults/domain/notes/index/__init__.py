"""Notes as rows: read from files and kept equal to them."""
