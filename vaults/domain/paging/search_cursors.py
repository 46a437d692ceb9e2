"""Paging through a search while the vault changes under it.

A cursor records what was shown and how far the vault had grown: nothing shown comes again, nothing stored since comes
at all, and nothing else is skipped, however the ranking moves. It holds numbers, no text.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from vaults.domain.paging.cursors import from_text, to_text
from vaults.errors import InvalidArgument
from vaults.search.passage_facts import ItemKey

MAX_SHOWN = 2_000
"""Items shown over all pages: keeps a cursor small, and nobody reads further."""

_MAX_UNPACKED = 1 << 16


@dataclass(frozen=True, slots=True)
class SearchCursor:
    """``question``: digest of the question; ``as_of``: the last passage at the time; ``shown``: items so far."""

    question: str
    as_of: int
    shown: frozenset[ItemKey]

    def text(self) -> str:
        """The encoded form, as the caller gets it."""
        kinds: dict[str, list[int]] = {}
        for kind, number in sorted(self.shown):
            kinds.setdefault(kind, []).append(number)
        packed = zlib.compress(json.dumps([self.question, self.as_of, kinds], separators=(",", ":")).encode(), 9)
        return to_text(packed)


def next_cursor(
    question: str, as_of: int, before: SearchCursor | None, shown: Iterable[ItemKey]
) -> SearchCursor | None:
    """The cursor after a page, or None where paging ends."""
    seen = frozenset(shown) | (before.shown if before else frozenset())
    return SearchCursor(question, before.as_of if before else as_of, seen) if len(seen) < MAX_SHOWN else None


def parse_cursor(text: str, question: str) -> SearchCursor:
    """Decode a cursor. Raises ``InvalidArgument`` if it is malformed or belongs to another question."""
    try:
        asked, as_of, kinds = json.loads(_unpack(from_text(text)))
        shown = frozenset((str(kind), _require_number(each)) for kind, numbers in kinds.items() for each in numbers)
        if len(shown) > MAX_SHOWN:
            raise ValueError
        cursor = SearchCursor(str(asked), _require_number(as_of), shown)
    except (ValueError, TypeError, AttributeError, zlib.error, RecursionError):
        raise InvalidArgument("cursor", "is not one this search gave", hint="start again without a cursor") from None
    if cursor.question != question:
        raise InvalidArgument("cursor", "belongs to another question", hint="keep all other arguments the same")
    return cursor


def _unpack(packed: bytes) -> bytes:
    """Decompress, or raise ``ValueError``: truncated data is refused, and a bomb is not read to its end."""
    stream = zlib.decompressobj()
    plain = stream.decompress(packed, _MAX_UNPACKED)
    if not stream.eof:
        raise ValueError
    return plain


def _require_number(value: object) -> int:
    if type(value) is int and 0 <= value < 2**63:
        return value
    raise ValueError
