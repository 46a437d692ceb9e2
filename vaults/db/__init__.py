"""SQLite under asyncio: one writer with group commit, a few readers, migrations. Knows no vault."""
