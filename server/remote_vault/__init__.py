"""Vaults on other servers: single calls, import and export, and a relay for stdio clients."""
