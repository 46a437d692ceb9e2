"""Finds the strings most similar to a given one."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

SimilarityScorer = Callable[..., float]


def find_nearest(
    wanted: str, choices: Sequence[str], scorer: SimilarityScorer, *, limit: int, least: float
) -> list[tuple[str, float, int]]:
    """The best ``limit`` choices with at least ``least`` of 100 points, best first: choice, score and index. Compared
    one by one: no other thread runs during one call for thousands."""
    from rapidfuzz.process import extract_iter

    found = extract_iter(wanted, choices, scorer=scorer, score_cutoff=least)
    return heapq.nsmallest(limit, found, key=lambda each: (-each[1], each[2]))
