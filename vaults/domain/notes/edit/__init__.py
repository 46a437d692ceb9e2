"""What changes notes: edits, moves, deletions, and taking them back."""
