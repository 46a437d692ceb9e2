"""First start, project vaults, and what clients and agents need to connect."""
