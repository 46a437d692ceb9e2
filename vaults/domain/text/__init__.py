"""Text for readers: sanitized, counted, matched. Pure."""
