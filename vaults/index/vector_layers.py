"""Sealed rows with tombstones, and how several sealed layers become one.

A layer's rows never move; what is removed or replaced is marked, and wiped. So a rebuild can read them without any lock
while searches and changes go on: of such a row it may read the old values or zeros, and drops it either way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vaults.index.compressed_vectors import CHUNK_ROWS, CompressedVectors, compress, is_compressible
from vaults.index.flat_vectors import FlatVectors

if TYPE_CHECKING:
    from vaults.index.flat_vectors import Floats, Ids, Mask, VectorRows

# Back to flat only well below the limit, so that a vault at the limit does not flip back and forth.
FLAT_SHARE = 0.8


class VectorLayer:
    """Sealed rows; ``live`` marks those that still count."""

    def __init__(self, rows: VectorRows, live: Mask | None = None) -> None:
        import numpy as np

        self.rows = rows
        self.live: Mask = np.ones(len(rows), np.bool_) if live is None else live
        self.gone = len(rows) - int(np.count_nonzero(self.live))

    def __len__(self) -> int:
        return len(self.rows) - self.gone

    @property
    def memory_bytes(self) -> int:
        return self.rows.memory_bytes + len(self.rows)

    def mark_dead(self, ids: Ids) -> None:
        """Mark these rows as removed, and wipe them. Unknown ids are no error."""
        import numpy as np

        rows = self.rows.rows_of(ids)
        rows = rows[rows >= 0]
        rows = rows[self.live[rows]]
        self.live[rows] = False
        self.rows.wipe(rows)
        self.gone = len(self.rows) - int(np.count_nonzero(self.live))

    def read(self, ids: Ids, out: Floats) -> None:
        """Write the vectors of those ``ids`` that are live here into their rows of ``out``."""
        rows = self.rows.rows_of(ids)
        here = rows >= 0
        here[here] = self.live[rows[here]]
        out[here] = self.rows.gather(rows[here])

    def search(self, query: Floats, k: int, allow: Ids | None) -> tuple[Ids, Floats]:
        """Ids and cosines, best first."""
        return search_rows(self.rows, query, k, allow, self.live if self.gone else None)


def search_rows(rows: VectorRows, query: Floats, k: int, allow: Ids | None, live: Mask | None) -> tuple[Ids, Floats]:
    """Ids and cosines of the nearest ``k`` rows, best first, that are allowed and live (None: all are)."""
    mask = live
    if allow is not None:
        mask = _mask_of(rows, allow)
        if live is not None:
            mask &= live
    found, scores = rows.top(query, k, mask)
    return rows.ids[found], scores


def merge_layers(
    layers: Sequence[tuple[VectorLayer, Mask]],
    width: int,
    flat_limit: int,
    refine_factor: int,
    stopped: Callable[[], bool],
) -> FlatVectors | CompressedVectors | None:
    """One set of rows from what was live (the mask) in each layer; None if ``stopped``. Takes no lock."""
    import numpy as np

    sources = [(layer.rows, mask) for layer, mask in layers if mask.any()]
    count = sum(int(np.count_nonzero(mask)) for _, mask in sources)
    if count > flat_limit * FLAT_SHARE and is_compressible(width):
        return compress(sources, width, refine_factor, stopped)
    flat = FlatVectors(width)
    for source, mask in sources:
        kept = np.flatnonzero(mask)
        for start in range(0, len(kept), CHUNK_ROWS):
            if stopped():
                return None
            rows = kept[start : start + CHUNK_ROWS]
            flat.put(source.ids[rows], source.gather(rows))
    return flat


def _mask_of(rows: VectorRows, allow: Ids) -> Mask:
    import numpy as np

    mask = np.zeros(len(rows), np.bool_)
    found = rows.rows_of(allow)
    mask[found[found >= 0]] = True
    return mask
