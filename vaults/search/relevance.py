"""How likely each hit is an answer: absolute, 0…1, comparable between questions and vaults.

A logistic model over the evidence of a hit, calibrated on judged questions asked of the vault that answers them and of
others that cannot (Platt, Probabilistic Outputs for Support Vector Machines, 1999). It changes no order: a score is
the best of a hit and those right below it, and never above that of the hit before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from vaults.db.sql import Reader
from vaults.search.candidate_texts import read_texts
from vaults.search.question import SearchQuestion, SearchRanking
from vaults.search.relevance_evidence import know_shelves, weigh_evidence
from vaults.search.relevance_scores import Relevance, RelevanceEvidence
from vaults.search.relevance_weights import RelevanceWeights

WINDOW = 5
"""Hits whose evidence counts for the first of them: the answer may stand second, and is then no less here."""


@dataclass(frozen=True, slots=True)
class RelevanceScale:
    """What evidence is weighed by: the weights, the name of the model the vectors are of, and the threshold."""

    weights: RelevanceWeights
    model: str | None
    likely: float


def judge_relevance(tx: Reader, ranking: SearchRanking, asked: SearchQuestion, scale: RelevanceScale) -> SearchRanking:
    """The ranking with the relevance of the hits that are wanted, and of those shown on the pages before."""
    if asked.like is not None:
        return replace(ranking, relevance=_as_alike(ranking))
    first = [passage for passage, _ in (*ranking.ahead, *ranking.items)]
    first = first[: len(ranking.ahead) + asked.limit + WINDOW]
    evidence: Mapping[int, RelevanceEvidence] = {}
    if first:
        texts = read_texts(tx, first, ranking.texts)
        meant = know_shelves(tx, ranking.meant, asked.only.kinds)
        evidence = weigh_evidence(ranking, meant, {passage: texts[passage] for passage in first if passage in texts})
    known = [passage for passage in first if passage in evidence]
    calibration = scale.weights.choose(scale.model, by_meaning=ranking.mode != "keyword")
    scores = lower_steadily([calibration.probability(evidence[passage]) for passage in known])
    settled = ranking.meant.query.must is not None or not calibration.fits
    judged = Relevance(dict(zip(known, scores, strict=True)), evidence, scale.likely, settled=settled)
    return replace(ranking, relevance=judged)


def _as_alike(ranking: SearchRanking) -> Relevance:
    """Of what is like an item: the cosine itself, where there are vectors."""
    alike = [ranking.meanings.scores.get(passage, 0.0) for passage, _ in ranking.items]
    falling = lower_steadily([max(0.0, min(1.0, score)) for score in alike], window=1)
    return Relevance(dict(zip((passage for passage, _ in ranking.items), falling, strict=True)))


def lower_steadily(found: Sequence[float], window: int = WINDOW) -> list[float]:
    """``found``, in the order of hits, as scores that never rise: the best of each and of those right below it, no
    higher than the score before."""
    scores: list[float] = []
    last = 1.0
    for place in range(len(found)):
        last = min(last, max(found[place : place + window]))
        scores.append(last)
    return scores
