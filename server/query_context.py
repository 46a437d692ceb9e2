"""What the activity log may keep of a call's arguments, and how long they were. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KEPT_ARGUMENTS = ("query", "focus", "analysis", "entity", "heading", "field", "date", "concept")
"""Arguments that say what was asked for. No other argument is ever kept."""

MAX_CHARACTERS = 500
"""Max characters kept of a call."""

CHARACTERS_PER_TOKEN = 4
"""Average characters of a token."""


def format_query_context(arguments: Mapping[str, Any]) -> str | None:
    """What was asked for, as lines ``name=value`` in the order of ``KEPT_ARGUMENTS``, at most ``MAX_CHARACTERS``
    characters; None if nothing was. Only text is kept, each on one line: one argument cannot pass for another."""
    lines = [f"{name}={_to_line(arguments[name])}" for name in KEPT_ARGUMENTS if isinstance(arguments.get(name), str)]
    return "\n".join(lines)[:MAX_CHARACTERS] or None


def _to_line(text: str) -> str:
    # Cut first: the text may be long, and no more of it could be kept. Unprintable characters go: some, such as half
    # of a surrogate pair, cannot be stored.
    begun = text[:MAX_CHARACTERS]
    shown = begun if begun.isprintable() else "".join(each if each.isprintable() else " " for each in begun)
    return " ".join(shown.split())


def estimate_tokens(characters: int) -> int:
    """About how many tokens a text of so many characters has."""
    return -(-characters // CHARACTERS_PER_TOKEN)
