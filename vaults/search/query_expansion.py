"""Query expansion: other wordings from an endpoint, and words of the first results. Off unless configured.

Both lift candidates and bring in further ones; neither lowers any. What the question itself found keeps its score, so
its own words go on dominating, and ``lifts`` says of each hit how much it owes to expansion.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vaults.db.connection import Database
from vaults.db.sql import Reader
from vaults.embed.service import EmbeddingService
from vaults.errors import EmbeddingUnavailable, Overloaded
from vaults.search import fusion, interpretation, ranking
from vaults.search.candidate_texts import read_texts
from vaults.search.candidates import NO_CANDIDATES, SearchCandidates, VectorQuery, find_by_meaning, find_by_word
from vaults.search.expansion_endpoint import ExpansionUnavailable, QueryExpander
from vaults.search.lifts import Lift
from vaults.search.query import parse_literal
from vaults.search.question import InterpretedQuestion, SearchMode, SearchQuestion, SearchRanking
from vaults.search.relevance_feedback import find_feedback_words
from vaults.search.smoothing import smooth_scores
from vaults.search.vocabulary import SHARE_CAP, Vocabulary
from vaults.settings import ExpansionSettings, SearchSettings

if TYPE_CHECKING:
    import numpy as np

    from vaults.index.joined_vectors import JoinedVectors
    from vaults.index.vector_index import VectorIndex

VARIANT_WEIGHT = 0.5
"""Weight of a variant's joint score; the question's own weighs 1."""

FEEDBACK_WEIGHT = 0.15
"""Weight of the keyword score with words of the first results. With 0.3, nDCG@10 falls on all five judged sets, by up
to 0.008; with 0.15 by 0.004 at most, while recall@10 rises on two sets and falls on two. Hence off by default."""

FEEDBACK_PASSAGES = 5
"""Top passages whose texts supply further words."""


@dataclass(frozen=True, slots=True)
class QueryVariant:
    """Another wording, interpreted, and its vector, if there is one."""

    meant: InterpretedQuestion
    vector: np.ndarray | None


@dataclass(frozen=True, slots=True)
class QueryVariants:
    """What the endpoint gave; ``warning``: why nothing, or less."""

    variants: tuple[QueryVariant, ...] = ()
    warning: str | None = None


NO_VARIANTS = QueryVariants()
"""No wordings: the endpoint was not asked."""


@dataclass(frozen=True, slots=True)
class QueryRephraser:
    """Fetches other wordings of a question and interprets them."""

    expander: QueryExpander
    db: Database
    vocabulary: Vocabulary
    embedder: EmbeddingService
    settings: SearchSettings

    def wanted(self, asked: SearchQuestion) -> bool:
        """Whether there is an endpoint, and a text to reword."""
        return self.expander.configured and asked.like is None

    async def of(self, text: str, mode: SearchMode) -> QueryVariants:
        """Wordings of ``text``, ready to be searched for. Failures cost the wordings, not the answer."""
        try:
            texts = await self.expander.variants(text)
        except ExpansionUnavailable as failure:
            return QueryVariants(warning=f"searched without other wordings: {failure.reason}")
        read = await self.db.read(lambda tx: [self._read(tx, each) for each in texts]) if texts else []
        if mode == "keyword":
            return QueryVariants(tuple(QueryVariant(meant, None) for meant in read))
        try:
            vectors = [await self.embedder.query(meant.embedded_text) for meant in read]
        except (EmbeddingUnavailable, Overloaded):
            # The question's own vector fails alike and says why.
            return QueryVariants(
                tuple(QueryVariant(meant, None) for meant in read), "other wordings: searched by keyword only"
            )
        return QueryVariants(tuple(map(QueryVariant, read, vectors)))

    def _read(self, tx: Reader, text: str) -> InterpretedQuestion:
        meant, _ = interpretation.interpret(self.vocabulary, tx, parse_literal(text), self.settings)
        return meant


@dataclass(frozen=True, slots=True)
class ExpansionScope:
    """Where to search, and how deep: the same as for the first search."""

    asked: SearchQuestion
    depth: int
    index: VectorIndex | JoinedVectors | None
    vocabulary: Vocabulary
    settings: SearchSettings


def expand_ranking(
    tx: Reader,
    found: SearchRanking,
    variants: tuple[QueryVariant, ...],
    expansion: ExpansionSettings,
    reach: ExpansionScope,
) -> SearchRanking:
    """``found`` with what other wordings, and then words of the first results, find."""
    if variants:
        found = _add_variants(tx, found, variants, reach)
    if expansion.feedback and found.mode != "semantic" and found.meant.query.match is not None:
        found = _add_feedback(tx, found, expansion.words, reach)
    return found


def _add_variants(
    tx: Reader, found: SearchRanking, variants: tuple[QueryVariant, ...], reach: ExpansionScope
) -> SearchRanking:
    for each in variants:
        words = NO_CANDIDATES if found.mode == "semantic" else _find_by_word(tx, each.meant, found, reach)
        meanings = _find_by_meaning(tx, each, found, reach)
        joint = ranking.fuse(words, meanings, found.mode, reach.settings)
        more = SearchCandidates(joint, words.facts | meanings.facts, full=False)
        found = _merge_candidates(found, "variants", more, VARIANT_WEIGHT, [each.meant.query.text])
    return ranking.apply_lifts(tx, found, reach.asked, reach.settings)


def _add_feedback(tx: Reader, found: SearchRanking, most: int, reach: ExpansionScope) -> SearchRanking:
    first = [passage for passage, _ in found.order[:FEEDBACK_PASSAGES]]
    found = replace(found, texts=read_texts(tx, first, found.texts))
    texts = [found.texts[passage].titled for passage in first]

    def rarity(word: str) -> float:
        share = reach.vocabulary.look(tx, [word], correct=False)[word].share
        # A word only in the caller's own private text is as rare as one that a single shared passage holds.
        return math.log(SHARE_CAP / (share or 1 / (reach.vocabulary.passages + 1)))

    query = found.meant.query
    added = find_feedback_words(query.terms, texts, rarity, most=most)
    if not added:
        return found
    wider = replace(found.meant, query=replace(query, terms=(*query.terms, *added)))
    more = _find_by_word(tx, wider, found, reach)
    spread = fusion.find_score_range(more.scores)
    more = replace(
        more, scores={passage: fusion.normalize_score(score, spread) for passage, score in more.scores.items()}
    )
    return ranking.apply_lifts(
        tx, _merge_candidates(found, "feedback", more, FEEDBACK_WEIGHT, added), reach.asked, reach.settings
    )


def _find_by_word(
    tx: Reader, meant: InterpretedQuestion, found: SearchRanking, reach: ExpansionScope
) -> SearchCandidates:
    """What operators of the question itself require, every wording must satisfy."""
    query = replace(meant.query, must=found.meant.query.must)
    return find_by_word(tx, query, reach.depth, reach.asked.only, reach.settings)


def _find_by_meaning(
    tx: Reader, variant: QueryVariant, found: SearchRanking, reach: ExpansionScope
) -> SearchCandidates:
    if variant.vector is None or reach.index is None:
        return NO_CANDIDATES
    sought = VectorQuery(variant.vector, reach.depth, reach.asked.only, found.meant.query.must, dict(found.facts))
    return smooth_scores(
        reach.index, variant.vector, find_by_meaning(tx, reach.index, sought), reach.settings.smoothing
    )


def _merge_candidates(
    found: SearchRanking, name: str, more: SearchCandidates, weight: float, expanded: Iterable[str]
) -> SearchRanking:
    lift: Lift = dict(found.lifts.get(name, {}))
    for passage, score in more.scores.items():
        lift[passage] = lift.get(passage, 0.0) + weight * score
    return replace(
        found,
        facts={**more.facts, **found.facts},
        fused={**dict.fromkeys(lift, 0.0), **found.fused},
        lifts={**found.lifts, name: lift},
        expanded=(*found.expanded, *expanded),
    )
