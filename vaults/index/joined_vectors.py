"""The vector indexes of several shelves, searched as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vaults.index.vector_index import VectorIndex

if TYPE_CHECKING:
    from vaults.index.flat_vectors import Floats, Ids


class JoinedVectors:
    """What a search asks of a ``VectorIndex``, of several: a passage is in one of them at most."""

    def __init__(self, parts: Sequence[VectorIndex]) -> None:
        self._parts = parts

    def search(self, query: Floats, k: int, allow: Ids | None = None) -> list[tuple[int, float]]:
        """The nearest ``k`` passages of all at most, best first; ties by id."""
        found = [pair for part in self._parts for pair in part.search(query, k, allow)]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:k]

    def gather(self, passages: Ids) -> Floats:
        """The vectors of ``passages`` as float32 rows; zeros where there is none."""
        first, *others = (part.gather(passages) for part in self._parts)
        for more in others:
            first += more
        return first
