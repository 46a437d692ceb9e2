"""The vector index of one vault: a projection of the vectors in ``vault.db``, kept in memory.

Up to ``flat_limit`` passages it is exact. Above, ``rebuild`` seals what is there and compresses it, and a small exact
part takes what comes later. FAISS crashes when it is searched while it changes (9 runs of 9), so every call into it
holds one readers-writer lock; parallelism comes from callers, never from inside a call (``engine.py``).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vaults.errors import IndexUnavailable
from vaults.index import compressed_vectors, snapshot
from vaults.index.compressed_vectors import CompressedVectors, is_compressible
from vaults.index.engine import faiss
from vaults.index.flat_vectors import FlatVectors
from vaults.index.rwlock import ReadersWriterLock
from vaults.index.snapshot import SnapshotInvalid, SnapshotStamp
from vaults.index.vector_layers import VectorLayer, merge_layers, search_rows
from vaults.settings import IndexSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vaults.index.flat_vectors import Floats, Ids, Mask

__all__ = ["SnapshotInvalid", "SnapshotStamp", "VectorChange", "VectorIndex"]

# Float32 sums carry no more; rounding makes equal texts tie whatever row they lie in.
SCORE_DIGITS = 6
# Share of rows outside the compressed part from which it is worth rebuilding.
STRAY_SHARE = 0.2
BASE = "base."


@dataclass(frozen=True, slots=True)
class VectorChange:
    """A passage's new vector: float32, little endian, unit length; None when it is gone."""

    passage: int
    vector: bytes | None


class VectorIndex:
    """Passage ids by cosine. Every method may be called from any thread and may block: call it on an owned pool."""

    def __init__(self, width: int, settings: IndexSettings) -> None:
        self._width = width
        self._settings = settings
        self._lock = ReadersWriterLock()
        self._rebuilding = threading.Lock()
        self._seen = 0
        # An id counts once: in the open part, or live in exactly one sealed layer.
        self._open = FlatVectors(width)
        self._sealed: tuple[VectorLayer, ...] = ()

    @property
    def seen(self) -> int:
        """The last number of the vault's change sequence that was applied."""
        return self._seen

    def __len__(self) -> int:
        return len(self._open) + sum(len(layer) for layer in self._sealed)

    @property
    def memory_bytes(self) -> int:
        """Resident bytes of vectors, codes and ids. A running rebuild needs its result's size on top."""
        return self._open.memory_bytes + sum(layer.memory_bytes for layer in self._sealed)

    @property
    def needs_rebuild(self) -> bool:
        """Whether the owner should schedule ``rebuild`` now. False while one runs."""
        return not self._rebuilding.locked() and self._is_due()

    def apply(self, changes: Sequence[VectorChange], seen: int) -> tuple[int, ...]:
        """Apply changes in order, the last being number ``seen``; all become visible at once.

        Applying a batch twice changes nothing, and a batch that ends before ``self.seen`` is older than the index and
        is ignored. Returns the passages whose vector is damaged (length, NaN, zero): they are not in the index, and the
        caller must mark them.
        """
        latest = {change.passage: change.vector for change in changes}
        touched, put, vectors, damaged = _decode_changes(latest, self._width)
        with self._lock.exclusive():
            if seen < self._seen:
                return ()
            for layer in self._sealed:
                layer.mark_dead(touched)
            self._open.remove(_remove_ids(touched, put))
            self._open.put(put, vectors)
            self._seen = seen
        return damaged

    def search(self, query: Floats, k: int, allow: Ids | None = None) -> list[tuple[int, float]]:
        """The nearest ``k`` passages at most, best first, with their cosine to six digits; ties by id.

        ``allow`` limits the answer to these passages (None: all). ``query`` has unit length.
        Raises IndexUnavailable when it has another width or is not finite.
        """
        import numpy as np

        vector = np.ascontiguousarray(query, np.float32).reshape(-1)
        if len(vector) != self._width or not np.isfinite(vector).all():
            raise IndexUnavailable("the query's vector does not fit the index", hint="use keyword search")
        if k <= 0 or (allow is not None and not len(allow)):
            return []
        allow = None if allow is None else np.asarray(allow, np.int64)
        with self._lock.shared():
            found = [layer.search(vector, k, allow) for layer in self._sealed]
            found.append(search_rows(self._open, vector, k, allow, None))
        return _merge_best(found, k)

    def gather(self, passages: Ids) -> Floats:
        """The vectors of ``passages`` as float32 rows; zeros where there is none."""
        import numpy as np

        with self._lock.shared():
            found = self._open.rows_of(passages)
            if (found >= 0).all():
                return self._open.gather(found)
            out = np.zeros((len(passages), self._width), np.float32)
            for layer in self._sealed:
                layer.read(passages, out)
            if (found >= 0).any():
                out[found >= 0] = self._open.gather(found[found >= 0])
        return out

    def rebuild(self, stop: threading.Event | None = None) -> bool:
        """Merge the layers, if that is due; returns whether it did. Takes seconds of CPU for many vectors.

        Searches and changes go on meanwhile: they are blocked only while the open part is sealed and the result is
        swapped in. ``stop`` ends it early; then, as after any failure, the index answers as before and is still due.
        """
        stopped = threading.Event() if stop is None else stop
        with self._rebuilding:
            if not self._is_due():
                return False
            frozen = self._seal()
            settings = self._settings
            merged = merge_layers(frozen, self._width, settings.flat_limit, settings.refine_factor, stopped.is_set)
            if merged is None:
                return False
            with self._lock.exclusive():
                self._swap(frozen, merged)
            return True

    def save(self, path: Path, stamp: SnapshotStamp) -> None:
        """Write a snapshot; its stamp carries this index's own ``seen``. Raises StorageFull, ReadOnly.

        Only the open part is copied under the lock; nothing is blocked while the disk works.
        """
        with self._lock.shared():
            seen = self._seen
            layers = [(layer, layer.live.copy()) for layer in self._sealed]
            flats = [self._open.copied()]
        arrays: dict[str, NDArray[Any]] = {}
        for layer, live in layers:
            if isinstance(layer.rows, CompressedVectors):
                arrays |= {BASE + name: array for name, array in layer.rows.arrays().items()}
                arrays |= {BASE + "live": live.view("u1"), BASE + "engine": _faiss_version()}
            else:
                flats.append((layer.rows.ids[live], layer.rows.gather(live.nonzero()[0])))
        snapshot.write(path, replace(stamp, seen=seen), arrays | _join_flats(flats))

    @classmethod
    def load(cls, path: Path, expected: SnapshotStamp, settings: IndexSettings) -> VectorIndex:
        """The index saved at ``path``, if it is this vault's, by this model (``expected.seen`` is ignored).

        Raises SnapshotInvalid: build it from the database instead.
        """
        stamp, arrays = snapshot.read(path, expected)
        index = cls(stamp.width, settings)
        try:
            index._restore(arrays)
        except (KeyError, ValueError) as failure:
            raise SnapshotInvalid("version") from failure
        index._seen = stamp.seen
        return index

    def _is_due(self) -> bool:
        if not is_compressible(self._width):
            return False
        limit = self._settings.flat_limit
        if not self._sealed:
            return len(self._open) > limit
        if any(isinstance(layer.rows, FlatVectors) for layer in self._sealed):
            return True  # a rebuild was stopped or failed
        base = sum(len(layer.rows) for layer in self._sealed)
        stray = len(self._open) + sum(layer.gone for layer in self._sealed)
        # Never more rows outside than would be searched exactly in a vault of their own.
        return stray > min(limit, max(limit, base) * STRAY_SHARE)

    def _seal(self) -> list[tuple[VectorLayer, Mask]]:
        """Close the open part and note what is live now. The layers' rows may then be read without the lock."""
        with self._lock.exclusive():
            if len(self._open):
                self._sealed = (*self._sealed, VectorLayer(self._open))
                self._open = FlatVectors(self._width)
            return [(layer, layer.live.copy()) for layer in self._sealed]

    def _swap(self, frozen: list[tuple[VectorLayer, Mask]], merged: FlatVectors | CompressedVectors) -> None:
        """Replace the frozen layers by ``merged``, less what was removed since. Call it holding the exclusive lock."""
        import numpy as np

        buried = np.concatenate([layer.rows.ids[live & ~layer.live] for layer, live in frozen])
        if isinstance(merged, FlatVectors):
            merged.remove(buried)
            merged.put(*self._open.copied())
            self._open, self._sealed = merged, ()
        else:
            layer = VectorLayer(merged)
            layer.mark_dead(buried)
            self._sealed = (layer,)

    def _restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        import numpy as np

        ids, vectors = arrays["ids"], arrays["vectors"]
        if vectors.shape != (len(ids), self._width):
            raise ValueError("flat part")
        self._open.put(ids, vectors)
        base = {name.removeprefix(BASE): array for name, array in arrays.items() if name.startswith(BASE)}
        if not base:
            return
        # How codes are packed depends on the FAISS version.
        if not np.array_equal(base["engine"], _faiss_version()) or base["live"].shape != base["ids"].shape:
            raise ValueError("compressed part")
        rows = compressed_vectors.restore_compressed(base, self._width, self._settings.refine_factor)
        self._sealed = (VectorLayer(rows, base["live"].astype(np.bool_)),)


def _decode_changes(latest: dict[int, bytes | None], width: int) -> tuple[Ids, Ids, Floats, tuple[int, ...]]:
    """All ids touched; the ids and vectors to put; the ids whose vector is damaged."""
    import numpy as np

    whole = {passage: raw for passage, raw in latest.items() if raw is not None and len(raw) == width * 4}
    ids = np.fromiter(whole, np.int64, len(whole))
    vectors = np.frombuffer(b"".join(whole.values()), "<f4").astype(np.float32, copy=False).reshape(-1, width)
    sound = np.isfinite(vectors).all(axis=1) & vectors.any(axis=1)
    ids, vectors = ids[sound], vectors[sound]
    kept = set(ids.tolist())
    damaged = tuple(passage for passage, raw in latest.items() if raw is not None and passage not in kept)
    return np.fromiter(latest, np.int64, len(latest)), ids, vectors, damaged


def _remove_ids(ids: Ids, others: Ids) -> Ids:
    import numpy as np

    return np.setdiff1d(ids, others, assume_unique=True)


def _join_flats(flats: list[tuple[Ids, Floats]]) -> dict[str, NDArray[Any]]:
    import numpy as np

    if len(flats) == 1:
        return dict(zip(("ids", "vectors"), flats[0], strict=True))
    ids, vectors = zip(*flats, strict=True)
    return {"ids": np.concatenate(ids), "vectors": np.concatenate(vectors)}


def _merge_best(found: list[tuple[Ids, Floats]], k: int) -> list[tuple[int, float]]:
    import numpy as np

    ids = np.concatenate([part for part, _ in found])
    scores = np.concatenate([part for _, part in found]).astype(np.float64).round(SCORE_DIGITS)
    order = np.lexsort((ids, -scores))[:k]
    return list(zip(ids[order].tolist(), scores[order].tolist(), strict=True))


def _faiss_version() -> NDArray[np.uint8]:
    import numpy as np

    return np.frombuffer(faiss().__version__.encode(), np.uint8)
