"""Pages of lists: their cursors, and as many rows as a token budget holds."""
