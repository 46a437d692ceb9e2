"""Memories made of conversations by rules, without a model."""
