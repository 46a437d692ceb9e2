"""Fusing the scores of the two channels. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import TypeAlias

RRF_K = 60
FIXED_DENSE_WEIGHT = 0.7
"""Dense share of the fixed fusion other servers use; worse than words alone on conversations."""

ChannelScores: TypeAlias = Mapping[int, float]
"""Passage to one channel's score, best first."""

ScoreRange: TypeAlias = tuple[float, float]
"""Lowest and highest score of a channel."""


def fuse_weighted(keyword: ChannelScores, dense: ChannelScores, weight: float) -> dict[int, float]:
    """Min-max normalised scores, ``weight`` of them dense. A hit of one channel alone is never lost."""
    if not keyword or not dense:
        weight = 0.0 if keyword else 1.0
    words, vectors = find_score_range(keyword), find_score_range(dense)
    scores = {passage: (1 - weight) * normalize_score(score, words) for passage, score in keyword.items()}
    for passage, score in dense.items():
        scores[passage] = scores.get(passage, 0.0) + weight * normalize_score(score, vectors)
    return scores


def fuse_reciprocal_ranks(keyword: ChannelScores, dense: ChannelScores) -> dict[int, float]:
    """RRF with k = 60 (Cormack, Clarke, Büttcher 2009), scaled so that first in both channels is 1."""
    scores: dict[int, float] = {}
    for hits in (keyword, dense):
        for rank, passage in enumerate(hits, 1):
            scores[passage] = scores.get(passage, 0.0) + (RRF_K + 1) / (RRF_K + rank) / 2
    return scores


def sort_scores(scores: ChannelScores) -> list[tuple[int, float]]:
    """Best first, of equal ones the lower number first. Two sorts: a key made of both takes a call each time, and a
    search sorts its candidates five times."""
    return sorted(sorted(scores.items()), key=itemgetter(1), reverse=True)


def find_score_range(scores: ChannelScores) -> ScoreRange:
    """Lowest and highest score; zeros if there is none."""
    return (min(scores.values()), max(scores.values())) if scores else (0.0, 0.0)


def normalize_score(score: float, span: ScoreRange) -> float:
    """Best 1, worst a little above 0: the last of a list still beats what the channel did not find."""
    low, high = span
    return 0.01 + 0.99 * (score - low) / (high - low) if high > low else 1.0
