"""Insights into a vault's past and state, from its notes and memories."""
