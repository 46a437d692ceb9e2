"""How well a learned order does on questions it was not fitted on: a conversation is held out at a time, in every form
in which it is stored. It is fitted on one form alone: the others show what it is worth where turns are kept otherwise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from bench.quality.listwise_fit import JudgedList, fit_order
from bench.quality.own_scores import measure_question
from bench.quality.ranking_examples import DEPTH, RankingExample
from vaults.search import graph_lifts, learned_lifts, ranking
from vaults.search.lifts import Lift
from vaults.search.ranking_features import NAMES
from vaults.search.ranking_weights import RankingWeights
from vaults.settings import SearchSettings

RIDGE = 1e-3
"""What a weight costs by its square; 2e-3 and 3e-3 hardly differ."""

SETTINGS = SearchSettings()

Rows: TypeAlias = Mapping[str, list[Mapping[str, float]]]
"""The measures of each question, by set."""

FITTED = "locomo"
"""The set whose judgements are of turns, as memories."""

TURNS = (FITTED, "transcripts", "harvested")
"""The sets whose judgements are of turns, however they are stored."""


def fit_weights(
    examples: Iterable[RankingExample], without: Collection[str] = (), on: Collection[str] = (FITTED,)
) -> tuple[float, ...]:
    """A weight for each feature, in units of the joint score, whose own weight is 1; 0 for the groups left out. ``on``:
    the sets it is fitted on."""
    kept = [column for column, (group, _) in enumerate(NAMES) if group not in without]
    lists = [JudgedList(_columns(each, kept), each.answers) for each in examples if each.set in on]
    joint, *found = fit_order(lists, np.array([0.0, *[RIDGE] * len(kept)]))
    values = np.zeros(len(NAMES))
    values[kept] = np.array(found) / joint
    return tuple(values.round(4).tolist())


def _columns(example: RankingExample, kept: Sequence[int]) -> np.ndarray:
    joint = dict(example.ranking.order)
    features = example.features
    return np.column_stack([[joint[passage] for passage in features.passages], features.matrix[:, kept]])


def judge(example: RankingExample, weights: Sequence[float] | None, share: float | None = None) -> dict[str, float]:
    """The measures of a question as these weights order it; None: as it is without. ``share``: how far they count, if
    not as far as the candidates are turns."""
    found = example.ranking
    lifts: dict[str, Lift] = {}
    if weights is not None:
        told = RankingWeights(tuple(weights), {})
        counts = learned_lifts.share_of_turns(found) if share is None else share
        lifts = learned_lifts.lift_learned(example.features, found.facts, told, counts)
    order = _add(found.order, lifts.values())
    order = _add(order, [_lift_linked(example, order)])
    items = ranking.collapse_to_items(replace(found, order=order), example.asked, SETTINGS).items
    names = dict.fromkeys(name for passage, _ in items for name in example.names[passage])
    return measure_question(list(names)[:DEPTH], example.question.relevant)


def _add(order: Sequence[tuple[int, float]], lifts: Iterable[Lift]) -> list[tuple[int, float]]:
    scores = dict(order)
    for lift in lifts:
        for passage, more in lift.items():
            scores[passage] += more
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


def _lift_linked(example: RankingExample, order: Sequence[tuple[int, float]]) -> Lift:
    """What links add, as ``graph_lifts.lift_linked`` does, by what was read of each seed beforehand."""
    best: Lift = {}
    for item, score in graph_lifts.choose_seeds(example.ranking.facts, order).items():
        for passage, share in example.links.get(item, {}).items():
            best[passage] = max(best.get(passage, 0.0), SETTINGS.links * share * score)
    return best


def judge_all(examples: Sequence[RankingExample], weights: Sequence[float] | None) -> Rows:
    """The measures of every question, by set."""
    rows: dict[str, list[Mapping[str, float]]] = defaultdict(list)
    for each in examples:
        rows[each.set].append(judge(each, weights))
    return rows


def judge_held_out(examples: Sequence[RankingExample], without: Collection[str] = ()) -> Rows:
    """The measures of every question, by weights fitted without its conversation."""
    rows: dict[str, list[Mapping[str, float]]] = defaultdict(list)
    for fold in _list_folds(examples):
        weights = fit_weights((each for each in examples if each.fold != fold), without)
        for each in examples:
            if each.fold == fold:
                rows[each.set].append(judge(each, weights))
    return rows


def judge_set_left_out(examples: Sequence[RankingExample]) -> Rows:
    """The measures of every question, by weights fitted neither on its conversation nor on the form it is stored in: of
    texts that are no conversations by weights of conversations, as if those counted for them. Sets for which nothing
    is left to fit on are passed over."""
    rows: dict[str, list[Mapping[str, float]]] = defaultdict(list)
    there = list(dict.fromkeys(each.set for each in examples))
    for left_out in there:
        asked = [each for each in examples if each.set == left_out]
        on = [name for name in TURNS if name != left_out and name in there]
        for fold in _list_folds(asked) if on else ():
            weights = fit_weights((each for each in examples if each.fold != fold), on=on)
            share = None if left_out in (*TURNS, "sessions") else 1.0
            rows[left_out] += [judge(each, weights, share) for each in asked if each.fold == fold]
    return rows


def _list_folds(examples: Sequence[RankingExample]) -> list[str]:
    return sorted({each.fold for each in examples})


def mean_of(rows: Sequence[Mapping[str, float]], measure: str) -> float:
    """The mean of one measure."""
    return float(np.mean([row[measure] for row in rows]))
