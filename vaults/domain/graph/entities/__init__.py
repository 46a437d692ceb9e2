"""What a vault is about: names with and without a note, and merging two of them."""
