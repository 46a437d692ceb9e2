"""What notes are called, and where a text says so."""
