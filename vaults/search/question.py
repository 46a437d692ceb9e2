"""A question, and what a search makes of it: values that pass from stage to stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from vaults.search.candidates import Found, Scores
from vaults.search.diversity import Dropped
from vaults.search.filters import Filter
from vaults.search.fusion import Span
from vaults.search.item_groups import GroupBy
from vaults.search.lifts import Lift
from vaults.search.passage_facts import Facts, Key
from vaults.search.query import Query

Mode = Literal["hybrid", "keyword", "semantic"]
Rerank = Literal["auto", "on", "off"]


@dataclass(frozen=True, slots=True)
class Question:
    """What to look for. ``limit``: items wanted. ``like``: an item whose meaning is looked for instead of the text's.
    ``recent``: what happened lately counts for more. ``without``: items that were shown already. ``per_item``:
    candidates of a channel for each item wanted: with fewer, what the channels disagree on is missed at the end."""

    text: str
    mode: Mode
    only: Filter
    limit: int
    group_by: GroupBy = "item"
    rerank: Rerank = "auto"
    recent: bool = False
    like: Key | None = None
    without: frozenset[Key] = frozenset()
    per_item: int = 5


@dataclass(frozen=True, slots=True)
class Meant:
    """A question as it was read: its terms, what goes to the model, and the names it speaks of. ``common``: words not
    searched for because most of a big vault holds them."""

    query: Query
    told: str
    names: frozenset[str] = frozenset()
    common: tuple[str, ...] = ()
    passages: int = 0


@dataclass(frozen=True, slots=True)
class Ranking:
    """Everything a search found, and why in this order. ``fused`` is the joint score before ``lifts``; ``order`` holds
    passages after them, best first; ``items`` the best passage of each item (or parent) with its score, best first,
    without the ``repeats``. ``expanded``: what was searched for beside the question, other wordings and then words of
    first results; what that added is in ``lifts``. ``mode`` is what could really be done. ``full``: a channel gave all
    it was asked for. ``provisional``: something was not to be had that may be back in a moment. ``top``: what scores
    are divided by to lie in 0…1, the same on every page."""

    meant: Meant
    mode: Mode
    facts: Mapping[int, Facts]
    words: Found
    meanings: Found
    fused: Scores
    lifts: Mapping[str, Lift]
    order: list[tuple[int, float]]
    items: list[tuple[int, float]]
    repeats: list[Dropped] = field(default_factory=list)
    opinions: Mapping[int, float] = field(default_factory=dict)
    expanded: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    full: bool = False
    provisional: bool = False
    spans: Mapping[str, Span] = field(default_factory=dict)
    top: float = 1.0

    def slim(self, items: int) -> Ranking:
        """What is needed to show the first ``items`` again: all that is said of them, and how many more there are."""
        shown = [passage for passage, _ in self.items[:items]]

        def part(scores: Mapping[int, float]) -> dict[int, float]:
            return {passage: scores[passage] for passage in shown if passage in scores}

        return replace(
            self,
            facts={passage: self.facts[passage] for passage in shown},
            words=replace(self.words, scores=part(self.words.scores), facts={}),
            meanings=replace(self.meanings, scores=part(self.meanings.scores), facts={}),
            fused=part(self.fused),
            lifts={name: part(lift) for name, lift in self.lifts.items()},
            opinions=part(self.opinions),
            order=[],
            repeats=[],
        )
