"""The full-text tables: all SQL that writes, matches or weighs words. Triggers keep the tables of words up to date.

Shared and private passages have tables of their own, and so has each shelf. Expressions are FTS5's:
``vaults.search.fts_expression`` and ``unspaced_scripts`` make them. Who joins a table to more takes ``from_passages``
and ``matches`` for it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from vaults.db.sql import Reader, Row, Writer
from vaults.index.shelves import DOCUMENTS, MAIN, SHELVES, Shelf

SHARED_WORDS, PRIVATE_WORDS = WORD_TABLES = MAIN.words
"""Tables over the passages of memories and notes: the shared ones, and those private to somebody."""

SHARED_PAIRS, _ = MAIN.pairs
"""The same for pairs of characters, of passages in scripts without spaces."""

_WORD_TABLES_OF_ALL = tuple(table for shelf in SHELVES for table in shelf.words)
_TABLES_OF_ALL = tuple(table for shelf in SHELVES for table in shelf.tables)


def pairs_column(shelf: Shelf = MAIN) -> str:
    """The stored pairs of a passage ``p``, as a column."""
    shared, private = shelf.pairs
    return (
        f"CASE WHEN p.owner IS NULL THEN (SELECT pairs FROM {shared} s WHERE s.rowid = p.seq)"
        f" ELSE (SELECT pairs FROM {private} s WHERE s.rowid = p.seq) END"
    )


MERGE_PAGES = 64
"""Pages merged in one step: some milliseconds."""

AUTOMERGE = 4
"""Segments of one level that FTS5 merges by itself: its default."""


def in_own_text(expression: str) -> str:
    """The expression, asked of what a passage itself holds and not of the text around it."""
    return f"{{title body labels}} : ({expression})"


@dataclass(frozen=True, slots=True)
class TextIndex:
    """The tables of shared and of private passages, with the same columns, and these columns' weights."""

    shared: str
    private: str
    kinds: str  # of the items, for an ``IN``
    weights: tuple[float, ...] = ()

    @classmethod
    def of_words(cls, shelf: Shelf, weights: tuple[float, ...]) -> TextIndex:
        return cls(*shelf.words, shelf.kinds_sql, weights)

    @classmethod
    def of_pairs(cls, shelf: Shelf) -> TextIndex:
        return cls(*shelf.pairs, shelf.kinds_sql)

    def score(self, table: str) -> str:
        """SQL of a row's score in one of the tables: lower is better."""
        return f"bm25({', '.join((table, *map(str, self.weights)))})"


def has_rows(tx: Reader, index: TextIndex) -> bool:
    """Whether there is anything in an index, whoever it belongs to."""
    return any(_has_rows(tx, table) for table in (index.shared, index.private))


def has_private_rows(tx: Reader) -> bool:
    """Whether anybody keeps a passage private."""
    return any(_has_rows(tx, shelf.words[1]) for shelf in SHELVES)


def _has_rows(tx: Reader, table: str) -> bool:
    return tx.one(f"SELECT 1 FROM {table}_docsize LIMIT 1") is not None


def from_passages(table: str) -> str:
    """SQL of a table's rows, each with its passage ``p``."""
    return f"{table} JOIN passages p ON p.seq = {table}.rowid"


def matches(table: str, bound: str = "match") -> str:
    """SQL of the condition that a row matches the expression bound as ``bound``."""
    return f"{table} MATCH :{bound}"


def read_best(tx: Reader, index: TextIndex, columns: str, where: str, params: Mapping[str, Any]) -> list[Row]:
    """``columns``, number and score of the best ``:limit`` shared passages that match ``:match`` and meet ``where``."""
    table = index.shared
    return tx.all(
        f"SELECT {columns}, p.seq, {index.score(table)} AS score FROM {from_passages(table)}"
        f" WHERE {matches(table)} AND {where} ORDER BY score LIMIT :limit",
        params,
    )


def read_best_unfiltered(
    tx: Reader, index: TextIndex, columns: str, where: str, params: Mapping[str, Any]
) -> list[Row]:
    """As ``read_best``, but the best ``:over``, and of each whether it meets ``where``: a fraction of the cost where
    nearly all do."""
    table = index.shared
    return tx.all(
        f"SELECT {columns}, f.seq, f.score, {where} FROM (SELECT rowid AS seq, {index.score(table)} AS score"
        f" FROM {table} WHERE {matches(table)} ORDER BY score LIMIT :over) f JOIN passages p ON p.seq = f.seq",
        params,
    )


def find_private(tx: Reader, index: TextIndex, expression: str) -> set[int]:
    """Numbers of all private passages that match, whoever they belong to."""
    table = index.private
    return {row[0] for row in tx.all(f"SELECT rowid FROM {table} WHERE {matches(table)}", {"match": expression})}


def score_private(tx: Reader, index: TextIndex, expression: str) -> list[Row]:
    """Number and score of all private passages that match, whoever they belong to."""
    table = index.private
    return tx.all(f"SELECT rowid, {index.score(table)} FROM {table} WHERE {matches(table)}", {"match": expression})


def score_among(tx: Reader, index: TextIndex, expression: str, passages: Sequence[int]) -> list[Row]:
    """Number and score of those of the shared ``passages`` that match."""
    table = index.shared
    return tx.all(
        f"SELECT rowid, {index.score(table)} FROM {table} WHERE {matches(table)}"
        " AND +rowid IN (SELECT value FROM json_each(:among))",
        {"match": expression, "among": json.dumps(list(passages))},
    )


def find_passages(tx: Reader, shelf: Shelf, expression: str, where: str, params: Mapping[str, Any]) -> list[Row]:
    """Numbers of the passages, shared or private, whose own text matches and that meet ``where``."""
    bound = {**params, "match": in_own_text(expression)}
    rows = []
    for table in shelf.words:
        rows += tx.all(f"SELECT p.seq FROM {from_passages(table)} WHERE {matches(table)} AND {where}", bound)
    return rows


def count_rows(tx: Reader, table: str, expression: str) -> int:
    """How many rows of a table match."""
    return int(tx.value(f"SELECT COUNT(*) FROM {table} WHERE {matches(table)}", {"match": expression}))


def count_words(tx: Reader, table: str, passages: Collection[int]) -> dict[int, int]:
    """Words of each passage, over all columns, as FTS5 counts them."""
    among = ", ".join(map(str, passages))
    rows = tx.all(f"SELECT id, sz FROM {table}_docsize WHERE id IN ({among})")
    return {int(passage): sum(_decode_varints(size)) for passage, size in rows}


def read_size(tx: Reader, table: str) -> tuple[int, int]:
    """A table's rows and words, from the record FTS5 keeps of them for bm25."""
    rows, *words = _decode_varints(tx.value(f"SELECT block FROM {table}_data WHERE id = 1") or b"") or [0]
    return rows, sum(words)


def _decode_varints(packed: bytes) -> list[int]:
    """SQLite's variable-length integers: seven bits a byte, the highest first, the eighth bit says that more come."""
    found, number = [], 0
    for byte in packed:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            found.append(number)
            number = 0
    return found


def list_stems(tx: Reader, beginning: str) -> tuple[str, ...]:
    """The stems of shared passages that begin so."""
    rows = tx.all(
        "SELECT term FROM passages_words WHERE term >= :first AND term < :beyond",
        {"first": beginning, "beyond": beginning + "\U0010ffff"},
    )
    return tuple(row[0] for row in rows)


def list_some_stems(tx: Reader, beginning: str, limit: int) -> list[str]:
    """The first stems of shared passages that begin so."""
    rows = tx.all(
        "SELECT term FROM passages_words WHERE term >= :first AND term < :beyond LIMIT :limit",
        {"first": beginning, "beyond": beginning + "\U0010ffff", "limit": limit},
    )
    return [row[0] for row in rows]


def count_shared(tx: Reader, expression: str, limit: int, shelf: Shelf = MAIN) -> int:
    """How many shared passages of a shelf match in their own text, counted up to ``limit``."""
    table = shelf.words[0]
    return int(
        tx.value(
            f"SELECT COUNT(*) FROM (SELECT 1 FROM {table} WHERE {matches(table)} LIMIT :limit) AS some",
            {"match": in_own_text(expression), "limit": limit},
        )
    )


def newest_shared(tx: Reader) -> int:
    """The highest number of a shared passage."""
    return int(tx.value("SELECT MAX(id) FROM passages_fts_docsize"))


def count_shared_among(tx: Reader, expression: str, first: int, last: int) -> tuple[int, int]:
    """Of the shared passages numbered above ``first`` up to ``last``: how many match in their own text, and how many
    there are."""
    among = {"first": first, "last": last, "match": in_own_text(expression)}
    there = int(tx.value("SELECT COUNT(*) FROM passages_fts_docsize WHERE id > :first AND id <= :last", among))
    matching = tx.value(
        "SELECT COUNT(*) FROM passages_fts WHERE passages_fts MATCH :match AND rowid > :first AND rowid <= :last", among
    )
    return int(matching), there


def read_shared(tx: Reader, expression: str, most: int) -> list[str]:
    """The own text of passages that match in it and that anybody may read."""
    rows = tx.all(
        "SELECT p.title || ' ' || p.body || ' ' || p.labels FROM passages_fts f JOIN passages p ON p.seq = f.rowid"
        " WHERE passages_fts MATCH :match AND p.owner IS NULL AND p.hidden = 0 LIMIT :most",
        {"match": in_own_text(expression), "most": most},
    )
    return [row[0] for row in rows]


def is_shared(tx: Reader, expression: str) -> bool:
    """Whether a passage that anybody may read matches in its own text."""
    return any(
        tx.one(
            f"SELECT 1 FROM {shared} f JOIN passages p ON p.seq = f.rowid"
            f" WHERE {shared} MATCH :match AND p.owner IS NULL AND p.hidden = 0 LIMIT 1",
            {"match": in_own_text(expression)},
        )
        for shared, _ in (shelf.words for shelf in SHELVES)
    )


def is_own(tx: Reader, expression: str, viewer: str) -> bool:
    """Whether a private passage of the viewer matches in its own text."""
    return any(
        tx.one(
            f"SELECT 1 FROM {private} f CROSS JOIN passages p ON p.seq = f.rowid"
            f" WHERE {private} MATCH :match AND p.owner = :viewer LIMIT 1",
            {"match": in_own_text(expression), "viewer": viewer},
        )
        for _, private in (shelf.words for shelf in SHELVES)
    )


def read_documents(tx: Reader, expression: str, most: int) -> list[str]:
    """The own text of shared passages of documents that match in it."""
    table = DOCUMENTS.words[0]
    rows = tx.all(
        f"SELECT p.title || ' ' || p.body || ' ' || p.labels FROM {from_passages(table)}"
        f" WHERE {matches(table)} AND p.owner IS NULL AND p.hidden = 0 LIMIT :most",
        {"match": in_own_text(expression), "most": most},
    )
    return [row[0] for row in rows]


def read_own(tx: Reader, expression: str, viewer: str, most: int) -> list[str]:
    """The own text of private passages of the viewer that match in it: so many of each shelf at most."""
    rows = []
    for _, private in (shelf.words for shelf in SHELVES):
        rows += tx.all(
            f"SELECT p.title || ' ' || p.body || ' ' || p.labels FROM {private} f CROSS JOIN passages p"
            f" ON p.seq = f.rowid WHERE {private} MATCH :match AND p.owner = :viewer LIMIT :most",
            {"match": in_own_text(expression), "viewer": viewer, "most": most},
        )
    return [row[0] for row in rows]


def add_pairs(tx: Writer, seq: int, pairs: str, owner: str | None = None, shelf: Shelf = MAIN) -> None:
    """Index a passage's pairs of characters, if it has any."""
    if pairs:
        table = shelf.pairs[owner is not None]
        tx.run(f"INSERT INTO {table} (rowid, pairs) VALUES (:seq, :pairs)", {"seq": seq, "pairs": pairs})


def drop_pairs(tx: Writer, numbers: Sequence[int], shelf: Shelf = MAIN) -> None:
    """Remove the pairs of characters of these passages."""
    for table in shelf.pairs:
        # Most passages have none, and FTS5 begins a statement of its own for each that is looked for.
        among = f"SELECT id FROM {table}_docsize WHERE id IN (SELECT value FROM json_each(:numbers))"
        there = tx.all(among, {"numbers": json.dumps(list(numbers))}) if numbers else []
        tx.many(f"DELETE FROM {table} WHERE rowid = :seq", [{"seq": number} for (number,) in there])


def erase_traces(tx: Writer) -> None:
    """Merge the full-text segments, so that words of removed passages leave the file, not only the results."""
    for table in _TABLES_OF_ALL:
        tx.run(f"INSERT INTO {table} ({table}) VALUES ('optimize')")


def erase_traces_in_steps(tx: Writer, step: int, pages_at_once: int = MERGE_PAGES) -> bool:
    """One step of ``erase_traces``, for callers who must not keep others waiting; the first ``step`` is 0. Returns
    whether there is more to do."""
    return merge_some(tx, -pages_at_once if step == 0 else pages_at_once)


def merge_some(tx: Writer, pages: int) -> bool:
    """Merge segments, writing so many pages of each table at most; returns whether there is more to do. Negative: also
    where FTS5 sees no need yet."""
    more = False
    for table in _TABLES_OF_ALL:
        before = int(tx.value("SELECT total_changes()"))
        tx.run(f"INSERT INTO {table} ({table}, rank) VALUES ('merge', :pages)", {"pages": pages})
        more |= int(tx.value("SELECT total_changes()")) - before >= 2  # fewer: nothing was merged
    return more


@contextmanager
def merges_put_off(tx: Writer, shelves: Collection[Shelf]) -> Iterator[None]:
    """Change passages of the shelves without the merging that FTS5 does meanwhile by itself: now and then 64 pages for
    each level at once, a tenth of a second in a large index. The caller goes on with ``merge_some``, because sixteen
    segments of one level would be merged whole."""
    tables = [table for shelf in shelves for table in shelf.tables if _has_rows(tx, table)]
    _set_automerge(tx, tables, 0)
    yield
    _set_automerge(tx, tables, AUTOMERGE)  # first writes what was gathered: still without merging


def _set_automerge(tx: Writer, tables: Sequence[str], segments: int) -> None:
    for table in tables:
        tx.run(f"INSERT INTO {table} ({table}, rank) VALUES ('automerge', :segments)", {"segments": segments})


def rebuild(tx: Writer) -> None:
    """Rebuild the rows of words from the passages."""
    for table in _WORD_TABLES_OF_ALL:
        tx.run(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")


def is_inconsistent(tx: Writer) -> bool:
    """Whether the rows of words do not match the passages (FTS5's own integrity check)."""
    from vaults.db.engine import sqlite

    try:
        for table in _WORD_TABLES_OF_ALL:
            tx.run(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
    except sqlite.DatabaseError as failure:
        # A read-only file cannot be checked this way; ``quick_check`` has checked the index's structure.
        return failure.sqlite_errorcode & 0xFF != sqlite.SQLITE_READONLY
    return False
