"""Which of many words are spelled most like some."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

SimilarityScorer = Callable[..., float]


def find_nearest(
    wanted: str, choices: Sequence[str], scorer: SimilarityScorer, *, limit: int, least: float
) -> list[tuple[str, float, int]]:
    """The ``limit`` choices of at least ``least`` of 100, best first: choice, score and place. One after the other, and
    not in one call for all: while such a call compares thousands, no other thread runs."""
    from rapidfuzz.process import extract_iter

    found = extract_iter(wanted, choices, scorer=scorer, score_cutoff=least)
    return heapq.nsmallest(limit, found, key=lambda each: (-each[1], each[2]))
