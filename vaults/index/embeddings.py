"""The source of truth for vectors: rows of ``embeddings``, numbered by the vault's change clock, and the queue of
missing ones.

Each change of a vector, also its removal, takes the next number. An index in memory remembers the last number it has
applied and asks for what came after; so a second process, a kill or a lost snapshot costs time, not data.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vaults.db.sql import Reader, Row, Writer
from vaults.index.shelves import MAIN, SHELF_COLUMN, SHELVES, Shelf
from vaults.index.vector_index import VectorChange

if TYPE_CHECKING:
    import numpy as np

MAX_ATTEMPTS = 5
"""Failures after which a text is left to keyword search until the vault is reindexed."""

REPLAY = 1_000
"""Vectors read in one step of a replay. With twenty times as many it took half as long again, and the event loop waited
50 ms for the interpreter instead of 5."""

REMOVALS_KEPT = 10_000
"""Removals remembered for indexes that lag; one that lags more is rebuilt."""


EMBEDDED_TEXT = "CASE WHEN p.title = '' THEN p.body ELSE p.title || char(10) || p.body END"
"""What the model is given of a passage ``p``."""


@dataclass(frozen=True, slots=True)
class MissingVector:
    """A passage without a vector."""

    passage: int
    text: str
    text_hash: str


@dataclass(frozen=True, slots=True)
class VectorDelta:
    """What changed after a number. ``anew``: too much was forgotten, start from nothing."""

    changes: list[VectorChange]
    last: int
    anew: bool


def store(tx: Writer, model: str, rows: Sequence[tuple[int, str, bytes]]) -> None:
    """Store vectors: ``(passage, text_hash, vector)``. A passage that is gone or whose text has moved on is skipped.
    Where the vault has changed its model since they were made, the passages are queued instead."""
    if not is_of(tx, model):
        enqueue(tx, [passage for passage, _, _ in rows])
        return
    change = reserve_numbers(tx, len(rows))
    for passage, text_hash, vector in rows:
        change += 1
        tx.run(
            "INSERT INTO embeddings (passage, model, text_hash, vector, change, shelf)"
            f" SELECT p.seq, :model, p.text_hash, :vector, :change, {SHELF_COLUMN} FROM passages p"
            " WHERE p.seq = :passage AND p.text_hash = :text_hash"
            " ON CONFLICT (passage) DO UPDATE SET model = excluded.model, text_hash = excluded.text_hash,"
            " vector = excluded.vector, change = excluded.change",
            {"model": model, "vector": vector, "change": change, "passage": passage, "text_hash": text_hash},
        )
        tx.run(
            "DELETE FROM embedding_queue WHERE passage = :passage AND EXISTS"
            " (SELECT 1 FROM embeddings e WHERE e.passage = :passage AND e.change = :change)",
            {"passage": passage, "change": change},
        )


def is_of(tx: Reader, model: str) -> bool:
    """Whether the vault's vectors are of ``model``, or of none yet."""
    stamped = tx.value("SELECT value FROM vault_info WHERE key = 'model'")
    return stamped is None or stamped == model


def stamp_model(tx: Writer, model: str) -> None:
    """Make ``model``, by its key, the one the vault's vectors are of."""
    tx.run(
        "INSERT INTO vault_info (key, value) VALUES ('model', :key)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        {"key": model},
    )


def enqueue(tx: Writer, passages: Sequence[int]) -> None:
    """Queue passages for the model."""
    if not passages:
        return
    # One statement for all: each has a savepoint, at which FTS5 writes down what it gathered so far.
    tx.run(
        f"INSERT INTO embedding_queue (passage, shelf) SELECT p.seq, {SHELF_COLUMN} FROM passages p"
        " WHERE p.seq IN (SELECT value FROM json_each(:passages)) ON CONFLICT (passage) DO UPDATE SET attempts = 0",
        {"passages": json.dumps(list(passages))},
    )


def drop(tx: Writer, passages: Sequence[int]) -> None:
    """Drop the vectors of passages, and record it for the indexes."""
    among = "passage IN (SELECT value FROM json_each(:passages))"
    named = {"passages": json.dumps(list(passages))}
    tx.run(f"DELETE FROM spare_embeddings WHERE {among}", named)
    stored = [passage for (passage,) in tx.all(f"SELECT passage FROM embeddings WHERE {among} ORDER BY passage", named)]
    if not stored:
        return
    change = reserve_numbers(tx, len(stored))
    tx.run(f"DELETE FROM embeddings WHERE {among}", named)
    tx.many(
        "INSERT INTO vector_removals (change, passage) VALUES (:change, :passage)",
        [{"change": number, "passage": passage} for number, passage in enumerate(stored, change + 1)],
    )


def replace_damaged(tx: Writer, passages: Sequence[int]) -> None:
    """Drop damaged vectors and queue their passages."""
    drop(tx, passages)
    enqueue(tx, passages)


def drop_all(tx: Writer) -> None:
    """Drop every vector and the queue. The indexes of all processes start anew: everything before is forgotten."""
    newest = tx.value(
        "SELECT MAX(n) FROM (SELECT MAX(last) AS n FROM vector_clock UNION ALL SELECT MAX(change) FROM embeddings"
        " UNION ALL SELECT MAX(change) FROM vector_removals) AS numbers"
    )
    for table in ("embedding_queue", "embeddings", "spare_embeddings", "vector_removals", "vector_clock"):
        tx.run(f"DELETE FROM {table}")
    tx.run("INSERT INTO vector_clock (last, pruned) VALUES (:next, :next)", {"next": int(newest or 0) + 1})


def enqueue_all_except(tx: Writer, model: str) -> int:
    """Queue each passage that has no vector of ``model``; returns how many are queued now."""
    tx.run(
        f"INSERT INTO embedding_queue (passage, shelf) SELECT p.seq, {SHELF_COLUMN} FROM passages p WHERE NOT EXISTS"
        " (SELECT 1 FROM embeddings e WHERE e.passage = p.seq AND e.model = :model AND e.text_hash = p.text_hash)"
        " ON CONFLICT (passage) DO NOTHING",
        {"model": model},
    )
    return count_missing(tx)


def next_missing(tx: Reader, limit: int) -> list[MissingVector]:
    """The next passages to embed: those of memories and notes first, with the fewest attempts, then the oldest."""
    rows: list[Row] = []
    for shelf in SHELVES:  # one by one: in the order of an index, however many wait
        rows += tx.all(
            f"SELECT p.seq, {EMBEDDED_TEXT}, p.text_hash"
            " FROM embedding_queue q CROSS JOIN passages p ON p.seq = q.passage"
            " WHERE q.shelf = :shelf AND q.attempts < :attempts ORDER BY q.attempts, q.passage LIMIT :limit",
            {"shelf": shelf.number, "attempts": MAX_ATTEMPTS, "limit": limit - len(rows)},
        )
        if len(rows) >= limit:
            break
    return [MissingVector(int(seq), text, text_hash) for seq, text, text_hash in rows]


def has_missing(tx: Reader, viewer: str, shelves: Sequence[Shelf] = (MAIN,)) -> bool:
    """Whether a passage of these shelves that the viewer may see has no vector yet."""
    return any(
        tx.one(
            "SELECT 1 FROM embedding_queue q CROSS JOIN passages p ON p.seq = q.passage"
            " WHERE q.shelf = :shelf AND (p.owner IS NULL OR p.owner = :viewer) LIMIT 1",
            {"viewer": viewer, "shelf": shelf.number},
        )
        for shelf in shelves
    )


def count_missing(tx: Reader) -> int:
    """Passages without a vector, including those given up."""
    return int(tx.value("SELECT COUNT(*) FROM embedding_queue"))


def record_failure(tx: Writer, passages: Sequence[int]) -> None:
    """Count one failed attempt for each passage."""
    tx.many(
        "UPDATE embedding_queue SET attempts = attempts + 1 WHERE passage = :passage",
        [{"passage": passage} for passage in passages],
    )


def find_current(tx: Reader, model: str, passages: Sequence[int]) -> set[int]:
    """Those of ``passages`` whose vector is of their present text."""
    return {
        passage
        for passage in passages
        if tx.one(
            "SELECT 1 FROM embeddings e JOIN passages p ON p.seq = e.passage"
            " WHERE e.passage = :passage AND e.model = :model AND e.text_hash = p.text_hash",
            {"passage": passage, "model": model},
        )
    }


MAX_AVERAGED = 200
"""Max passages of a long sequence whose vectors are averaged, evenly spaced: more of them move the mean little."""


def mean_vector(tx: Reader, item: tuple[str, int], model: str) -> np.ndarray | None:
    """The mean direction of an item's passages, of unit length; None while it has no vector."""
    kind, number = item
    rows = tx.all(
        "SELECT e.vector FROM embeddings e JOIN passages p ON p.seq = e.passage"
        " WHERE p.kind = :kind AND p.item = :item AND e.model = :model",
        {"kind": kind, "item": number, "model": model},
    )
    return _mean([vector for (vector,) in rows])


def mean_vector_of_sequence(tx: Reader, sequence: str, model: str) -> np.ndarray | None:
    """The same of a sequence's passages."""
    numbers = tx.all(
        "SELECT e.passage FROM passages p CROSS JOIN embeddings e ON e.passage = p.seq AND e.model = :model"
        " WHERE p.sequence = :sequence ORDER BY p.place, p.item, p.ordinal",
        {"sequence": sequence, "model": model},
    )
    spaced = numbers[:: -(-len(numbers) // MAX_AVERAGED) or 1]
    some = ", ".join(str(int(number)) for (number,) in spaced)
    return _mean([vector for (vector,) in tx.all(f"SELECT vector FROM embeddings WHERE passage IN ({some})")])


def _mean(vectors: Sequence[bytes]) -> np.ndarray | None:
    import numpy as np

    if not vectors:
        return None
    total = np.stack([np.frombuffer(vector, dtype="<f4") for vector in vectors]).sum(axis=0)
    length = float(np.linalg.norm(total))
    return np.asarray(total / length, np.float32) if length > 0 and np.isfinite(length) else None


def find_by_hash(tx: Reader, model: str, text_hashes: Sequence[str]) -> dict[str, bytes]:
    """Vectors the vault already has for these texts: the content-hash cache."""
    found = {}
    for text_hash in text_hashes:
        vector = tx.value(
            "SELECT vector FROM embeddings WHERE text_hash = :text_hash AND model = :model LIMIT 1",
            {"text_hash": text_hash, "model": model},
        )
        if vector is not None:
            found[text_hash] = bytes(vector)
    return found


def find_in_sequence(tx: Reader, model: str, sequence: str) -> dict[str, bytes]:
    """The vectors of a sequence's passages by the hash of their texts, to be kept where its texts only move."""
    rows = tx.all(
        "SELECT e.text_hash, e.vector FROM passages p JOIN embeddings e ON e.passage = p.seq"
        " WHERE p.sequence = :sequence AND e.model = :model",
        {"sequence": sequence, "model": model},
    )
    return {text_hash: bytes(vector) for text_hash, vector in rows}


def last_change(tx: Reader) -> int:
    """The newest change number."""
    return int(tx.value("SELECT last FROM vector_clock"))


def changes_since(tx: Reader, seen: int, model: str, shelf: Shelf = MAIN) -> VectorDelta:
    """The next changes that an index of ``model`` and a shelf that has seen ``seen`` must apply, in order. Ask again
    from ``VectorDelta.last`` until it is the clock's number: a big vault is replayed in bounded pieces."""
    clock, pruned = map(int, tx.one("SELECT last, pruned FROM vector_clock") or (0, 0))
    anew = seen > clock or 0 < seen < pruned
    start = 0 if anew else seen
    rows = tx.all(
        "SELECT change, passage, vector, model FROM embeddings WHERE shelf = :shelf AND change > :start"
        " ORDER BY change LIMIT :most",
        {"shelf": shelf.number, "start": start, "most": REPLAY},
    )
    last = int(rows[-1][0]) if len(rows) == REPLAY else clock
    changes = [
        (int(change), VectorChange(int(passage), bytes(vector) if made_by == model else None))
        for change, passage, vector, made_by in rows
    ]
    if start:
        gone = tx.all(
            "SELECT change, passage FROM vector_removals WHERE change > :start AND change <= :last",
            {"start": start, "last": last},
        )
        changes += [(int(change), VectorChange(int(passage), None)) for change, passage in gone]
        changes.sort(key=lambda change: change[0])
    return VectorDelta([change for _, change in changes], last, anew)


def has_removed_since(tx: Reader, seen: int) -> bool:
    """Whether a vector was removed after change number ``seen``."""
    return tx.one("SELECT 1 FROM vector_removals WHERE change > :seen LIMIT 1", {"seen": seen}) is not None


def model_shape(tx: Reader) -> tuple[str, int] | None:
    """Key and width of the model that made the vault's vectors; None where there are none."""
    row = tx.one(
        "SELECT e.model, LENGTH(e.vector) / 4 FROM embeddings e JOIN vault_info i ON i.value = e.model"
        " WHERE i.key = 'model' LIMIT 1"
    )
    if row is None:
        return None
    model, width = row
    return model, int(width)


def prune_removals(tx: Writer) -> None:
    """Forget the oldest removals once there are many."""
    if int(tx.value("SELECT COUNT(*) FROM vector_removals")) <= 2 * REMOVALS_KEPT:
        return
    cut = tx.value(
        "SELECT change FROM vector_removals ORDER BY change DESC LIMIT 1 OFFSET :kept", {"kept": REMOVALS_KEPT}
    )
    tx.run("DELETE FROM vector_removals WHERE change <= :cut", {"cut": int(cut)})
    tx.run("UPDATE vector_clock SET pruned = :cut", {"cut": int(cut)})


def reserve_numbers(tx: Writer, count: int) -> int:
    """Reserve ``count`` change numbers; returns the one before the first."""
    if count:
        tx.run("UPDATE vector_clock SET last = last + :count", {"count": count})
    return last_change(tx) - count
