"""What the frontmatter of a vault has in common, and changing it everywhere at once."""
