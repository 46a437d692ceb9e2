"""Changes to notes as one journaled transaction over files and rows, recovered after a kill."""
