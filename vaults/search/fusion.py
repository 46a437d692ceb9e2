"""Joining the two channels. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

RRF_K = 60
SHORT, LONG = 200, 1000
"""Characters of a mean passage: up to SHORT the words say most, from LONG on the meaning is worth as much."""


@dataclass(frozen=True, slots=True)
class Fused:
    """A passage of a memory with its joint score in 0…1 and what each channel said; None: it did not find it."""

    passage: int
    item: int
    score: float
    keyword: float | None
    semantic: float | None


Scores: TypeAlias = Mapping[int, float]
"""Passage to one channel's score, best first."""

Order: TypeAlias = list[tuple[int, float]]
"""Passages with their joint score in 0…1, best first."""


def dense_weight(mean_characters: float) -> float:
    """0.3 for conversation turns, 0.5 for encyclopaedic text, in between by passage length."""
    share = (mean_characters - SHORT) / (LONG - SHORT)
    return 0.3 + 0.2 * min(1.0, max(0.0, share))


def weighted(keyword: Scores, dense: Scores, weight: float) -> Order:
    """Min-max normalised scores, ``weight`` of them dense. A hit of one channel alone is never lost."""
    words, vectors = _normalised(keyword), _normalised(dense)
    if not words or not vectors:
        weight = 0.0 if words else 1.0
    scores = {passage: (1 - weight) * score for passage, score in words.items()}
    for passage, score in vectors.items():
        scores[passage] = scores.get(passage, 0.0) + weight * score
    return _ordered(scores)


def reciprocal_rank(keyword: Scores, dense: Scores) -> Order:
    """RRF with k = 60 (Cormack, Clarke, Büttcher 2009), scaled so that first in both channels is 1."""
    scores: dict[int, float] = {}
    for hits in (keyword, dense):
        for rank, passage in enumerate(hits, 1):
            scores[passage] = scores.get(passage, 0.0) + (RRF_K + 1) / (RRF_K + rank) / 2
    return _ordered(scores)


def _ordered(scores: dict[int, float]) -> Order:
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


def _normalised(hits: Scores) -> dict[int, float]:
    """Best 1, worst a little above 0: the last of a list still beats what the channel did not find."""
    if not hits:
        return {}
    low, high = min(hits.values()), max(hits.values())
    if high == low:
        return dict.fromkeys(hits, 1.0)
    scale = 0.99 / (high - low)
    return {passage: 0.01 + scale * (score - low) for passage, score in hits.items()}
