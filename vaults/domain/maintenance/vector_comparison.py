"""Vectors as rows and as saved for searches: whether a search would see what the rows hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vaults.db.sql import Reader
from vaults.index import embeddings
from vaults.index.embeddings import VectorDelta
from vaults.index.shelves import Shelf
from vaults.index.snapshot import SnapshotInvalid
from vaults.index.vector_index import SnapshotStamp, VectorIndex
from vaults.paces import WorkPace
from vaults.settings import IndexSettings

SAMPLE_SIZE = 256
"""Vectors of a saved index that are searched for; the others are only counted."""

MIN_COSINE = 0.95
"""Min cosine of a vector with itself, allowing for compression."""


@dataclass(frozen=True, slots=True)
class VectorOrigin:
    """Whose vectors they are: the vault, and the folder with its saved indexes. ``model``: the one that is loaded, with
    its ``width``; '' where none is."""

    vault_id: str
    folder: Path
    model: str = ""
    width: int = 0


def compare_vectors(
    tx: Reader, shelf: Shelf, origin: VectorOrigin, settings: IndexSettings, pace: WorkPace
) -> Counter[str]:
    """What disagrees on one shelf, by code."""
    model = tx.value("SELECT value FROM vault_info WHERE key = 'model'")
    width = _find_width(tx, str(model), origin) if model is not None else None
    if model is None or width is None or not _is_clock_right(tx):
        return Counter()
    stamp = SnapshotStamp(origin.vault_id, str(model), width, 0)
    count = _count(tx, shelf, stamp.model)
    held, damaged = _read_rows(tx, shelf, stamp, pace)
    found = Counter({"vectors_misshapen": damaged, "projection_differs": abs(held + damaged - count)})
    path = origin.folder / shelf.snapshot
    try:
        index = VectorIndex.load(path, stamp, settings)
    except SnapshotInvalid as verdict:
        found["snapshot_unused"] = int(verdict.reason != "missing")
        return found
    found["snapshot_differs"] = _compare_saved(tx, shelf, stamp, index, held, pace)
    return found


def _find_width(tx: Reader, model: str, origin: VectorOrigin) -> int | None:
    """The width of the model, else the commonest; None where there are no vectors."""
    lengths = tx.one(
        "SELECT LENGTH(vector), COUNT(*) FROM embeddings WHERE model = :model GROUP BY 1 ORDER BY 2 DESC LIMIT 1",
        {"model": model},
    )
    if lengths is None:
        return None
    return origin.width if origin.model == model else int(lengths[0]) // 4


def _is_clock_right(tx: Reader) -> bool:
    """Whether changes can be replayed at all; what is wrong with the clock is found elsewhere."""
    newest = tx.value("SELECT MAX(change) FROM embeddings")
    return int(tx.value("SELECT MAX(last) FROM vector_clock") or -1) >= int(newest or 0)


def _count(tx: Reader, shelf: Shelf, model: str) -> int:
    return int(
        tx.value(
            "SELECT COUNT(*) FROM embeddings WHERE shelf = :shelf AND model = :model",
            {"shelf": shelf.number, "model": model},
        )
    )


def _read_rows(tx: Reader, shelf: Shelf, stamp: SnapshotStamp, pace: WorkPace) -> tuple[int, int]:
    """Read the changes as a search that begins with nothing: how many vectors it would hold, how many are damaged."""
    held: set[int] = set()
    damaged = 0
    for delta in pace(_changes(tx, shelf, stamp.model, 0)):
        vectors = {each.passage: each.vector for each in delta.changes if each.vector is not None}
        sound = _find_sound(vectors, stamp.width)
        held |= sound
        damaged += len(vectors) - len(sound)
    return len(held), damaged


def _changes(tx: Reader, shelf: Shelf, model: str, seen: int) -> Iterator[VectorDelta]:
    clock = embeddings.last_change(tx)
    while True:
        delta = embeddings.changes_since(tx, seen, model, shelf)
        yield delta
        seen = delta.last
        if seen >= clock:
            return


def _find_sound(vectors: dict[int, bytes], width: int) -> set[int]:
    """The passages whose vector has the right length, is finite, and not zero."""
    import numpy as np

    fitting = {passage: raw for passage, raw in vectors.items() if len(raw) == width * 4}
    matrix = np.frombuffer(b"".join(fitting.values()), "<f4").reshape(-1, width)
    sound = np.isfinite(matrix).all(axis=1) & matrix.any(axis=1)
    return set(np.fromiter(fitting, np.int64, len(fitting))[sound].tolist())


def _compare_saved(
    tx: Reader, shelf: Shelf, stamp: SnapshotStamp, index: VectorIndex, held: int, pace: WorkPace
) -> int:
    """Bring a saved index up to date as a search would, and count what it does not hold as the rows do."""
    for delta in pace(_changes(tx, shelf, stamp.model, index.seen)):
        if delta.anew:
            return 0  # a search drops it and begins with nothing
        index.apply(delta.changes, delta.last)
    return abs(len(index) - held) + _count_other(tx, shelf, stamp, index, held, pace)


def _count_other(tx: Reader, shelf: Shelf, stamp: SnapshotStamp, index: VectorIndex, count: int, pace: WorkPace) -> int:
    """Of a sample, how many of the index's vectors are not those of the rows."""
    import numpy as np

    sample = tx.all(
        "SELECT passage, vector FROM embeddings WHERE shelf = :shelf AND model = :model AND passage % :step = 0"
        " LIMIT :sample",
        {
            "shelf": shelf.number,
            "model": stamp.model,
            "step": max(count // SAMPLE_SIZE, 1),
            "sample": SAMPLE_SIZE,
        },
    )
    vectors, wrong = {int(passage): bytes(vector) for passage, vector in sample}, 0
    for passage in pace(_find_sound(vectors, stamp.width)):
        vector: Any = np.frombuffer(vectors[passage], dtype="<f4")
        hits = index.search(vector, 1, np.array([passage], dtype=np.int64))
        wrong += not hits or hits[0][1] < MIN_COSINE
    return wrong
