"""Where a name stands in a text, which hints at whether it is meant as a name. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

CONTEXT_LENGTH = 100
"""Characters read on either side."""

_MARKS = r"[ \t]*(?:>[ \t]*)*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[.\][ \t]+)?)?"
_FIRST = re.compile(rf"{_MARKS}[^\w\n]*\Z")
_ITEM = re.compile(r"[ \t]*(?:>[ \t]*)*(?:[-*+]|\d{1,9}[.)])[ \t]+[^\w\n]*\Z")
_SENTENCE = re.compile(r"[.!?:][\"'”’)*_]*\s+[\"'“‘(*_]*\Z")
_REST = re.compile(r"[^\w\n]*\Z")
_AFTER_ITEM = re.compile(r"[*_]*\s*[:—–-]")
# Words that send the reader elsewhere, in some of the languages vaults are written in.
_POINTING = re.compile(
    r"\b(?:see|also|via|using|use|siehe|vgl|voir|cf|ver|véase|vedi|zie)\b[^.!?\n]{0,40}\Z", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class NamePosition:
    """The fields of the same names in ``evidence.MentionEvidence``, for one mention."""

    capital: bool
    alone: bool
    item: bool
    pointed: bool


def read_position(text: str, start: int, end: int) -> NamePosition:
    """The position of the words from ``start`` to ``end``. Constant cost."""
    before = text[max(0, start - CONTEXT_LENGTH) : start].rpartition("\n")[2]
    after = text[end : end + CONTEXT_LENGTH].partition("\n")[0]
    first = _FIRST.fullmatch(before) is not None and len(before) < CONTEXT_LENGTH
    return NamePosition(
        capital=text[start].isupper() and not first and _SENTENCE.search(before) is None,
        alone=first and _REST.fullmatch(after) is not None and len(after) < CONTEXT_LENGTH,
        item=_ITEM.fullmatch(before) is not None and _AFTER_ITEM.match(after) is not None,
        pointed=_POINTING.search(before) is not None,
    )


def merge_positions(positions: Iterable[NamePosition]) -> NamePosition:
    """What is true of at least one of them."""
    several = list(positions)
    return NamePosition(
        any(each.capital for each in several),
        any(each.alone for each in several),
        any(each.item for each in several),
        any(each.pointed for each in several),
    )
