"""The names of notes, and where a text mentions them."""
