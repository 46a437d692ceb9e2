"""Pages of lists: their cursors, and as many rows as a budget of tokens holds."""
