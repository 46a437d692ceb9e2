"""Searches whose answers a backup remembers, so that a drill can ask them again.

They go to the full-text tables alone and see only what anybody may read: the same answers come from the same database,
whatever model is loaded.
"""

from __future__ import annotations

from ops.backup.manifest import BackupQuestion
from vaults.db.sql import Reader, Row
from vaults.errors import InvalidArgument
from vaults.index import text_index
from vaults.index.shelves import MAIN
from vaults.index.text_index import TextIndex
from vaults.search.fts_expression import quote_words, split_words

QUESTIONS, ANSWERS = 10, 5
WORDS = 4
"""Of a title that are asked for."""

_INDEX = TextIndex.of_words(MAIN, (2.0, 1.0, 0.5, 0.0, 0.0))
_OPEN = "p.hidden = 0 AND p.owner IS NULL"


def choose(tx: Reader) -> tuple[BackupQuestion, ...]:
    """Questions made of the titles of stored memories and notes, spread over all of them, with their answers. None
    where the database is of a version whose text index was another."""
    if not _is_searchable(tx):
        return ()
    first, last = (int(tx.value(f"SELECT COALESCE({end}(seq), 0) FROM passages")) for end in ("MIN", "MAX"))
    texts: dict[str, None] = {}
    for step in range(QUESTIONS):
        row = tx.one(
            f"SELECT p.title FROM passages p WHERE p.seq >= :seq AND {_OPEN} AND p.kind IN ({MAIN.kinds_sql})"
            " AND p.title <> '' ORDER BY p.seq LIMIT 1",
            {"seq": first + (last - first + 1) * step // QUESTIONS},
        )
        words = split_words(row[0]) if row else ()
        if words:
            texts[" ".join(words[:WORDS])] = None
    asked = [BackupQuestion(text=text[:1000], answers=ask(tx, text)) for text in texts]
    return tuple(each for each in asked if each.answers)


def ask(tx: Reader, text: str) -> tuple[str, ...]:
    """Ids of memories and paths of notes that answer best, by words."""
    words = dict.fromkeys(split_words(text))
    if not words:
        raise InvalidArgument("question", "holds no word")
    match = " AND ".join(quote_words(word) for word in words)
    rows = text_index.read_best(tx, _INDEX, "p.kind, p.item", _OPEN, {"match": match, "limit": ANSWERS * 4})
    # Equal scores have no order of their own, and what counts is which answers there are.
    best = sorted(rows, key=lambda row: (round(row[3], 9), row[2]))
    found = dict.fromkeys(name for row in best if (name := _name_of(tx, row)) is not None)
    return tuple(found)[:ANSWERS]


def _name_of(tx: Reader, row: Row) -> str | None:
    kind, item = row[:2]
    sql = (
        "SELECT id FROM memories WHERE seq = :item" if kind == "memory" else "SELECT path FROM notes WHERE seq = :item"
    )
    found = tx.value(sql, {"item": item})
    return None if found is None else str(found)


def _is_searchable(tx: Reader) -> bool:
    columns = {row[1] for row in tx.all("PRAGMA table_info(passages)")}
    tables = {name for (name,) in tx.all("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    return {"hidden", "owner"} <= columns and {"notes", *MAIN.words} <= tables
