"""A question, and what a search makes of it: values that pass from stage to stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from vaults.search.candidate_texts import CandidateTexts
from vaults.search.candidates import Scores, SearchCandidates
from vaults.search.filters import SearchFilter
from vaults.search.fusion import ScoreRange
from vaults.search.item_groups import GroupBy
from vaults.search.lifts import Lift
from vaults.search.passage_facts import ItemKey, PassageFacts
from vaults.search.query import Query
from vaults.search.relevance_scores import NOT_JUDGED, Relevance
from vaults.search.repeats import DroppedResult

SearchMode = Literal["hybrid", "keyword", "semantic"]
RerankMode = Literal["auto", "on", "off"]


@dataclass(frozen=True, slots=True)
class LikedItem:
    """What others should be like: an item, of ``parent`` if it is part of a document; with ``sequence`` all items of
    that document, whose passages stand in it."""

    item: ItemKey
    parent: str | None = None
    sequence: str | None = None

    def excludes(self, facts: PassageFacts, by: GroupBy) -> bool:
        """Whether a passage is part of it: where parents are looked for, of its document."""
        whole = self.parent is not None and (self.sequence is not None or by == "parent")
        return facts.parent == self.parent if whole else facts.item == self.item


@dataclass(frozen=True, slots=True)
class SearchQuestion:
    """What to look for."""

    text: str
    mode: SearchMode
    only: SearchFilter
    limit: int  # items wanted
    group_by: GroupBy = "item"
    rerank: RerankMode = "auto"
    recent: bool = False  # recent events count for more
    like: LikedItem | None = None  # search for this item's meaning instead of the text's
    without: frozenset[ItemKey] = frozenset()  # items already shown
    per_item: int = 5
    """Candidates per channel for each item wanted: with fewer, what the channels disagree on is missed at the end."""


@dataclass(frozen=True, slots=True)
class InterpretedQuestion:
    """A question as read with the vault's vocabulary."""

    query: Query
    embedded_text: str
    names: frozenset[str] = frozenset()  # people and things it names
    common: tuple[str, ...] = ()  # words not searched for, because much of a big vault holds them
    passages: int = 0  # shared passages of the vault
    shares: Mapping[str, float] = field(default_factory=dict)  # of words: the share of passages that hold one, 0…1
    slips: Mapping[str, str] = field(default_factory=dict)  # misspelled words and those they were taken for


@dataclass(frozen=True, slots=True)
class SearchRanking:
    """Everything a search found, and why in this order."""

    meant: InterpretedQuestion
    mode: SearchMode  # what could really be done
    facts: Mapping[int, PassageFacts]
    words: SearchCandidates
    meanings: SearchCandidates
    fused: Scores  # joint scores before ``lifts``
    lifts: Mapping[str, Lift]
    order: list[tuple[int, float]]  # passages after ``lifts``, best first
    items: list[tuple[int, float]]  # best passage and score of each item (or parent), best first, without ``repeats``
    repeats: list[DroppedResult] = field(default_factory=list)
    opinions: Mapping[int, float] = field(default_factory=dict)  # the cross-encoder's scores
    expanded: tuple[str, ...] = ()  # other wordings, then words of the first results; their share is in ``lifts``
    warnings: tuple[str, ...] = ()
    full: bool = False  # a channel gave as many as it was asked for
    provisional: bool = False  # something was unavailable that may be back in a moment
    spans: Mapping[str, ScoreRange] = field(default_factory=dict)
    model: str | None = None  # key of the model it was found with by meaning
    top: float = 1.0  # divisor that brings scores into 0…1, the same on every page
    ahead: list[tuple[int, float]] = field(default_factory=list)  # as ``items``: those shown on pages before
    relevance: Relevance = NOT_JUDGED
    texts: CandidateTexts = field(default_factory=dict)  # what was read of candidates so far

    def trim_to(self, items: int) -> SearchRanking:
        """What is needed to show the first ``items`` again: their scores and facts, and how many more there are."""
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
            texts={},
        )
