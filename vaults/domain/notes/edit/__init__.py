"""Changes to notes: edits, moves, deletions, and undoing them."""
