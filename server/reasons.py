"""Rewords pydantic's messages like our own. Imports almost nothing: usage errors must be quick."""

from __future__ import annotations

import re

_PARSING = re.compile(r", unable to (?:parse|interpret) .*$", re.DOTALL)


def reword_message(message: str) -> str:
    """``must be a valid integer`` for ``Input should be a valid integer, unable to parse string as an integer``."""
    text = _PARSING.sub("", message.removeprefix("Value error, "))
    text = text.replace("Input should ", "must ", 1)
    return text[:1].lower() + text[1:]
