"""Passages: the searchable units cut from an item. Triggers keep the full-text rows up to date."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from vaults.db.sql import Reader, Writer
from vaults.index import embeddings, facets, text_index
from vaults.index.chunker import estimate_tokens, split_passages
from vaults.index.items import SearchItem
from vaults.index.neighbours import SequencePosition, refresh_surroundings
from vaults.index.shelves import MAIN, Shelf, shelf_of
from vaults.index.traits import is_adversarial, is_question
from vaults.index.unspaced_scripts import to_pairs

QUESTION, ADVERSARIAL = 1, 2
"""Bits of a passage's ``traits``."""


@dataclass(frozen=True)
class Passage:
    """One passage before it is stored. Its columns are computed once, on the first thread that asks."""

    title: str
    body: str
    labels: str
    counted: int | None = field(default=None, compare=False)
    """Its tokens, where they are known."""

    @property
    def embedded(self) -> str:
        """The text its vector is made from."""
        return f"{self.title}\n{self.body}" if self.title else self.body

    def columns(self) -> dict[str, object]:
        """The columns that are its own."""
        return {
            "title": self.title, "body": self.body, "labels": self.labels, "text_hash": self.text_hash,
            "traits": self.traits, "tokens": self.tokens,
        }  # fmt: skip

    @cached_property
    def traits(self) -> int:
        return find_traits(self.body)

    @cached_property
    def tokens(self) -> int:
        return estimate_tokens(self.body) if self.counted is None else self.counted

    @cached_property
    def grams(self) -> str:
        """Its pairs of characters, in scripts without spaces."""
        # Field by field: titles and labels have a › or – where the body, by far the longest, is ASCII and soon done.
        return " ".join(filter(None, map(to_pairs, (self.title, self.body, self.labels))))

    @cached_property
    def text_hash(self) -> str:
        return hashlib.sha256(self.embedded.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def find_traits(body: str) -> int:
    """The traits of a passage, as bits."""
    return QUESTION * is_question(body) + ADVERSARIAL * is_adversarial(body)


def cut_passages(title: str, content: str, labels: Sequence[str], max_tokens: int) -> list[Passage]:
    """Cut an item. ``title`` is empty when it only repeats the content; labels are searched, not embedded."""
    pieces = split_passages(content, max_tokens)
    joined = " ".join(label for label in labels if label)
    return [Passage(title, piece.text, joined, piece.tokens) for piece in pieces] or [Passage(title, "", joined)]


def store(tx: Writer, item: SearchItem, cut: Sequence[Passage]) -> list[int]:
    """Make ``cut`` the item's passages; returns their numbers in order. A passage whose text did not change keeps its
    number and its vector. Neighbours are updated."""
    stored = {
        int(ordinal): (int(seq), text_hash)
        for ordinal, seq, text_hash in tx.all(
            "SELECT ordinal, seq, text_hash FROM passages WHERE kind = :kind AND item = :item",
            {"kind": item.kind, "item": item.number},
        )
    }
    left = _read_position(tx, item.kind, item.number) if stored else None
    numbers = _write(tx, item, cut, stored)
    delete_passages(tx, [seq for seq, _ in stored.values()])
    _refresh_item(tx, item, left)
    return numbers


def store_new(tx: Writer, item: SearchItem, cut: Sequence[Passage]) -> list[int]:
    """``store`` for an item that has no passages yet."""
    numbers = _write(tx, item, cut, {})
    if item.sequence(len(cut)) is not None:  # else it has no neighbours
        _refresh_item(tx, item, None)
    return numbers


def to_new_rows(item: SearchItem, cut: Sequence[Passage]) -> list[dict[str, Any]]:
    """The rows of an item whose passages stand in no sequence."""
    shared = item.columns() | {"kind": item.kind, "item": item.number, "sequence": None, "place": item.position or 0}
    return [shared | passage.columns() | {"ordinal": ordinal} for ordinal, passage in enumerate(cut)]


def _write(tx: Writer, item: SearchItem, cut: Sequence[Passage], stored: dict[int, tuple[int, str]]) -> list[int]:
    """Write passages and return their numbers. ``stored``: those there are, of which the ones written anew are taken
    out."""
    sequence = item.sequence(len(cut))
    shared = item.columns() | {
        "kind": item.kind,
        "item": item.number,
        "sequence": sequence,
        "place": item.position or 0,
    }
    numbers = []
    for ordinal, passage in enumerate(cut):
        seq, text_hash = stored.pop(ordinal, (None, ""))
        row = shared | passage.columns() | {"ordinal": ordinal}
        if seq is None:
            seq = tx.insert(INSERT, row)
        else:
            tx.run(_UPDATE, row | {"seq": seq})
            text_index.drop_pairs(tx, [seq])
            if text_hash != passage.text_hash:
                embeddings.drop(tx, [seq])
        text_index.add_pairs(tx, seq, passage.grams, item.owner)
        numbers.append(seq)
    return numbers


COLUMNS = (
    "source_hash", "hidden", "owner", "expires_at", "workspace", "type", "tier", "thread", "applies_to", "collection",
    "folder", "parent", "author", "entity", "at", "modified_at", "sequence", "place", "title", "body", "labels",
    "text_hash", "traits", "tokens", "kind", "item", "ordinal",
)  # fmt: skip
"""All columns of a passage's row except its number and its surroundings."""

AROUND = ("before", "after", "near")
"""Columns of the text around a passage, which may be left out of a row that stands alone."""

INSERT = f"INSERT INTO passages ({', '.join(COLUMNS)}) VALUES ({', '.join(f':{name}' for name in COLUMNS)})"
_UPDATE = f"UPDATE passages SET {', '.join(f'{name} = :{name}' for name in COLUMNS)} WHERE seq = :seq"


ROWS_AT_ONCE = (256, 64, 16, 4, 1)
"""Passages that a statement may write. Few sizes, so that all statements stay compiled; a thousand were no quicker."""

_ALONE = {"before": "", "after": "", "near": None}


def reserve_numbers(tx: Writer, count: int) -> range:
    """The numbers of the next ``count`` passages, for ``insert_rows`` in the same transaction."""
    last = tx.value("SELECT seq FROM sqlite_sequence WHERE name = 'passages'")
    first = int(last or 0) + 1
    return range(first, first + count)


def insert_rows(tx: Writer, numbers: Sequence[int], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write new passages with their reserved numbers, many to a statement.

    A statement for each would cost three times as much: a trigger makes SQLite open a savepoint, and at each savepoint
    FTS5 writes what it gathered so far as a segment of its own, to be merged later."""
    numbered = [{"seq": number, **_ALONE, **row} for number, row in zip(numbers, rows, strict=True)]
    for some in _in_batches(numbered):
        tx.run(_insert_of(len(some)), [row[column] for row in some for column in _ALL_COLUMNS])


def update_rows(tx: Writer, columns: tuple[str, ...], rows: Sequence[Mapping[str, Any]]) -> None:
    """Give passages new values in these columns, many to a statement, as ``insert_rows`` does; each row has its ``seq``
    too. Pairs of characters and vectors are the caller's business."""
    names = ("seq", *columns)
    for some in _in_batches(rows):
        tx.run(_update_of(columns, len(some)), [row[name] for row in some for name in names])


def _in_batches(rows: Sequence[Mapping[str, Any]]) -> Iterator[Sequence[Mapping[str, Any]]]:
    at = 0
    for size in ROWS_AT_ONCE:
        while len(rows) - at >= size:
            yield rows[at : at + size]
            at += size


_ALL_COLUMNS = ("seq", *COLUMNS, *AROUND)


@cache
def _insert_of(rows: int) -> str:
    """The statement that writes so many passages. Its values have no names: SQLite looks a name up in a list, and two
    thousand of them took longer than the insert."""
    values = ", ".join([f"({', '.join('?' * len(_ALL_COLUMNS))})"] * rows)
    return f"INSERT INTO passages ({', '.join(_ALL_COLUMNS)}) VALUES {values}"


@cache
def _update_of(columns: tuple[str, ...], rows: int) -> str:
    """The statement that changes so many passages, without names for the same reason."""
    sets = ", ".join(f"{name} = v.column{number}" for number, name in enumerate(columns, 2))
    values = ", ".join([f"({', '.join('?' * (len(columns) + 1))})"] * rows)
    return f"UPDATE passages SET {sets} FROM (VALUES {values}) v WHERE passages.seq = v.column1"


def update_columns(tx: Writer, item: SearchItem) -> None:
    """Update what the item's passages carry besides their text, after it was archived, moved or made private."""
    left = _read_position(tx, item.kind, item.number)
    keys = {"kind": item.kind, "number": item.number}
    count = int(tx.value("SELECT COUNT(*) FROM passages WHERE kind = :kind AND item = :number", keys))
    row = item.columns() | {"sequence": item.sequence(count), "place": item.position or 0}
    sets = ", ".join(f"{name} = :{name}" for name in row)
    tx.run(f"UPDATE passages SET {sets} WHERE kind = :kind AND item = :number", row | keys)
    _refresh_item(tx, item, left)


def remove_items(tx: Writer, kind: str, items: Sequence[int]) -> None:
    """Remove the items from every index, and their words from the columns of their neighbours."""
    shelf = shelf_of(kind)
    for item in items:
        left = _read_position(tx, kind, item)
        rows = tx.all("SELECT seq FROM passages WHERE kind = :kind AND item = :item", {"kind": kind, "item": item})
        delete_passages(tx, [int(seq) for (seq,) in rows], shelf)
        facets.store(tx, kind, item, (), {})
        _refresh_positions(tx, left, None)


def _read_position(tx: Reader, kind: str, item: int) -> SequencePosition | None:
    row = tx.one(
        "SELECT sequence, place FROM passages WHERE kind = :kind AND item = :item AND ordinal = 0",
        {"kind": kind, "item": item},
    )
    sequence, place = row or (None, 0)
    return SequencePosition(sequence, int(place), item) if sequence is not None else None


def _refresh_item(tx: Writer, item: SearchItem, left: SequencePosition | None) -> None:
    """Update the surroundings of the item's passages and of their neighbours, where it was and where it is."""
    now = _read_position(tx, item.kind, item.number)
    if now is None:
        tx.run(
            "UPDATE passages SET near = NULL, before = '', after = ''"
            " WHERE kind = :kind AND item = :item AND (near IS NOT NULL OR before <> '' OR after <> '')",
            {"kind": item.kind, "item": item.number},
        )
    _refresh_positions(tx, left, now)


def _refresh_positions(tx: Writer, left: SequencePosition | None, now: SequencePosition | None) -> None:
    for spot in dict.fromkeys((left, now)):
        if spot is not None:
            refresh_surroundings(tx, spot)


def numbers_in_item(tx: Reader, numbers: Iterable[int]) -> dict[int, int]:
    """The position of each passage in its item, from 1."""
    among = ", ".join(map(str, numbers))
    rows = tx.all(f"SELECT seq, ordinal FROM passages WHERE seq IN ({among})")
    return {int(seq): int(ordinal) + 1 for seq, ordinal in rows}


def delete_passages(tx: Writer, numbers: Sequence[int], shelf: Shelf = MAIN) -> None:
    """Remove passages of a shelf from every index by number. Neighbours are not updated."""
    embeddings.drop(tx, numbers)
    text_index.drop_pairs(tx, numbers, shelf)
    # One statement: each has a savepoint, at which FTS5 writes down what it gathered so far.
    gone = {"gone": json.dumps(list(numbers))}
    tx.run("DELETE FROM passages WHERE seq IN (SELECT value FROM json_each(:gone))", gone)
