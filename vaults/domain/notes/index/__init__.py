"""Notes as rows: read from the files and kept in agreement with them."""
