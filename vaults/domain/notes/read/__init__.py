"""Finding, opening, listing and reading notes."""
