"""Changes of notes as one journaled transaction over files and rows, and recovered after a kill."""
