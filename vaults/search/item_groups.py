"""From ranked passages to ranked items, or to the parents of items. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

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
    items = _group_by(order, lambda passage: known[passage].item, share)
    if by == "item":
        return items
    return _group_by(items, lambda passage: group_key(known[passage], by), share)


def group_key(facts: PassageFacts, by: GroupBy) -> Hashable:
    """What a passage counts towards: its item, or the item's parent."""
    return facts.parent or facts.item if by == "parent" else facts.item


def _group_by(order: PassageOrder, of: Callable[[int], Hashable], share: float) -> list[tuple[int, float]]:
    best: dict[Hashable, int] = {}
    scores: dict[int, float] = {}
    spoken: dict[int, int] = {}
    for passage, score in order:
        first = best.setdefault(of(passage), passage)
        if first == passage:
            scores[passage] = score
        elif (more := spoken.get(first, 0)) < SUPPORTING_PASSAGES:
            scores[first] += share * max(0.0, score)
            spoken[first] = more + 1
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


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
    return drop_repeats(order, lambda passage: known[passage].text_hash if known[passage].near is None else "")
