"""Keeping it alive: logs, metrics, health."""
