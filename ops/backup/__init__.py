"""Backups: archives of vaults and of the installation, what they say of themselves, and where they are kept."""
