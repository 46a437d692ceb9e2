"""The change log: every commit of a vault beside its backups, and the state at any of them."""
