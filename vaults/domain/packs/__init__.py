"""Context packs: what matters for a question, or at the start of a session, within a budget of tokens."""
