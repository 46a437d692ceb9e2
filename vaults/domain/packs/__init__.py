"""Context packs: what matters for a query, or at the start of a session, within a token budget."""
