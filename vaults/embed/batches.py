"""Groups texts into model calls. Pure.

A call is padded to its longest text, so its cost is count x longest: texts are sorted by length first, and a call stops
growing at a budget. A slice of the service is some 512 padded tokens: more would gain nothing (sentence-transformers
included), and a query that arrives behind one waits 0.1 s at most.
"""

from __future__ import annotations

from collections.abc import Sequence

BATCH_CHARACTERS = 2048  # about 512 tokens, for callers that have not tokenised yet
ENDPOINT_CHARACTERS = 8192
"""The same for an endpoint, where a call costs a round trip: ten passages or so, behind which a query still waits."""
ENDPOINT_TEXTS = 32
"""Texts of one request: what text-embeddings-inference takes, unless it is told otherwise."""


def split_into_batches(lengths: Sequence[int], *, budget: int, most: int) -> list[list[int]]:
    """Positions of ``lengths``, shortest first, in groups of ``most`` whose padded size stays in ``budget``.

    Every position is in exactly one group; a text longer than the budget is alone in its own.
    """
    groups: list[list[int]] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        size = len(groups[-1]) + 1 if groups else 0
        if groups and size <= most and size * lengths[position] <= budget:
            groups[-1].append(position)
        else:
            groups.append([position])
    return groups
