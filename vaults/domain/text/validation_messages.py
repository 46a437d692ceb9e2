"""Why a value does not fit its model, in words for whoever gave it. Pure."""

from __future__ import annotations

import re

_LENGTH = re.compile(r"value should have at (most|least) (\d+) items? after validation.*", re.S)


def simplify(message: str) -> str:
    """A validator's message without its preamble. Pydantic gives the length of a text that is checked last in
    "items"."""
    text = message.removeprefix("Value error, ").removeprefix("Input ")
    text = text[:1].lower() + text[1:]
    return _LENGTH.sub(lambda found: f"should have at {found[1]} {found[2]} characters", text)
