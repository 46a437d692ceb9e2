"""Figures of sets that need no ``score.py``: the same measures, and R@1, computed here."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bench import ranking
from bench.quality.queries import Ranked
from bench.quality.scores import RunScores
from bench.quality.sets import JudgedSet

RESAMPLED, FLIPPED, SEED = 2_000, 10_000, 7
COMPARED = ("R@10", "nDCG@10")

Rows = Mapping[str, np.ndarray]
"""Each measure of every question, in order."""


@dataclass(frozen=True, slots=True)
class OwnScorer:
    """As ``ScoreScript``, without its script and files; what was scored before is kept for comparisons."""

    kept: dict[tuple[str, str], Rows] = field(default_factory=dict)

    def score(self, judged: JudgedSet, run: str, ranked: Ranked, *, intervals: bool = False) -> RunScores:
        """Means over all questions, and where asked for 95 % intervals, bootstrapped."""
        rows = self.kept[judged.task.name, run] = _measure(judged, ranked)
        return RunScores(_means(rows), _intervals(rows) if intervals else {})

    def compare(self, judged: JudgedSet, run: str, ranked: Ranked, base: str) -> RunScores:
        """The same beside run ``base``, scored before; p by random flips of sign."""
        before = self.kept[judged.task.name, base]
        rows = self.kept[judged.task.name, run] = _measure(judged, ranked)
        p = {measure: _chance(rows[measure] - before[measure]) for measure in COMPARED}
        return RunScores(_means(rows), p=p)


def ndcg_at(ranked: Sequence[str], relevant: Collection[str], depth: int) -> float:
    """Relevant documents among the first ``depth``, each worth less the further down it stands, against the best."""
    gain = sum(1 / math.log2(place + 1) for place, name in enumerate(ranked[:depth], 1) if name in relevant)
    return gain / sum(1 / math.log2(place + 1) for place in range(1, min(depth, len(relevant)) + 1))


def _measure(judged: JudgedSet, ranked: Ranked) -> Rows:
    each = [measure_question(ranked.get(question.id, ()), question.relevant) for question in judged.questions]
    return {measure: np.array([row[measure] for row in each]) for measure in each[0]}


def measure_question(ranked: Sequence[str], relevant: Collection[str]) -> dict[str, float]:
    """Every measure of one question."""
    recall = {depth: ranking.recall_at(ranked, relevant, depth) for depth in (1, *ranking.DEPTHS)}
    return {
        **{f"R@{depth}": share for depth, share in recall.items()},
        "nDCG@10": ndcg_at(ranked, relevant, 10),
        "MRR": ranking.reciprocal_rank(ranked, relevant),
        "Any@10": float(recall[10] > 0),
        "All@10": float(recall[10] == 1),
    }


def _means(rows: Rows) -> dict[str, float]:
    return {measure: float(values.mean()) for measure, values in rows.items()}


def _intervals(rows: Rows) -> dict[str, tuple[float, float]]:
    count = len(next(iter(rows.values())))
    drawn = np.random.default_rng(SEED).integers(0, count, (RESAMPLED, count))
    found = {measure: np.quantile(values[drawn].mean(axis=1), (0.025, 0.975)) for measure, values in rows.items()}
    return {measure: (float(low), float(high)) for measure, (low, high) in found.items()}


def _chance(differences: np.ndarray) -> float:
    signs = np.random.default_rng(SEED).choice((-1.0, 1.0), (FLIPPED, len(differences)))
    as_far = np.abs(signs @ differences) >= abs(differences.sum()) - 1e-12
    return float((as_far.sum() + 1) / (FLIPPED + 1))
