"""What a pack in words says where it holds nothing. Imports nothing: whoever asks a server reads packs as well."""

from __future__ import annotations

NOTHING_STORED = "Nothing is stored here yet that would help."
NOTHING_ANSWERS = "nothing here seems to answer this"
"""Warning of a pack for a question that nothing found is likely to answer."""

LEFT_OUT = "more hits are unlikely to answer: left out"
"""End of the warning of a pack that holds the others."""

TOO_LITTLE = "Nothing fits; ask with more budget_tokens."


def has_content(prompt: str) -> bool:
    """Whether a pack in words says anything."""
    return prompt not in ("", NOTHING_STORED, TOO_LITTLE, NOTHING_ANSWERS)


def is_doubt(warning: str) -> bool:
    """Whether a warning of a pack tells why it holds so little, which is also said in words."""
    return warning == NOTHING_ANSWERS or warning.endswith(LEFT_OUT)
