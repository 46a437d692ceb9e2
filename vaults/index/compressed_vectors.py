"""Many vectors: 4-bit product codes find candidates, half floats rank them.

The codes (FAISS PQ{width/4}x4fs, an eighth of a byte per dimension) are scanned whole; the best ``k * refine_factor``
are scored again from fp16. Rows are sorted by passage id and never move: new rows and removals are kept apart
(``vector_layers.py``) until the next build. A removed row is wiped, so that nothing of it is saved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from vaults.index.engine import faiss
from vaults.index.flat_vectors import exact_top

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vaults.index.flat_vectors import Floats, Ids, Mask, VectorRows

DIMENSIONS_PER_CODE = 4
TRAINING_ROWS = 8192  # FAISS itself takes no more than 256 per centroid, of which there are 16
CHUNK_ROWS = 1024  # numpy copies rows under the GIL: 8192 at once held up the event loop for 40 ms
# Re-scoring one candidate costs about what scanning eight rows of fp16 would.
REFINE_WORTH = 8
# Few results would mean few candidates, which misses some: 10 of 1,000,000 from 300 had a recall of .86, from 4,000 of
# .99, and a thousand more cost 0.3 ms. Never fewer than a thousand, nor than one row in 250.
LEAST_REFINED = 1000
LEAST_SHARE = 250
# Filters pass fewer of a query's neighbours than chance would: ask for more than the plain share.
FILTER_MARGIN = 1.5


def is_compressible(width: int) -> bool:
    """Whether vectors of ``width`` dimensions can be cut into codes."""
    return width % DIMENSIONS_PER_CODE == 0


class CompressedVectors:
    """A set of vectors by passage id. Many threads may search it while nothing is wiped."""

    def __init__(self, ids: Ids, halves: Any, codes: Any, refine_factor: int) -> None:
        self.ids = ids
        self.width = int(halves.d)
        self._halves = halves
        self._codes = codes
        self._refined = faiss().IndexRefine(codes, halves)
        self._refine_factor = refine_factor

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def memory_bytes(self) -> int:
        """Resident bytes."""
        return len(self) * (8 + self.width * 2) + int(self._codes.codes.size())

    def rows_of(self, ids: Ids) -> Ids:
        """The row of each id, -1 where there is none."""
        import numpy as np

        rows = np.minimum(np.searchsorted(self.ids, ids), len(self) - 1)
        return np.where(self.ids[rows] == ids, rows, -1).astype(np.int64)

    def gather(self, rows: Ids) -> Floats:
        """These rows as float32."""
        import numpy as np

        return halves_of(self._halves)[rows].astype(np.float32)

    def top(self, query: Floats, k: int, mask: Mask | None) -> tuple[Ids, Floats]:
        """Rows and cosines of the nearest ``k`` at most, best first, among the rows of ``mask`` (all if None).

        The codes know no filter, so more than ``k`` are fetched and then filtered. When fewer than ``k`` are left,
        because the filter excludes just what is near the query, the half floats are scanned instead.
        """
        found = self._by_codes(query, k, mask)
        return exact_top(self._halves, self.gather, query, k, mask) if found is None else found

    def wipe(self, rows: Ids) -> None:
        """Overwrite these rows, which no longer count."""
        import numpy as np

        engine, packer = faiss(), self._codes.get_CodePacker()
        halves_of(self._halves)[rows] = 0
        packed = engine.rev_swig_ptr(self._codes.codes.get(), self._codes.codes.size())
        blocks, every = packed.reshape(-1, packer.block_size), np.full(packer.code_size, 0xFF, np.uint8)
        places = rows % packer.nvec
        for place in np.unique(places).tolist():
            bits = np.zeros((1, packer.block_size), np.uint8)  # the bits of a block that belong to the row there
            packer.pack_1(every, place, bits)
            blocks[rows[places == place] // packer.nvec] &= ~bits

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What ``restore_compressed`` needs; views of memory in which only removed rows change."""
        return {
            "ids": self.ids,
            "halves": halves_of(self._halves),
            "codes": faiss().AlignedTable_to_array(self._codes.codes),
            "centroids": faiss().vector_to_array(self._codes.pq.centroids),
        }

    def _by_codes(self, query: Floats, k: int, mask: Mask | None) -> tuple[Ids, Floats] | None:
        """The answer from the codes, or None where scanning is cheaper or safer."""
        import numpy as np

        fetch = k
        if mask is not None:
            allowed = int(np.count_nonzero(mask))
            fetch = math.ceil(k * FILTER_MARGIN * len(self) / max(allowed, 1))
        refined = max(fetch * self._refine_factor, LEAST_REFINED, len(self) // LEAST_SHARE)
        if refined * REFINE_WORTH > len(self):
            return None
        parameters = faiss().IndexRefineSearchParameters(k_factor=refined / fetch)
        scores, rows = self._refined.search(query[None, :], fetch, params=parameters)
        kept = rows[0] >= 0
        if mask is not None:
            kept &= mask[rows[0]]
        if np.count_nonzero(kept) < k:
            return None
        return rows[0][kept][:k], scores[0][kept][:k]


def halves_of(index: Any) -> NDArray[np.float16]:
    """The fp16 matrix inside a scalar quantizer; a view, valid while the index lives."""
    import numpy as np

    raw = faiss().rev_swig_ptr(index.codes.data(), index.ntotal * index.d * 2)
    matrix: NDArray[np.float16] = raw.view(np.float16).reshape(index.ntotal, index.d)
    return matrix


def compress(
    sources: Sequence[tuple[VectorRows, Mask]], width: int, refine_factor: int, stopped: Callable[[], bool]
) -> CompressedVectors | None:
    """Compress the masked rows of ``sources``; None if ``stopped``. Needs 2 more bytes per dimension of each row."""
    import numpy as np

    ids = np.concatenate([source.ids[mask] for source, mask in sources])
    order = np.argsort(ids, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    halves = empty_halves(len(ids), width)
    matrix, at = halves_of(halves), 0
    for source, mask in sources:
        kept = np.flatnonzero(mask)
        for start in range(0, len(kept), CHUNK_ROWS):
            if stopped():
                return None
            rows = kept[start : start + CHUNK_ROWS]
            matrix[place[at : at + len(rows)]] = source.gather(rows)
            at += len(rows)
    codes = _compress_codes(matrix, stopped)
    return None if codes is None else CompressedVectors(ids[order], halves, codes, refine_factor)


def empty_halves(count: int, width: int) -> Any:
    """A scalar quantizer with room for exactly ``count`` rows: ``add`` would double its memory as it grows."""
    index = faiss().IndexScalarQuantizer(width, faiss().ScalarQuantizer.QT_fp16, faiss().METRIC_INNER_PRODUCT)
    index.codes.resize(count * width * 2)
    index.ntotal = count
    return index


def restore_compressed(arrays: dict[str, NDArray[Any]], width: int, refine_factor: int) -> CompressedVectors:
    """The inverse of ``arrays()``. FAISS parses nothing: its fields are set. Raises ValueError if sizes disagree."""
    import numpy as np

    count = len(arrays["ids"])
    halves, codes = empty_halves(count, width), _new_codes(width)
    packed = math.ceil(count / codes.bbs) * codes.bbs * codes.M2 // 2
    sizes = (arrays["halves"].shape, arrays["codes"].size, arrays["centroids"].size)
    if not count or sizes != ((count, width), packed, codes.pq.centroids.size()):
        raise ValueError(f"compressed parts do not fit {count} rows of {width}")
    halves_of(halves)[:] = arrays["halves"]
    faiss().copy_array_to_vector(np.ascontiguousarray(arrays["centroids"], np.float32), codes.pq.centroids)
    faiss().copy_array_to_AlignedTable(np.ascontiguousarray(arrays["codes"], np.uint8), codes.codes)
    codes.ntotal, codes.ntotal2 = count, math.ceil(count / codes.bbs) * codes.bbs
    codes.is_trained = True
    return CompressedVectors(np.array(arrays["ids"], np.int64), halves, codes, refine_factor)


def _compress_codes(matrix: NDArray[np.float16], stopped: Callable[[], bool]) -> Any:
    import numpy as np

    codes = _new_codes(matrix.shape[1])
    # Seeded, so that the same rows give the same codes.
    sample = np.random.default_rng(0).choice(len(matrix), min(len(matrix), TRAINING_ROWS), replace=False)
    codes.train(matrix[np.sort(sample)].astype(np.float32))
    for start in range(0, len(matrix), CHUNK_ROWS):
        if stopped():
            return None
        codes.add(matrix[start : start + CHUNK_ROWS].astype(np.float32))
    return codes


def _new_codes(width: int) -> Any:
    return faiss().IndexPQFastScan(width, width // DIMENSIONS_PER_CODE, 4, faiss().METRIC_INNER_PRODUCT)
