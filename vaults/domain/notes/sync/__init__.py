"""Following what other programs do to the files."""
