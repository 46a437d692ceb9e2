"""Texts, arguments and outcomes cut to a bounded length: never within a word, so that no half of a secret is left that
nobody would recognise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vaults.sources.record_fields import clean_text

MAX_TEXT = 100_000
MAX_ARGUMENT = 1_000
MAX_OUTCOME = 16_000
_HEAD = 2_000
"""Characters of a long outcome's beginning that are kept; most is said at its end."""

_WORD = 16_000
"""No secret is a longer word; a word cut off is left out whole, up to so many characters."""

_MAX_ENTRIES, _MAX_DEPTH = 20, 3
_KEY_BEGINS, _KEY_ENDS = "-----BEGIN ", "-----END "


def cut_text(text: str, most: int = MAX_TEXT) -> str:
    """A text without what nobody can store, of at most so many characters, ending between words."""
    if len(text) <= most:
        return clean_text(text).strip()
    kept = clean_text(text[:most])
    return kept[: _last_space(kept)].rstrip() + " …"


def shorten_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, each cut short."""
    return _shorten_entries(arguments, _MAX_DEPTH)


def shorten_outcome(outcome: str) -> str:
    """The beginning and the end of what came back."""
    if len(outcome) <= MAX_OUTCOME:
        return clean_text(outcome).strip()
    cut = len(outcome) - (MAX_OUTCOME - _HEAD)
    return f"{cut_text(outcome[: _HEAD + 1], _HEAD)}\n{clean_text(outcome[_tail_start(outcome, cut) :]).strip()}"


def _tail_start(text: str, cut: int) -> int:
    """The first word that begins after ``cut``, and not inside an armoured key: its lines alone would not be seen to be
    one."""
    begun, ended = text.rfind(_KEY_BEGINS, 0, cut), text.rfind(_KEY_ENDS, 0, cut)
    if begun > ended:
        end = text.find(_KEY_ENDS, cut)
        cut = end + len(_KEY_ENDS) if end >= 0 else len(text)
    spaces = [at for mark in (" ", "\n", "\t") if (at := text.find(mark, cut)) >= 0]
    return min(spaces, default=len(text))


def _last_space(text: str) -> int:
    found = max(text.rfind(mark) for mark in (" ", "\n", "\t"))
    least = max(0, len(text) - _WORD)
    return max(found, least)


def _shorten(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return cut_text(value, MAX_ARGUMENT)
    if isinstance(value, dict):
        return _shorten_entries(value, depth - 1) if depth else None
    if isinstance(value, list):
        return [_shorten(each, depth - 1) for each in value[:_MAX_ENTRIES]] if depth else None
    return value if value is None or isinstance(value, bool | int | float) else None


def _shorten_entries(entries: Mapping[str, Any], depth: int) -> dict[str, Any]:
    kept = list(entries.items())[:_MAX_ENTRIES]
    return {clean_text(str(name))[:100]: _shorten(value, depth) for name, value in kept}
