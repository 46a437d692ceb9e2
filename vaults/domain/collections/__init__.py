"""Collections: folders of files that a vault reads besides its notes."""
