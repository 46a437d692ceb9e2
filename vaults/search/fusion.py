"""Joining the two channels. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

RRF_K = 60
FIXED = 0.7
"""Dense share of the fixed fusion other servers use; worse than words alone on conversations."""

Scores: TypeAlias = Mapping[int, float]
"""Passage to one channel's score, best first."""

Span: TypeAlias = tuple[float, float]
"""Lowest and highest score of a channel."""


def weighted(keyword: Scores, dense: Scores, weight: float) -> dict[int, float]:
    """Min-max normalised scores, ``weight`` of them dense. A hit of one channel alone is never lost."""
    if not keyword or not dense:
        weight = 0.0 if keyword else 1.0
    words, vectors = span_of(keyword), span_of(dense)
    scores = {passage: (1 - weight) * placed(score, words) for passage, score in keyword.items()}
    for passage, score in dense.items():
        scores[passage] = scores.get(passage, 0.0) + weight * placed(score, vectors)
    return scores


def reciprocal_rank(keyword: Scores, dense: Scores) -> dict[int, float]:
    """RRF with k = 60 (Cormack, Clarke, Büttcher 2009), scaled so that first in both channels is 1."""
    scores: dict[int, float] = {}
    for hits in (keyword, dense):
        for rank, passage in enumerate(hits, 1):
            scores[passage] = scores.get(passage, 0.0) + (RRF_K + 1) / (RRF_K + rank) / 2
    return scores


def span_of(scores: Scores) -> Span:
    """Lowest and highest; of none, nothing."""
    return (min(scores.values()), max(scores.values())) if scores else (0.0, 0.0)


def placed(score: float, span: Span) -> float:
    """Best 1, worst a little above 0: the last of a list still beats what the channel did not find."""
    low, high = span
    return 0.01 + 0.99 * (score - low) / (high - low) if high > low else 1.0
