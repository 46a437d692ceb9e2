"""From ranked passages to ranked items, or to what items are part of. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from vaults.search.diversity import Dropped, spread
from vaults.search.passage_facts import Facts

GroupBy = Literal["item", "parent"]
Order: TypeAlias = Sequence[tuple[int, float]]

NEXT = 2
"""Passages beside the best that speak for an item."""


def rolled(order: Order, known: Mapping[int, Facts], by: GroupBy, share: float) -> list[tuple[int, float]]:
    """The best passage of each item, or parent, with the score of the whole: its best passage's, and a ``share`` of
    the next two's, because what speaks three times of a thing is rather about it. ``order``: best first."""
    items = _rolled(order, lambda passage: known[passage].item, share)
    if by == "item":
        return items
    return _rolled(items, lambda passage: whole(known[passage], by), share)


def whole(facts: Facts, by: GroupBy) -> Hashable:
    """What a passage is counted for: its item, or what that is part of."""
    return facts.parent or facts.item if by == "parent" else facts.item


@dataclass(slots=True)
class _Group:
    passage: int
    score: float
    spoken: int = 0


def _rolled(order: Order, of: Callable[[int], Hashable], share: float) -> list[tuple[int, float]]:
    groups: dict[Hashable, _Group] = {}
    for passage, score in order:
        group = groups.get(of(passage))
        if group is None:
            groups[of(passage)] = _Group(passage, score)
        elif group.spoken < NEXT:
            group.score += share * max(0.0, score)
            group.spoken += 1
    return sorted(((group.passage, group.score) for group in groups.values()), key=lambda pair: (-pair[1], pair[0]))


@dataclass(frozen=True, slots=True)
class Place:
    """Where the item (or parent) of a passage stands: ``rank`` from 1, ``score`` as ranked, ``best``: the passage that
    stands for it."""

    rank: int
    score: float
    best: int


def place_of(passage: int, items: Order, known: Mapping[int, Facts], by: GroupBy) -> Place | None:
    """The place of what a passage belongs to; None where that is not listed."""
    for rank, (best, score) in enumerate(items, 1):
        if whole(known[best], by) == whole(known[passage], by):
            return Place(rank, score, best)
    return None


def distinct(order: Order, known: Mapping[int, Facts]) -> tuple[list[tuple[int, float]], list[Dropped]]:
    """``order`` without items that repeat another's text, and those. The same words at two places of a conversation
    are two things said: only what stands alone can repeat."""
    return spread(order, lambda passage: known[passage].text_hash if known[passage].near is None else "")
