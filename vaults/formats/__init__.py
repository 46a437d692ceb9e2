"""File formats: from the bytes of a file to titled parts with their places. Knows no vault."""
