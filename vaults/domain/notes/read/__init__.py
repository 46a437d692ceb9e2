"""Notes found, opened, listed and read in part."""
