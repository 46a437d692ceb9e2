"""What people did with links: set, kept, removed, refused; and what follows for the next suggestions."""
