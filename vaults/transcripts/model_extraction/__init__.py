"""Memories made of conversations by a model that the operator configured."""
