"""Joining the two channels. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vaults.search.candidates import Scored

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


def dense_weight(mean_characters: float) -> float:
    """0.3 for conversation turns, 0.5 for encyclopaedic text, in between by passage length."""
    share = (mean_characters - SHORT) / (LONG - SHORT)
    return 0.3 + 0.2 * min(1.0, max(0.0, share))


def weighted(keyword: Sequence[Scored], dense: Sequence[Scored], weight: float) -> list[Fused]:
    """Min-max normalised scores, ``weight`` of them dense. A hit of one channel alone is never lost."""
    words, vectors = _normalised(keyword), _normalised(dense)
    if not words or not vectors:
        weight = 0.0 if words else 1.0
    scores = {
        passage: (1 - weight) * words.get(passage, 0.0) + weight * vectors.get(passage, 0.0)
        for passage in {**words, **vectors}
    }
    return _fused(keyword, dense, scores)


def reciprocal_rank(keyword: Sequence[Scored], dense: Sequence[Scored]) -> list[Fused]:
    """RRF with k = 60 (Cormack, Clarke, Büttcher 2009), scaled so that first in both channels is 1."""
    scores: dict[int, float] = {}
    for hits in (keyword, dense):
        for rank, hit in enumerate(hits, 1):
            scores[hit.passage] = scores.get(hit.passage, 0.0) + (RRF_K + 1) / (RRF_K + rank) / 2
    return _fused(keyword, dense, scores)


def _fused(keyword: Sequence[Scored], dense: Sequence[Scored], scores: dict[int, float]) -> list[Fused]:
    words = {hit.passage: hit for hit in keyword}
    vectors = {hit.passage: hit for hit in dense}
    fused = []
    for passage, score in scores.items():
        word, vector = words.get(passage), vectors.get(passage)
        item = (word or vectors[passage]).item
        said = (word.score if word else None, vector.score if vector else None)
        fused.append(Fused(passage, item, score, *said))
    return sorted(fused, key=lambda hit: (-hit.score, hit.passage))


def _normalised(hits: Sequence[Scored]) -> dict[int, float]:
    """Best 1, worst a little above 0: the last of a list still beats what the channel did not find."""
    if not hits:
        return {}
    low, high = min(hit.score for hit in hits), max(hit.score for hit in hits)
    if high == low:
        return {hit.passage: 1.0 for hit in hits}
    return {hit.passage: 0.01 + 0.99 * (hit.score - low) / (high - low) for hit in hits}
