"""Searches whose answers a backup remembers, so that a drill can ask them again.

They go to the full-text tables alone and see only what anybody may read: the same answers come from the same database,
whatever model is loaded.
"""

from __future__ import annotations

from ops.backup.manifest import BackupQuestion
from vaults.db.sql import Reader, Row
from vaults.errors import InvalidArgument
from vaults.index import text_index
from vaults.index.shelves import MAIN, SHELVES, Shelf
from vaults.index.text_index import TextIndex
from vaults.search.fts_expression import quote_words, split_words

QUESTIONS, ANSWERS = 10, 5
WORDS = 4
"""That are asked for: of the title, or where there is none of its own, of the text."""

_BEGINNING = 400
"""Characters of a text that are looked through for them."""

_WEIGHTS = (2.0, 1.0, 0.5, 0.0, 0.0)
_OPEN = "p.hidden = 0 AND p.owner IS NULL"


def choose(tx: Reader) -> tuple[BackupQuestion, ...]:
    """Questions made of what is stored, spread over all of it, with their answers. None where the database is of a
    version whose text index was another, or holds nothing that anybody may read."""
    shelves = _searchable(tx)
    if not shelves:
        return ()
    kinds = ", ".join(shelf.kinds_sql for shelf in shelves)
    first, last = (int(tx.value(f"SELECT COALESCE({end}(seq), 0) FROM passages")) for end in ("MIN", "MAX"))
    texts: dict[str, None] = {}
    for step in range(QUESTIONS):
        row = tx.one(
            f"SELECT p.title, SUBSTR(p.body, 1, {_BEGINNING}) FROM passages p WHERE p.seq >= :seq AND {_OPEN}"
            f" AND p.kind IN ({kinds}) AND p.title || p.body <> '' ORDER BY p.seq LIMIT 1",
            {"seq": first + (last - first + 1) * step // QUESTIONS},
        )
        words = (split_words(row[0]) or split_words(row[1])) if row else ()
        if words:
            texts[" ".join(words[:WORDS])] = None
    asked = [BackupQuestion(text=text[:1000], answers=ask(tx, text[:1000])) for text in texts]
    return tuple(each for each in asked if each.answers)


def ask(tx: Reader, text: str) -> tuple[str, ...]:
    """Ids of memories and paths of notes that answer best, by words; where there are none, ids of documents."""
    words = dict.fromkeys(split_words(text))
    if not words:
        raise InvalidArgument("question", "holds no word")
    match = " AND ".join(quote_words(word) for word in words)
    return next((found for shelf in _searchable(tx) if (found := _ask(tx, shelf, match))), ())


def _ask(tx: Reader, shelf: Shelf, match: str) -> tuple[str, ...]:
    index = TextIndex.of_words(shelf, _WEIGHTS)
    rows = text_index.read_best(tx, index, "p.kind, p.item", _OPEN, {"match": match, "limit": ANSWERS * 4})
    # Equal scores have no order of their own, and what counts is which answers there are.
    best = sorted(rows, key=lambda row: (round(row[3], 9), row[2]))
    found = dict.fromkeys(name for row in best if (name := _name_of(tx, row)) is not None)
    return tuple(found)[:ANSWERS]


_NAMES = {
    "memory": "SELECT id FROM memories WHERE seq = :item",
    "note": "SELECT path FROM notes WHERE seq = :item",
}
_NAME_OF_PART = "SELECT d.id FROM document_parts q JOIN documents d ON d.seq = q.document WHERE q.seq = :item"


def _name_of(tx: Reader, row: Row) -> str | None:
    kind, item = row[:2]
    found = tx.value(_NAMES.get(kind, _NAME_OF_PART), {"item": item})
    return None if found is None else str(found)


def _searchable(tx: Reader) -> list[Shelf]:
    """The shelves that the database has in the form of this version."""
    columns = {row[1] for row in tx.all("PRAGMA table_info(passages)")}
    tables = {name for (name,) in tx.all("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if not ({"hidden", "owner"} <= columns and "notes" in tables):
        return []
    return [shelf for shelf in SHELVES if set(shelf.words) <= tables and (shelf is MAIN or "document_parts" in tables)]
