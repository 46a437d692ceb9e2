"""Cuts a result to a number of characters: long lists lose their end, long texts theirs. Pure.

So part of any result fits any budget. Tools that page cut their own lists, so that the cursor goes on where the answer
ends; this is for the rest, and for the last item of a page that alone is too long.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

SHORT_TEXT = 120
"""Max characters of a text that is kept whole as long as anything is: an id, a time, a title."""

FIELD_OVERHEAD = 8
"""Characters of a field besides its value: name, quotes, comma. A low estimate, as each budget is checked after the
cut."""

ELLIPSIS = "…"

POSITION_FIELDS = ("cursor", "next_line")
"""Fields that say where a reader goes on."""


def shorten(value: Any, room: int) -> Any:
    """``value`` in about ``room`` characters, of the same type. Short texts and numbers stay; of the longer ones the
    smallest is served first, so that one long text does not push out all the others."""
    if isinstance(value, str):
        return value if len(value) <= room else value[: max(0, room - 1)] + ELLIPSIS
    if isinstance(value, list | tuple):
        return _shorten_list(list(value), room)
    if isinstance(value, Mapping):
        return _shorten_fields(dict(value), room)
    if is_dataclass(value) and not isinstance(value, type):
        before = {each.name: getattr(value, each.name) for each in fields(value)}
        after = _shorten_fields(before, room)
        changed = {name: each for name, each in after.items() if each is not before[name]}
        return replace(value, **changed, **_lost_positions(before, changed)) if changed else value
    return value


def _lost_positions(before: dict[str, Any], changed: dict[str, Any]) -> dict[str, None]:
    """Position fields to clear, because going on from there would skip what was cut: a cursor where rows are gone, a
    line where lines are."""
    rows = any(isinstance(each, list) and len(each) < len(before[name]) for name, each in changed.items())
    text = any(isinstance(each, str) for each in changed.values())
    lost = POSITION_FIELDS if rows else POSITION_FIELDS[1:] if text else ()
    return {name: None for name in lost if before.get(name) is not None}


def estimate_size(value: Any) -> int:
    """About how many characters a value takes in an answer."""
    if isinstance(value, str):
        return len(value) + 2
    if isinstance(value, list | tuple):
        return sum(estimate_size(each) + 2 for each in value)
    if isinstance(value, Mapping):
        return sum(len(str(name)) + FIELD_OVERHEAD + estimate_size(each) for name, each in value.items())
    if is_dataclass(value) and not isinstance(value, type):
        inner = ((each.name, getattr(value, each.name)) for each in fields(value))
        return sum(len(name) + FIELD_OVERHEAD + estimate_size(each) for name, each in inner if each is not None)
    return 0 if value is None else 6


def _shorten_list(values: list[Any], room: int) -> list[Any]:
    kept: list[Any] = []
    for each in values:
        needed = estimate_size(each) + 2
        if needed <= room:
            kept.append(each)
            room -= needed
            continue
        if room > SHORT_TEXT and not kept:
            kept.append(shorten(each, room))
        break
    return kept


def _shorten_fields(values: dict[str, Any], room: int) -> dict[str, Any]:
    sizes = {name: estimate_size(each) for name, each in values.items()}
    long = {name for name, each in values.items() if not _is_short(each, sizes[name])}
    short = [name for name, each in values.items() if name not in long and each is not None]
    left = room - sum(len(name) + FIELD_OVERHEAD + sizes[name] for name in short)
    out, waiting = dict(values), sorted(long, key=lambda name: sizes[name])
    for served, name in enumerate(waiting):
        share = max(0, left) // (len(waiting) - served)
        needed = len(name) + FIELD_OVERHEAD + sizes[name]
        if needed > share:
            out[name] = shorten(values[name], max(0, share - len(name) - FIELD_OVERHEAD))
        left -= min(needed, share)
    return out


def _is_short(value: Any, length: int) -> bool:
    return not isinstance(value, list | tuple | Mapping) and not is_dataclass(value) and length <= SHORT_TEXT
