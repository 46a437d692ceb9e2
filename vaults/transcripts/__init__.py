"""Conversations of people with agents, read from the files the agents' programs write."""
