"""Passages: the searchable units cut from an item, and the full-text rows that follow them by trigger."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from vaults.db.sql import Reader, Writer
from vaults.index import embeddings
from vaults.index.chunker import cut


@dataclass(frozen=True, slots=True)
class Passage:
    """One unit before it is stored. ``embedded`` is the text its vector is made of."""

    title: str
    body: str
    labels: str

    @property
    def embedded(self) -> str:
        return f"{self.title}\n{self.body}" if self.title else self.body

    @property
    def text_hash(self) -> str:
        return hashlib.sha256(self.embedded.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def passages_of(title: str, content: str, labels: Sequence[str], max_tokens: int) -> list[Passage]:
    """Cut an item. ``title`` is empty when it only repeats the content; labels are searched, not embedded."""
    pieces = cut(content, max_tokens) or []
    bodies = [piece.text for piece in pieces] or [""]
    joined = " ".join(label for label in labels if label)
    return [Passage(title, body, joined) for body in bodies]


def store(tx: Writer, kind: str, item: int, source_hash: str, passages: Sequence[Passage]) -> list[int]:
    """Make ``passages`` the item's passages; returns their numbers in order. A passage whose text did not change
    keeps its number and its vector."""
    held = {
        row[0]: (int(row[1]), row[2])
        for row in tx.all("SELECT ordinal, seq, text_hash FROM passages WHERE kind = ? AND item = ?", (kind, item))
    }
    numbers = []
    for ordinal, passage in enumerate(passages):
        seq, text_hash = held.pop(ordinal, (None, None))
        row = (passage.title, passage.body, passage.labels, passage.text_hash, source_hash)
        if seq is None:
            seq = tx.insert(
                "INSERT INTO passages (title, body, labels, text_hash, source_hash, kind, item, ordinal)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*row, kind, item, ordinal),
            )
        else:
            tx.run(
                "UPDATE passages SET title = ?, body = ?, labels = ?, text_hash = ?, source_hash = ? WHERE seq = ?",
                (*row, seq),
            )
            if text_hash != passage.text_hash:
                embeddings.forget(tx, [seq])
        numbers.append(seq)
    _delete(tx, [seq for seq, _ in held.values()])
    return numbers


def remove(tx: Writer, kind: str, items: Sequence[int]) -> None:
    """Take the items out of every index."""
    for item in items:
        rows = tx.all("SELECT seq FROM passages WHERE kind = ? AND item = ?", (kind, item))
        _delete(tx, [int(row[0]) for row in rows])


def erase_traces(tx: Writer) -> None:
    """Merge the full-text segments, so that words of removed passages are gone from the file, not only unlisted."""
    tx.run("INSERT INTO passages_fts (passages_fts) VALUES ('optimize')")


def rebuild_text(tx: Writer) -> None:
    """Build the full-text rows anew from the passages."""
    tx.run("INSERT INTO passages_fts (passages_fts) VALUES ('rebuild')")


def text_disagrees(tx: Writer) -> bool:
    """Whether the full-text index does not match the passages (FTS5's own integrity check)."""
    from vaults.db.engine import sqlite

    try:
        tx.run("INSERT INTO passages_fts (passages_fts, rank) VALUES ('integrity-check', 1)")
    except sqlite.DatabaseError as failure:
        # A file that can only be read cannot be asked this way; ``quick_check`` has looked at the index's structure.
        return failure.sqlite_errorcode & 0xFF != sqlite.SQLITE_READONLY
    return False


def hashes(tx: Reader, kind: str) -> dict[int, str]:
    """Item number to the source hash its passages were cut from."""
    rows = tx.all("SELECT item, source_hash FROM passages WHERE kind = ? AND ordinal = 0", (kind,))
    return {int(row[0]): row[1] for row in rows}


def _delete(tx: Writer, numbers: Sequence[int]) -> None:
    embeddings.forget(tx, numbers)
    tx.many("DELETE FROM passages WHERE seq = ?", [(number,) for number in numbers])
