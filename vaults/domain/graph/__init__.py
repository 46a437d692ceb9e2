"""Queries on the graph of notes, and the jobs that maintain it."""
