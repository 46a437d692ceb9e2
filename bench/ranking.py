"""Measures of a ranked list, as ``score.py`` of the benchmark defines them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

DEPTHS = (5, 10, 20)
MEASURES = (*(f"R@{depth}" for depth in DEPTHS), "MRR")


def recall_at(ranked: Sequence[str], relevant: Collection[str], depth: int) -> float:
    """Share of the relevant documents among the first ``depth``."""
    return len(set(ranked[:depth]) & set(relevant)) / len(relevant)


def reciprocal_rank(ranked: Sequence[str], relevant: Collection[str]) -> float:
    """One over the place of the first relevant document; 0 when there is none."""
    return next((1 / place for place, name in enumerate(ranked, 1) if name in relevant), 0.0)


def score(runs: Mapping[str, Sequence[str]], relevant: Mapping[str, Collection[str]]) -> dict[str, float]:
    """Means over every judged query; one without an answer counts as 0."""
    sums = dict.fromkeys(MEASURES, 0.0)
    for query, wanted in relevant.items():
        ranked = runs.get(query, ())
        for depth in DEPTHS:
            sums[f"R@{depth}"] += recall_at(ranked, wanted, depth)
        sums["MRR"] += reciprocal_rank(ranked, wanted)
    return {name: total / len(relevant) for name, total in sums.items()}
