"""The conventions of a vault's frontmatter, and changing it in many notes at once."""
