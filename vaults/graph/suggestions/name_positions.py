"""Where a name stands in a text: what its line says about whether it is meant as one. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

CONTEXT_LENGTH = 100
"""Characters looked at on either side."""

_MARKS = r"[ \t]*(?:>[ \t]*)*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[.\][ \t]+)?)?"
_FIRST = re.compile(rf"{_MARKS}[^\w\n]*\Z")
_ITEM = re.compile(r"[ \t]*(?:>[ \t]*)*(?:[-*+]|\d{1,9}[.)])[ \t]+[^\w\n]*\Z")
_SENTENCE = re.compile(r"[.!?:][\"'”’)*_]*\s+[\"'“‘(*_]*\Z")
_REST = re.compile(r"[^\w\n]*\Z")
_AFTER_ITEM = re.compile(r"[*_]*\s*[:—–-]")
# Words that send the reader elsewhere, in some languages vaults are written in.
_POINTING = re.compile(
    r"\b(?:see|also|via|using|use|siehe|vgl|voir|cf|ver|véase|vedi|zie)\b[^.!?\n]{0,40}\Z", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class NamePosition:
    """See ``evidence.MentionEvidence``."""

    capital: bool
    alone: bool
    item: bool
    pointed: bool


def read_position(text: str, start: int, end: int) -> NamePosition:
    """How the words from ``start`` to ``end`` stand. Of constant cost."""
    before = text[max(0, start - CONTEXT_LENGTH) : start].rpartition("\n")[2]
    after = text[end : end + CONTEXT_LENGTH].partition("\n")[0]
    first = _FIRST.fullmatch(before) is not None and len(before) < CONTEXT_LENGTH
    return NamePosition(
        capital=text[start].isupper() and not first and _SENTENCE.search(before) is None,
        alone=first and _REST.fullmatch(after) is not None and len(after) < CONTEXT_LENGTH,
        item=_ITEM.fullmatch(before) is not None and _AFTER_ITEM.match(after) is not None,
        pointed=_POINTING.search(before) is not None,
    )


def merge_positions(all_of: Iterable[NamePosition]) -> NamePosition:
    """What holds of one of them at least."""
    several = list(all_of)
    return NamePosition(
        any(each.capital for each in several),
        any(each.alone for each in several),
        any(each.item for each in several),
        any(each.pointed for each in several),
    )
