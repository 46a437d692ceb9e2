"""What people did with links (set, kept, removed, refused), and what suggestions learn from it."""
