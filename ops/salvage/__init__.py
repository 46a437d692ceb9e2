"""Building a vault's database anew from a damaged one, its log, backups and the notes on disk."""
