"""What a pack in words says where it holds nothing. Imports nothing: whoever asks a server reads packs as well."""

from __future__ import annotations

NOTHING_STORED = "Nothing is stored here yet that would help."
TOO_LITTLE = "Nothing fits; ask with more budget_tokens."


def has_content(prompt: str) -> bool:
    """Whether a pack in words says anything."""
    return prompt not in ("", NOTHING_STORED, TOO_LITTLE)
