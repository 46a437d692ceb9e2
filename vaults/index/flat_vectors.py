"""Exact vectors: FAISS IDMap2-Flat with inner product, which over unit vectors is the cosine.

Used alone up to the flat limit, and above it for the rows added since the last rebuild.

Passage ids come from a growing counter, so rows are nearly always sorted by id; looking ids up is then a binary search
over FAISS's own id list and costs no memory. Rows are replaced in place for the same reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from vaults.index.engine import faiss

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ids: TypeAlias = NDArray[np.int64]
    Floats: TypeAlias = NDArray[np.float32]
    Mask: TypeAlias = NDArray[np.bool_]

# Up to here numpy beats a selector, and stays below where BLAS would wake a second thread.
GATHER_ROWS = 1000
GATHER_SHARE = 100  # one row in a hundred
# The id, and the node of IDMap2's reverse map, with each vector.
ROW_OVERHEAD_BYTES = 8 + 40
# Shrinking smaller indexes frees nothing worth a copy.
SHRINK_FROM_ROWS = 4096


class VectorRows(Protocol):
    """What both kinds of vectors offer."""

    @property
    def ids(self) -> Ids: ...
    @property
    def memory_bytes(self) -> int: ...
    def __len__(self) -> int: ...
    def rows_of(self, ids: Ids) -> Ids: ...
    def gather(self, rows: Ids) -> Floats: ...
    def wipe(self, rows: Ids) -> None: ...
    def top(self, query: Floats, k: int, mask: Mask | None) -> tuple[Ids, Floats]: ...


class FlatVectors:
    """Unit vectors by passage id. Not thread-safe; ``ids`` is a view that the next change invalidates."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._peak = 0
        self._ascending = True
        self._order: Ids | None = None
        self._clear()

    def __len__(self) -> int:
        return int(self._flat.ntotal)

    @property
    def ids(self) -> Ids:
        """The passage id of each row."""
        import numpy as np

        count = len(self)
        view: Ids = faiss().rev_swig_ptr(self._map.id_map.data(), count) if count else np.empty(0, np.int64)
        return view

    @property
    def memory_bytes(self) -> int:
        """Resident bytes. FAISS keeps the memory of removed rows until ``remove`` shrinks it, so the peak counts."""
        return self._peak * (self.width * 4 + ROW_OVERHEAD_BYTES)

    def put(self, ids: Ids, vectors: Floats) -> None:
        """Insert or replace. Each id at most once per call."""
        rows = self.rows_of(ids)
        known = rows >= 0
        if not known.any():
            self._append(ids, vectors)
            return
        self._matrix()[rows[known]] = vectors[known]
        if not known.all():
            self._append(ids[~known], vectors[~known])

    def remove(self, ids: Ids) -> None:
        """Remove these vectors; unknown ids are no error."""
        here = ids[self.rows_of(ids) >= 0]
        if not len(here):
            return
        self._map.remove_ids(faiss().IDSelectorBatch(here))
        self._order = None
        if len(self) < self._peak // 2 and self._peak > SHRINK_FROM_ROWS:
            self._shrink()

    def wipe(self, rows: Ids) -> None:
        """Overwrite these rows, which no longer count."""
        self._matrix()[rows] = 0

    def rows_of(self, ids: Ids) -> Ids:
        """The row of each id, -1 where there is none."""
        import numpy as np

        stored = self.ids
        if not len(stored):
            return np.full(len(ids), -1, np.int64)
        order = self._sorted(stored)
        place = np.minimum(np.searchsorted(stored, ids, sorter=order), len(stored) - 1)
        rows = place if order is None else order[place]
        return np.where(stored[rows] == ids, rows, -1).astype(np.int64)

    def gather(self, rows: Ids) -> Floats:
        """A copy of these rows."""
        vectors: Floats = self._matrix()[rows]
        return vectors

    def copied(self) -> tuple[Ids, Floats]:
        """All ids and their vectors; copies."""
        return self.ids.copy(), self._matrix().copy()

    def top(self, query: Floats, k: int, mask: Mask | None) -> tuple[Ids, Floats]:
        """Rows and cosines of the nearest ``k`` at most, best first, among the rows of ``mask`` (all if None)."""
        return exact_top(self._flat, self.gather, query, k, mask)

    def _matrix(self) -> Floats:
        count = len(self)
        view: Floats = faiss().rev_swig_ptr(self._flat.get_xb(), count * self.width)
        return view.reshape(count, self.width)

    def _sorted(self, ids: Ids) -> Ids | None:
        """The order that sorts ``ids``, or None when they are sorted. Two searches may both compute it: same result."""
        import numpy as np

        if self._ascending:
            return None
        order = self._order
        if order is None:
            order = self._order = np.argsort(ids, kind="stable").astype(np.int64, copy=False)
        return order

    def _append(self, ids: Ids, vectors: Floats) -> None:
        import numpy as np

        if not len(ids):
            return
        if np.any(ids[1:] < ids[:-1]):
            order = np.argsort(ids, kind="stable")
            ids, vectors = ids[order], vectors[order]
        stored = self.ids
        if len(stored) and ids[0] < stored[-1]:
            self._ascending = False
        self._map.add_with_ids(np.ascontiguousarray(vectors), ids)
        self._order = None
        self._peak = max(self._peak, len(self))

    def _shrink(self) -> None:
        ids, vectors = self.copied()
        self._clear()
        self._append(ids, vectors)

    def _clear(self) -> None:
        self._flat = faiss().IndexFlatIP(self.width)
        self._map = faiss().IndexIDMap2(self._flat)
        self._ascending = True
        self._order = None
        self._peak = 0


def exact_top(
    index: Any, gather: Callable[[Ids], Floats], query: Floats, k: int, mask: Mask | None
) -> tuple[Ids, Floats]:
    """Scan ``index`` (row-numbered) for the best ``k`` rows of ``mask``. ``gather`` yields rows as float32."""
    import numpy as np

    engine = faiss()
    allowed = index.ntotal if mask is None else int(np.count_nonzero(mask))
    k = min(k, allowed)
    if k <= 0:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    if mask is None:
        scores, rows = index.search(query[None, :], k)
        return rows[0], scores[0]
    if allowed <= min(GATHER_ROWS, len(mask) // GATHER_SHARE):
        rows = np.flatnonzero(mask)
        # Not ``@``: BLAS may split the product over threads, whose barrier costs milliseconds on a busy box.
        scores = np.einsum("ij,j->i", gather(rows), query)
        best = np.argsort(-scores, kind="stable")[:k]
        return rows[best], scores[best]
    bits = np.packbits(mask, bitorder="little")
    selector = engine.IDSelectorBitmap(bits)
    scores, rows = index.search(query[None, :], k, params=engine.SearchParameters(sel=selector))
    return rows[0], scores[0]
