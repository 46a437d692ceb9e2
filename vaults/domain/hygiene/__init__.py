"""Keeping memories clean without a model: secrets, contradictions, echoes, fading, sweeping, findings."""
