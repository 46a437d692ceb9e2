"""Searching for more than was asked: wordings from an endpoint, words of the first results. Off unless set up.

Both lift candidates and bring in further ones; neither lowers any. What the question itself found keeps its score, so
its own words go on dominating, and ``lifts`` says of each hit how much it owes to them.
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
from vaults.search.candidates import NOTHING, Found, Sought, by_meaning, by_word
from vaults.search.expansion_endpoint import Expander, ExpansionUnavailable
from vaults.search.lifts import Lift
from vaults.search.query import literal
from vaults.search.question import Meant, Mode, Question, Ranking
from vaults.search.relevance_feedback import feedback
from vaults.search.smoothing import smoothed
from vaults.search.vocabulary import SHARE_CAP, Vocabulary
from vaults.settings import ExpansionSettings, SearchSettings

if TYPE_CHECKING:
    import numpy as np

    from vaults.index.vector_index import VectorIndex

VARIANT = 0.5
"""What a variant's joint score counts, the question's own counting 1."""

FEEDBACK = 0.15
"""What the keyword score with words of the first results counts. With 0.3 nDCG@10 falls on all five judged sets, by up
to 0.008; with this by 0.004 at most, for more found in ten on two of them and less on two. Hence off by default."""

FIRST = 5
"""Passages whose texts give further words."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Another wording as it was read, and its vector, where there is one."""

    meant: Meant
    vector: np.ndarray | None


@dataclass(frozen=True, slots=True)
class Rephrased:
    """What the endpoint gave; ``warning``: why nothing, or less."""

    variants: tuple[Variant, ...] = ()
    warning: str | None = None


UNASKED = Rephrased()
"""No wordings: nobody was asked."""


@dataclass(frozen=True, slots=True)
class Rephrasing:
    """What other wordings are got and read with."""

    expander: Expander
    db: Database
    vocabulary: Vocabulary
    embedder: EmbeddingService
    settings: SearchSettings

    def wanted(self, asked: Question) -> bool:
        """Whether there is anybody to ask about this question."""
        return self.expander.configured and asked.like is None

    async def of(self, text: str, mode: Mode) -> Rephrased:
        """Wordings of ``text``, ready to be searched for. Failures cost the wordings, not the answer."""
        try:
            texts = await self.expander.variants(text)
        except ExpansionUnavailable as failure:
            return Rephrased(warning=f"searched without other wordings: {failure.reason}")
        read = await self.db.read(lambda tx: [self._read(tx, each) for each in texts]) if texts else []
        if mode == "keyword":
            return Rephrased(tuple(Variant(meant, None) for meant in read))
        try:
            vectors = [await self.embedder.query(meant.told) for meant in read]
        except (EmbeddingUnavailable, Overloaded):
            # The question's own vector fails alike and says why.
            return Rephrased(tuple(Variant(meant, None) for meant in read), "other wordings: searched by keyword only")
        return Rephrased(tuple(map(Variant, read, vectors)))

    def _read(self, tx: Reader, text: str) -> Meant:
        meant, _ = interpretation.look(self.vocabulary, tx, literal(text), self.settings)
        return meant


@dataclass(frozen=True, slots=True)
class Reach:
    """Where to look, and how far: what the first search had too."""

    asked: Question
    depth: int
    index: VectorIndex | None
    vocabulary: Vocabulary
    settings: SearchSettings


def widened(
    tx: Reader, found: Ranking, variants: tuple[Variant, ...], expansion: ExpansionSettings, reach: Reach
) -> Ranking:
    """``found`` with what other wordings, and then words of the first results, find."""
    if variants:
        found = _with_variants(tx, found, variants, reach)
    if expansion.feedback and found.mode != "semantic" and found.meant.query.match is not None:
        found = _with_feedback(tx, found, expansion.words, reach)
    return found


def _with_variants(tx: Reader, found: Ranking, variants: tuple[Variant, ...], reach: Reach) -> Ranking:
    for each in variants:
        words = NOTHING if found.mode == "semantic" else _by_word(tx, each.meant, found, reach)
        meanings = _by_meaning(tx, each, found, reach)
        joint = ranking.fused(words, meanings, found.mode, reach.settings)
        more = Found(joint, words.facts | meanings.facts, full=False)
        found = _lifted(found, "variants", more, VARIANT, [each.meant.query.text])
    return ranking.lifted(tx, found, reach.asked, reach.settings)


def _with_feedback(tx: Reader, found: Ranking, most: int, reach: Reach) -> Ranking:
    first = [passage for passage, _ in found.order[:FIRST]]
    texts = ranking.texts(tx, first)

    def rarity(word: str) -> float:
        share = reach.vocabulary.look(tx, [word], correct=False)[word].share
        # What stands in the caller's own private text alone is as rare as what one shared passage holds.
        return math.log(SHARE_CAP / (share or 1 / (reach.vocabulary.passages + 1)))

    query = found.meant.query
    added = feedback(query.terms, [texts[passage] for passage in first], rarity, most=most)
    if not added:
        return found
    wider = replace(found.meant, query=replace(query, terms=(*query.terms, *added)))
    more = _by_word(tx, wider, found, reach)
    spread = fusion.span_of(more.scores)
    more = replace(more, scores={passage: fusion.placed(score, spread) for passage, score in more.scores.items()})
    return ranking.lifted(tx, _lifted(found, "feedback", more, FEEDBACK, added), reach.asked, reach.settings)


def _by_word(tx: Reader, meant: Meant, found: Ranking, reach: Reach) -> Found:
    """What operators of the question itself require is required of every wording."""
    query = replace(meant.query, must=found.meant.query.must)
    return by_word(tx, query, reach.depth, reach.asked.only, reach.settings)


def _by_meaning(tx: Reader, variant: Variant, found: Ranking, reach: Reach) -> Found:
    if variant.vector is None or reach.index is None:
        return NOTHING
    sought = Sought(variant.vector, reach.depth, reach.asked.only, found.meant.query.must, dict(found.facts))
    return smoothed(reach.index, variant.vector, by_meaning(tx, reach.index, sought), reach.settings.smoothing)


def _lifted(found: Ranking, name: str, more: Found, weight: float, expanded: Iterable[str]) -> Ranking:
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
