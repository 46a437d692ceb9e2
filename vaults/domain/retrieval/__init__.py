"""Answers to questions: hybrid search, whole texts, and why a hit was found."""
