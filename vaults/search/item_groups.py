"""From ranked passages to ranked items, or to the parents of items. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from vaults.search.fusion import sort_scores
from vaults.search.passage_facts import PassageFacts
from vaults.search.repeats import DroppedResult, drop_repeats

GroupBy = Literal["item", "parent"]
PassageOrder: TypeAlias = Sequence[tuple[int, float]]

SUPPORTING_PASSAGES = 2
"""Passages after the best that add to an item's score."""


def group_passages(
    order: PassageOrder, known: Mapping[int, PassageFacts], by: GroupBy, share: float
) -> list[tuple[int, float]]:
    """The best passage of each item, or parent, with the score of the whole: its best passage's, and a ``share`` of
    the next two's, because what mentions a thing three times is more likely about it. ``order``: best first."""
    items = _group_by(order, [known[passage].item for passage, _ in order], share)
    if by == "item":
        return items
    return _group_by(items, [group_key(known[passage], by) for passage, _ in items], share)


def group_key(facts: PassageFacts, by: GroupBy) -> Hashable:
    """What a passage counts towards: its item, or the item's parent."""
    return facts.parent or facts.item if by == "parent" else facts.item


def _group_by(order: PassageOrder, keys: Sequence[Hashable], share: float) -> list[tuple[int, float]]:
    """``keys``: of each of ``order``, what it counts towards."""
    if len(set(keys)) == len(keys):
        return sort_scores(dict(order))
    best: dict[Hashable, int] = {}
    scores: dict[int, float] = {}
    spoken: dict[int, int] = {}
    for (passage, score), key in zip(order, keys, strict=True):
        first = best.setdefault(key, passage)
        if first == passage:
            scores[passage] = score
        elif (more := spoken.get(first, 0)) < SUPPORTING_PASSAGES:
            scores[first] += share * max(0.0, score)
            spoken[first] = more + 1
    return sort_scores(scores)


@dataclass(frozen=True, slots=True)
class GroupPlace:
    """Where the item (or parent) of a passage ranks: ``rank`` from 1, ``score`` as ranked, ``best``: the passage that
    represents it."""

    rank: int
    score: float
    best: int


def find_place(passage: int, items: PassageOrder, known: Mapping[int, PassageFacts], by: GroupBy) -> GroupPlace | None:
    """The place of the item (or parent) a passage belongs to; None if that is not listed."""
    for rank, (best, score) in enumerate(items, 1):
        if group_key(known[best], by) == group_key(known[passage], by):
            return GroupPlace(rank, score, best)
    return None


def drop_repeated_items(
    order: PassageOrder, known: Mapping[int, PassageFacts]
) -> tuple[list[tuple[int, float]], list[DroppedResult]]:
    """``order`` without items that repeat another's text, and those items. The same words at two places of a
    conversation were said twice: only what stands alone can repeat."""
    texts = [known[passage].text_hash if known[passage].near is None else "" for passage, _ in order]
    alone = list(filter(None, texts))
    if len(set(alone)) == len(alone):
        return list(order), []
    by_passage = dict(zip((passage for passage, _ in order), texts, strict=True))
    return drop_repeats(order, by_passage.__getitem__)
