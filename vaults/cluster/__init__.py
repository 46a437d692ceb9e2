"""Vaults that outlive their server: the log of each, who holds it, and restoring it elsewhere."""
