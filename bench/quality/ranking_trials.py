"""How well a learned order does on questions it was not fitted on: a conversation, a fifth of a set, or a whole set is
held out at a time, in every form in which it is stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from bench.quality.listwise_fit import JudgedList, fit_order
from bench.quality.own_scores import measure_question
from bench.quality.ranking_examples import DEPTH, RankingExample, drop_links
from vaults.search import learned_lifts, ranking
from vaults.search.ranking_features import NAMES
from vaults.search.ranking_weights import RankingWeights
from vaults.settings import SearchSettings

RIDGE = 2e-3
"""What a weight costs by its square; of 1e-3, 2e-3, 3e-3 and 1e-2, which hardly differ, the middle."""

SETTINGS = SearchSettings()

Rows: TypeAlias = Mapping[str, list[Mapping[str, float]]]
"""The measures of each question, by set."""

Part: TypeAlias = tuple[str, str]
"""What is held out together: a family of sets over the same questions, and one of its folds."""


def fit_weights(examples: Sequence[RankingExample], without: Collection[str] = ()) -> tuple[float, ...]:
    """A weight for each feature, in units of the joint score, by which the joint score itself is 1. Each family of sets
    counts the same, and each form of it."""
    sets: dict[str, set[str]] = defaultdict(set)
    sizes: dict[str, int] = defaultdict(int)
    for each in examples:
        sets[family_of(each.set)].add(each.set)
        sizes[each.set] += 1
    kept = [column for column, (group, _) in enumerate(NAMES) if group not in without]
    lists = [
        JudgedList(_columns(each, kept), each.answers, 1 / sizes[each.set] / len(sets[family_of(each.set)]))
        for each in examples
    ]
    joint, *found = fit_order(lists, np.array([0.0, *[RIDGE] * len(kept)]))
    values = np.zeros(len(NAMES))
    values[kept] = np.array(found) / joint
    return tuple(values.round(4).tolist())


def _columns(example: RankingExample, kept: Sequence[int]) -> np.ndarray:
    joint = dict(drop_links(example.ranking).order)
    return np.column_stack(
        [[joint[passage] for passage in example.features.passages], example.features.matrix[:, kept]]
    )


def family_of(name: str) -> str:
    """The sets that ask the same questions."""
    if name in ("locomo", "sessions", "transcripts", "harvested", "pooled"):
        return "locomo"
    return name.partition("-")[0]


def judge(example: RankingExample, weights: Sequence[float] | None, without: Collection[str] = ()) -> dict[str, float]:
    """The measures of a question as these weights order it; None: as it is without."""
    found = example.ranking
    if weights is not None:
        lifts = learned_lifts.lift_learned(
            example.features, found.facts, RankingWeights(tuple(weights), {}), 1.0, without
        )
        scores = dict(found.order)
        for lift in lifts.values():
            for passage, more in lift.items():
                scores[passage] += more
        found = replace(found, order=sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))
    items = ranking.collapse_to_items(found, example.asked, SETTINGS).items
    names = dict.fromkeys(name for passage, _ in items for name in example.names[passage])
    return measure_question(list(names)[:DEPTH], example.question.relevant)


def judge_all(examples: Sequence[RankingExample], weights: Sequence[float] | None) -> Rows:
    """The measures of every question, by set."""
    rows: dict[str, list[Mapping[str, float]]] = defaultdict(list)
    for each in examples:
        rows[each.set].append(judge(each, weights))
    return rows


def judge_held_out(examples: Sequence[RankingExample], *, sets: bool, without: Collection[str] = ()) -> Rows:
    """The measures of every question, by weights fitted without its part; with ``sets`` without its whole family."""
    rows: dict[str, list[Mapping[str, float]]] = defaultdict(list)
    for held, rest in _split(examples, sets=sets):
        weights = fit_weights(rest, without)
        for each in held:
            rows[each.set].append(judge(each, weights))
    return rows


def _split(
    examples: Sequence[RankingExample], *, sets: bool
) -> Iterator[tuple[list[RankingExample], list[RankingExample]]]:
    def part(each: RankingExample) -> Part:
        return family_of(each.set), "" if sets else each.fold

    for one in sorted({part(each) for each in examples}):
        held = [each for each in examples if part(each) == one]
        rest = [each for each in examples if part(each) != one]
        if rest:
            yield held, rest


def mean_of(rows: Sequence[Mapping[str, float]], measure: str) -> float:
    """The mean of one measure."""
    return float(np.mean([row[measure] for row in rows]))
