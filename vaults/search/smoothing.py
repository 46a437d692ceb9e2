"""Neighbour-smoothed vectors: a short turn means what is said around it as well.

The score is the mean of two cosines: of the passage's own vector v, and of v + s·v(±1) + s/2·v(±2), renormalised. It is
computed for the candidates alone, from the vectors in the index, so nothing stored can fall behind its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from vaults.search.candidates import SearchCandidates
from vaults.search.fusion import sort_scores

if TYPE_CHECKING:
    import numpy as np

    from vaults.index.joined_vectors import JoinedVectors
    from vaults.index.vector_index import VectorIndex

NEIGHBOUR_SHARES = (0.5, 1.0, 1.0, 0.5)
"""Share of the weight s that neighbours at -2, -1, +1, +2 get."""


def smooth_scores(
    index: VectorIndex | JoinedVectors, vector: np.ndarray, found: SearchCandidates, weight: float
) -> SearchCandidates:
    """``found`` with the mean of both cosines as scores, best first; passages of no sequence keep theirs."""
    near = {passage: facts.near for passage, facts in found.facts.items() if facts.near is not None}
    if not near or not weight:
        return found
    scores = found.scores | _scores(index, vector, near, weight)
    return SearchCandidates(dict(sort_scores(scores)), found.facts, found.full)


def _scores(
    index: VectorIndex | JoinedVectors, vector: np.ndarray, near: Mapping[int, tuple[int, ...]], weight: float
) -> dict[int, float]:
    import numpy as np

    table = np.array([(passage, *around) for passage, around in near.items()], dtype=np.int64)
    ids, places = np.unique(table, return_inverse=True)
    vectors = index.gather(ids)  # rows of zeros where there is no vector
    rows = vectors[places.reshape(table.shape)]
    own = rows[:, 0]
    steps = np.array(NEIGHBOUR_SHARES, dtype=np.float32) * weight
    mixed = own + np.einsum("n,pnd->pd", steps, rows[:, 1:])
    norms = np.linalg.norm(mixed, axis=1)
    both = (own @ vector + (mixed @ vector) / np.maximum(norms, 1e-9)) / 2
    return dict(zip(near, (float(score) for score in both.round(6)), strict=True))
