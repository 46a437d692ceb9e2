"""Following changes that other programs make to the files."""
