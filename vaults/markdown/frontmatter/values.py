"""What frontmatter holds, and what a scalar stands for.

Values are what JSON can hold: text, whole numbers, finite fractions, true and false, null, lists and mappings with
text for keys. Dates stay text as written, and so do ``yes``, ``no``, ``on``, ``off``, ``0o17``, ``007``,
``1:30`` and ``.inf``: Obsidian's and YAML 1.2's reading, except that a number with a leading zero is a name.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

MAX_DEPTH = 32
"""Levels of lists and mappings inside each other."""

_WORDS: dict[str, bool | None] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})$")
_FRACTION = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{0,60})?|\.[0-9]{1,60})(?:[eE][-+]?[0-9]{1,4})?$")


@dataclass(frozen=True, slots=True)
class ParsedFrontmatter:
    """``error`` without values: it could not be read. Both: a key is repeated, and the last one counts."""

    values: dict[str, Any] = field(default_factory=dict)
    error: str | None = None


def parse_scalar(text: str) -> Any:
    """What an unquoted scalar stands for."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.match(text):
        return int(text)
    if _FRACTION.match(text) and not text.isdigit():
        number = float(text)
        return number if math.isfinite(number) else text
    return text
