"""Frontmatter values as a schema sees them: their kind and their text. Pure."""

from __future__ import annotations

import json
import re
from datetime import date, datetime
from functools import lru_cache
from typing import Any, Literal, NamedTuple

ValueKind = Literal["string", "number", "boolean", "date", "datetime", "list", "link", "mapping", "empty"]

TEXT_LENGTH = 200
"""Max characters of a value that are examined."""

MAX_ITEMS = 50
"""Max items of a list that are examined."""

CACHE_SIZE = 4_096
"""Values cached: most notes of a vault share the same few."""

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[-+][0-9]{2}:?[0-9]{2})?"
)
_LINK = re.compile(r"!?\[\[[^\[\]\n]+\]\]|\[[^\[\]\n]*\]\([^()\n]+\)")


class PropertyValue(NamedTuple):
    """A value. ``texts``: its text, or one per item of a list; none for a mapping. ``size``: items of a list, else
    1."""

    kind: ValueKind
    texts: tuple[str, ...]
    size: int = 1


def to_property_value(value: Any) -> PropertyValue:
    """Convert a JSON value."""
    if isinstance(value, list):
        plain = [
            each[:TEXT_LENGTH] if isinstance(each, str) else to_short_text(each)
            for each in value[:MAX_ITEMS]
            if not isinstance(each, list | dict)
        ]
        return PropertyValue("list", tuple(plain), len(value))
    if isinstance(value, dict):
        return PropertyValue("mapping", ())
    if isinstance(value, str) and len(value) <= TEXT_LENGTH:
        return _to_text_value(value)
    return PropertyValue(scalar_kind(value), (to_short_text(value),))


@lru_cache(CACHE_SIZE)
def _to_text_value(value: str) -> PropertyValue:
    return PropertyValue(scalar_kind(value), (value,))


def scalar_kind(value: Any) -> ValueKind:
    """The kind of a value that is neither a list nor a mapping."""
    if value is None or value == "":
        return "empty"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return _kind_of_text(str(value))


def _kind_of_text(text: str) -> ValueKind:
    first = text[0]
    if first.isdigit():
        if _DATE.fullmatch(text):
            return "date" if is_date(text) else "string"
        if _MOMENT.fullmatch(text):
            return "datetime" if _is_moment(text) else "string"
    elif first in "[!" and _LINK.fullmatch(text.strip()):
        return "link"
    return "string"


def to_short_text(value: Any) -> str:
    """A value as text, cut to ``TEXT_LENGTH``."""
    return to_whole_text(value)[:TEXT_LENGTH]


def to_whole_text(value: Any) -> str:
    """A value as text: ``true``, ``3``, or the text itself."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value)


def is_date(text: str) -> bool:
    """Whether this is an existing day."""
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_moment(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
