"""Rankings made by hand, for what orders them: texts, facts and joint scores, without a database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vaults.search.candidate_texts import CandidateText
from vaults.search.candidates import NO_CANDIDATES
from vaults.search.filters import SearchFilter
from vaults.search.passage_facts import PassageFacts
from vaults.search.query import parse_query
from vaults.search.question import InterpretedQuestion, SearchQuestion, SearchRanking
from vaults.search.ranking_features import CandidateFeatures, RankingEvidence, read_features

NOW = "2026-01-15T00:00:00.000Z"
NO_EVIDENCE = RankingEvidence({})


def about(number: int, **more: Any) -> PassageFacts:
    """A passage of a memory of the same number, unless said otherwise."""
    values: dict[str, Any] = {
        "item": ("memory", number), "traits": 0, "author": None, "entity": None, "thread": None, "parent": None,
        "at": NOW, "near": None, "titled": False, "text_hash": str(number),
    }  # fmt: skip
    return PassageFacts(**values | more)


def rank(question: str, facts: Sequence[PassageFacts], names: Sequence[str] = ()) -> SearchRanking:
    """A ranking of these passages, numbered from 1, each a little behind the one before."""
    known = dict(enumerate(facts, 1))
    joint = {number: 1.0 - number / 1000 for number in known}
    meant = InterpretedQuestion(parse_query(question), question, frozenset(names))
    return SearchRanking(
        meant, "hybrid", known, replace(NO_CANDIDATES, scores=joint), NO_CANDIDATES, joint, {}, list(joint.items()), []
    )


def read(
    question: str,
    texts: Sequence[str],
    *,
    evidence: RankingEvidence = NO_EVIDENCE,
    names: Sequence[str] = (),
    **facts: Sequence[Any],
) -> CandidateFeatures:
    """The features of texts; ``facts``: a column of ``PassageFacts`` each."""
    known = [
        about(number, **{name: values[number - 1] for name, values in facts.items()})
        for number in range(1, len(texts) + 1)
    ]
    asked = SearchQuestion(question, "hybrid", SearchFilter("ann", NOW), 10)
    told = {number: CandidateText("", text, "", "", "") for number, text in enumerate(texts, 1)}
    return read_features(replace(rank(question, known, names), texts=told), asked, evidence)


def column(features: CandidateFeatures, group: str, name: str) -> list[float]:
    """A column by its name."""
    found: np.ndarray = features.matrix[:, features.names.index((group, name))]
    return [float(value) for value in found]
