"""Secrets in texts: found and made unreadable before anything is stored. Pure."""
