"""Secrets in texts: found and redacted before anything is stored. Pure."""
