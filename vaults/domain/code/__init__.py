"""Source code in a vault: its symbols, and what is asked of them."""
