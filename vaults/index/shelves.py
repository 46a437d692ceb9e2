"""Which passages are searched together: those of memories and notes, and those of documents, on a shelf of their own.

However many documents there are, a search of memories reads none of their words and none of their vectors.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shelf:
    """Kinds of items whose passages share full-text tables and a vector index. Of two tables the first is for what
    everybody may read, the second for what is private to somebody."""

    number: int
    """As in the columns ``shelf``."""
    kinds: tuple[str, ...]
    words: tuple[str, str]
    pairs: tuple[str, str]
    snapshot: str
    """File of its vector index."""

    @property
    def tables(self) -> tuple[str, ...]:
        """All its full-text tables."""
        return self.words + self.pairs

    @property
    def kinds_sql(self) -> str:
        """Its kinds, for an ``IN``."""
        return ", ".join(f"'{kind}'" for kind in self.kinds)


MAIN = Shelf(0, ("memory", "note"), ("passages_fts", "private_fts"), ("passages_pairs", "private_pairs"), "vectors.idx")
DOCUMENTS = Shelf(
    1,
    ("document", "transcript", "code"),
    ("documents_fts", "private_documents_fts"),
    ("documents_pairs", "private_documents_pairs"),
    "documents.idx",
)
SHELVES = (MAIN, DOCUMENTS)

SHELF_COLUMN = f"(p.kind IN ({DOCUMENTS.kinds_sql}))"
"""The number of the shelf of a passage ``p``, as a column."""


def shelf_of(kind: str) -> Shelf:
    """The shelf of a kind of item."""
    return DOCUMENTS if kind in DOCUMENTS.kinds else MAIN


def shelves_of(kinds: Collection[str]) -> tuple[Shelf, ...]:
    """The shelves that hold any of the kinds; with none named, all."""
    return tuple(shelf for shelf in SHELVES if not kinds or not set(shelf.kinds).isdisjoint(kinds))
