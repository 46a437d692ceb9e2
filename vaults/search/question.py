"""A question, and what a search makes of it: values that pass from stage to stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from vaults.search.candidates import Scores, SearchCandidates
from vaults.search.diversity import DroppedResult
from vaults.search.filters import SearchFilter
from vaults.search.fusion import ScoreRange
from vaults.search.item_groups import GroupBy
from vaults.search.lifts import Lift
from vaults.search.passage_facts import ItemKey, PassageFacts
from vaults.search.query import Query

SearchMode = Literal["hybrid", "keyword", "semantic"]
RerankMode = Literal["auto", "on", "off"]


@dataclass(frozen=True, slots=True)
class SearchQuestion:
    """What to look for. ``limit``: items wanted. ``like``: an item whose meaning is looked for instead of the text's.
    ``recent``: what happened lately counts for more. ``without``: items that were shown already. ``per_item``:
    candidates of a channel for each item wanted: with fewer, what the channels disagree on is missed at the end."""

    text: str
    mode: SearchMode
    only: SearchFilter
    limit: int
    group_by: GroupBy = "item"
    rerank: RerankMode = "auto"
    recent: bool = False
    like: ItemKey | None = None
    without: frozenset[ItemKey] = frozenset()
    per_item: int = 5


@dataclass(frozen=True, slots=True)
class InterpretedQuestion:
    """A question as it was read: its terms, what goes to the model, and the names it speaks of. ``common``: words not
    searched for because most of a big vault holds them."""

    query: Query
    told: str
    names: frozenset[str] = frozenset()
    common: tuple[str, ...] = ()
    passages: int = 0


@dataclass(frozen=True, slots=True)
class SearchRanking:
    """Everything a search found, and why in this order. ``fused`` is the joint score before ``lifts``; ``order`` holds
    passages after them, best first; ``items`` the best passage of each item (or parent) with its score, best first,
    without the ``repeats``. ``expanded``: what was searched for beside the question, other wordings and then words of
    first results; what that added is in ``lifts``. ``mode`` is what could really be done. ``full``: a channel gave all
    it was asked for. ``provisional``: something was not to be had that may be back in a moment. ``top``: what scores
    are divided by to lie in 0…1, the same on every page."""

    meant: InterpretedQuestion
    mode: SearchMode
    facts: Mapping[int, PassageFacts]
    words: SearchCandidates
    meanings: SearchCandidates
    fused: Scores
    lifts: Mapping[str, Lift]
    order: list[tuple[int, float]]
    items: list[tuple[int, float]]
    repeats: list[DroppedResult] = field(default_factory=list)
    opinions: Mapping[int, float] = field(default_factory=dict)
    expanded: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    full: bool = False
    provisional: bool = False
    spans: Mapping[str, ScoreRange] = field(default_factory=dict)
    top: float = 1.0

    def trim_to(self, items: int) -> SearchRanking:
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
