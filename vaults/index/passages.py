"""Passages: the searchable units cut from an item. Triggers keep the full-text rows up to date."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from vaults.db.sql import Reader, Writer
from vaults.index import embeddings, facets
from vaults.index.chunker import estimate_tokens, split_passages
from vaults.index.items import SearchItem
from vaults.index.neighbours import SequencePosition, refresh_surroundings
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
        return estimate_tokens(self.body)

    @cached_property
    def grams(self) -> str:
        """Its pairs of characters, in scripts without spaces."""
        return to_pairs(f"{self.title}\n{self.body}\n{self.labels}")

    @cached_property
    def text_hash(self) -> str:
        return hashlib.sha256(self.embedded.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def find_traits(body: str) -> int:
    """The traits of a passage, as bits."""
    return QUESTION * is_question(body) + ADVERSARIAL * is_adversarial(body)


def cut_passages(title: str, content: str, labels: Sequence[str], max_tokens: int) -> list[Passage]:
    """Cut an item. ``title`` is empty when it only repeats the content; labels are searched, not embedded."""
    pieces = split_passages(content, max_tokens) or []
    bodies = [piece.text for piece in pieces] or [""]
    joined = " ".join(label for label in labels if label)
    return [Passage(title, body, joined) for body in bodies]


def store(tx: Writer, item: SearchItem, cut: Sequence[Passage]) -> list[int]:
    """Make ``cut`` the item's passages; returns their numbers in order. A passage whose text did not change keeps its
    number and its vector. Neighbours are updated."""
    stored = {
        int(row[0]): (int(row[1]), row[2])
        for row in tx.all(
            "SELECT ordinal, seq, text_hash FROM passages WHERE kind = ? AND item = ?", (item.kind, item.number)
        )
    }
    left = _read_position(tx, item.kind, item.number) if stored else None
    sequence = item.sequence(len(cut))
    shared = item.columns() | {
        "kind": item.kind,
        "item": item.number,
        "sequence": sequence,
        "place": item.position or 0,
    }
    numbers = []
    for ordinal, passage in enumerate(cut):
        seq, text_hash = stored.pop(ordinal, (None, None))
        row = shared | passage.columns() | {"ordinal": ordinal}
        if seq is None:
            seq = tx.insert(INSERT, row)
        else:
            tx.run(_UPDATE, row | {"seq": seq})
            _drop_pairs(tx, [seq])
            if text_hash != passage.text_hash:
                embeddings.drop(tx, [seq])
        index_pairs(tx, seq, passage, item.owner)
        numbers.append(seq)
    delete_passages(tx, [seq for seq, _ in stored.values()])
    _refresh_item(tx, item, left)
    return numbers


COLUMNS = (
    "source_hash", "hidden", "owner", "expires_at", "workspace", "type", "tier", "thread", "applies_to", "collection",
    "folder", "parent", "author", "entity", "at", "modified_at", "sequence", "place", "title", "body", "labels",
    "text_hash", "traits", "tokens", "kind", "item", "ordinal",
)  # fmt: skip
"""All columns of a passage's row except its number and its surroundings."""

INSERT = f"INSERT INTO passages ({', '.join(COLUMNS)}) VALUES ({', '.join(f':{name}' for name in COLUMNS)})"
_UPDATE = f"UPDATE passages SET {', '.join(f'{name} = :{name}' for name in COLUMNS)} WHERE seq = :seq"


def update_columns(tx: Writer, item: SearchItem) -> None:
    """Update what the item's passages carry besides their text, after it was archived, moved or made private."""
    left = _read_position(tx, item.kind, item.number)
    count = int(tx.value("SELECT COUNT(*) FROM passages WHERE kind = ? AND item = ?", (item.kind, item.number)))
    row = item.columns() | {"sequence": item.sequence(count), "place": item.position or 0}
    sets = ", ".join(f"{name} = :{name}" for name in row)
    keys = {"kind": item.kind, "number": item.number}
    tx.run(f"UPDATE passages SET {sets} WHERE kind = :kind AND item = :number", row | keys)
    _refresh_item(tx, item, left)


def remove_items(tx: Writer, kind: str, items: Sequence[int]) -> None:
    """Remove the items from every index, and their words from the columns of their neighbours."""
    for item in items:
        left = _read_position(tx, kind, item)
        rows = tx.all("SELECT seq FROM passages WHERE kind = ? AND item = ?", (kind, item))
        delete_passages(tx, [int(row[0]) for row in rows])
        facets.store(tx, kind, item, (), {})
        _refresh_positions(tx, left, None)


def _read_position(tx: Reader, kind: str, item: int) -> SequencePosition | None:
    row = tx.one("SELECT sequence, place FROM passages WHERE kind = ? AND item = ? AND ordinal = 0", (kind, item))
    return SequencePosition(row[0], int(row[1]), item) if row is not None and row[0] is not None else None


def _refresh_item(tx: Writer, item: SearchItem, left: SequencePosition | None) -> None:
    """Update the surroundings of the item's passages and of their neighbours, where it was and where it is."""
    now = _read_position(tx, item.kind, item.number)
    if now is None:
        tx.run(
            "UPDATE passages SET near = NULL, before = '', after = ''"
            " WHERE kind = ? AND item = ? AND (near IS NOT NULL OR before <> '' OR after <> '')",
            (item.kind, item.number),
        )
    _refresh_positions(tx, left, now)


def _refresh_positions(tx: Writer, left: SequencePosition | None, now: SequencePosition | None) -> None:
    for spot in dict.fromkeys((left, now)):
        if spot is not None:
            refresh_surroundings(tx, spot)


def index_pairs(tx: Writer, seq: int, passage: Passage, owner: str | None = None) -> None:
    """Index a passage's pairs of characters, if it has text in a script without spaces."""
    if passage.grams:
        table = "passages_pairs" if owner is None else "private_pairs"
        tx.run(f"INSERT INTO {table} (rowid, pairs) VALUES (?, ?)", (seq, passage.grams))


def _drop_pairs(tx: Writer, numbers: Sequence[int]) -> None:
    for table in ("passages_pairs", "private_pairs"):
        tx.many(f"DELETE FROM {table} WHERE rowid = ?", [(number,) for number in numbers])


WORD_TABLES = ("passages_fts", "private_fts")
"""Full-text tables over the passages themselves: the shared ones, and those private to somebody."""

TEXT_TABLES = (*WORD_TABLES, "passages_pairs", "private_pairs")


def erase_traces(tx: Writer) -> None:
    """Merge the full-text segments, so that words of removed passages leave the file, not only the results."""
    for table in TEXT_TABLES:
        tx.run(f"INSERT INTO {table} ({table}) VALUES ('optimize')")


MERGE_PAGES = 64
"""Pages of the text index merged in one step: some milliseconds."""


def erase_traces_in_steps(tx: Writer, step: int) -> bool:
    """One step of ``erase_traces``, for callers who must not keep others waiting; the first ``step`` is 0. Returns
    whether there is more to do."""
    more = False
    for table in TEXT_TABLES:
        before = int(tx.value("SELECT total_changes()"))
        tx.run(
            f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (-MERGE_PAGES if step == 0 else MERGE_PAGES,)
        )
        more |= int(tx.value("SELECT total_changes()")) - before >= 2  # fewer: nothing was merged
    return more


def rebuild_text(tx: Writer) -> None:
    """Rebuild the full-text rows from the passages."""
    for table in WORD_TABLES:
        tx.run(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")


def is_text_inconsistent(tx: Writer) -> bool:
    """Whether the full-text index does not match the passages (FTS5's own integrity check)."""
    from vaults.db.engine import sqlite

    try:
        for table in WORD_TABLES:
            tx.run(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
    except sqlite.DatabaseError as failure:
        # A read-only file cannot be checked this way; ``quick_check`` has checked the index's structure.
        return failure.sqlite_errorcode & 0xFF != sqlite.SQLITE_READONLY
    return False


def numbers_in_item(tx: Reader, numbers: Iterable[int]) -> dict[int, int]:
    """The position of each passage in its item, from 1."""
    among = ", ".join(map(str, numbers))
    return {int(row[0]): int(row[1]) + 1 for row in tx.all(f"SELECT seq, ordinal FROM passages WHERE seq IN ({among})")}


def source_hashes(tx: Reader, kind: str) -> dict[int, str]:
    """The hash of the source that each item's passages were cut from, by item number."""
    rows = tx.all("SELECT item, source_hash FROM passages WHERE kind = ? AND ordinal = 0", (kind,))
    return {int(row[0]): row[1] for row in rows}


def delete_passages(tx: Writer, numbers: Sequence[int]) -> None:
    """Remove passages from every index by number. Neighbours are not updated."""
    embeddings.drop(tx, numbers)
    _drop_pairs(tx, numbers)
    tx.many("DELETE FROM passages WHERE seq = ?", [(number,) for number in numbers])
