"""A vault's upkeep: verification, reindexing, status figures, and removal of what has expired."""
