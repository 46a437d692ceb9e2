"""Answers to queries: hybrid search, whole texts, and why a hit was found."""
