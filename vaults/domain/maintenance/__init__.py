"""The state of a vault: verified, reindexed, measured, and freed of what has run out."""
