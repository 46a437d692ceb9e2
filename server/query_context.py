"""What the activity log may keep of a call's arguments, and how long they were. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KEPT = ("query", "focus", "analysis", "entity", "heading", "field", "date", "concept")
"""Arguments that say what was asked for. No other argument is ever kept."""

MOST = 500
"""Characters kept of a call at most."""

CHARACTERS = 4
"""Characters a token has on average."""


def query_context(arguments: Mapping[str, Any]) -> str | None:
    """What was asked for, as lines ``name=value`` in the order of ``KEPT``, at most ``MOST`` characters; None where
    nothing was. Only text is kept, on one line: one argument cannot pass for another."""
    lines = [f"{name}={_line(arguments[name])}" for name in KEPT if isinstance(arguments.get(name), str)]
    return "\n".join(lines)[:MOST] or None


def _line(text: str) -> str:
    # Cut first: what a caller sends may be long, and no more of it could be kept. What cannot be shown cannot be
    # stored either, such as half of a surrogate pair.
    shown = "".join(each if each.isprintable() else " " for each in text[:MOST])
    return " ".join(shown.split())


def estimated_tokens(characters: int) -> int:
    """About how many tokens a text of so many characters has."""
    return -(-characters // CHARACTERS)
