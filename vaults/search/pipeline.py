"""From a question to ranked items. ``_search`` and ``_rank_candidates`` run the stages in order; each is timed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from vaults.db.connection import Database
from vaults.db.sql import Reader
from vaults.embed.cross_encoder import CrossEncoderService
from vaults.embed.service import EmbeddingService
from vaults.errors import EmbeddingUnavailable, Overloaded
from vaults.index import embeddings
from vaults.index.projection import Projection
from vaults.observer import Observer
from vaults.search import interpretation, query_expansion, ranking
from vaults.search.candidates import NO_CANDIDATES, SearchCandidates, VectorQuery, find_by_meaning
from vaults.search.expansion_endpoint import QueryExpander
from vaults.search.fusion import find_score_range
from vaults.search.query import Query, parse_query
from vaults.search.query_expansion import NO_VARIANTS, ExpansionScope, QueryRephraser, QueryVariants
from vaults.search.question import InterpretedQuestion, SearchMode, SearchQuestion, SearchRanking
from vaults.search.ranking_cache import CachedRanking, RankingCache
from vaults.search.smoothing import smooth_scores
from vaults.search.stage_timings import StageTimings
from vaults.search.time_limited import find_by_word_in_time
from vaults.search.vocabulary import Vocabulary
from vaults.settings import ExpansionSettings, RerankSettings, SearchSettings

if TYPE_CHECKING:
    import numpy as np

    from vaults.index.vector_index import VectorIndex

T = TypeVar("T")

MAX_CANDIDATES = 4_000
"""Passages per channel at most, however few items they belong to."""


@dataclass(frozen=True, slots=True)
class SearchEngines:
    """What a search runs on: one vault's database, vectors, words and rankings, the process's models and settings."""

    db: Database
    projection: Projection
    vocabulary: Vocabulary
    rankings: RankingCache
    embedder: EmbeddingService
    cross: CrossEncoderService
    expander: QueryExpander
    observer: Observer
    settings: SearchSettings
    rerank: RerankSettings
    expansion: ExpansionSettings


NO_VECTOR_WARNING = "the item that others should be like has no vector yet: these are found by its words"

RankingReader: TypeAlias = Callable[[Reader, SearchRanking], T]
"""Reads what the caller needs of a ranking, in the transaction that completes it."""


@dataclass(frozen=True, slots=True)
class _SearchRun:
    """A search under way."""

    engines: SearchEngines
    asked: SearchQuestion
    query: Query  # as typed
    meant: InterpretedQuestion  # as read with the vault's vocabulary
    timings: StageTimings
    vector: np.ndarray | None = None
    warning: str | None = None  # why there is no vector
    rephrased: QueryVariants = NO_VARIANTS

    @property
    def mode(self) -> SearchMode:
        return self.asked.mode if self.vector is not None else "keyword"


@dataclass(frozen=True, slots=True)
class _KeywordPass:
    """What one read of the database says before the vector search."""

    version: int  # ``Reader.version`` of the read
    found: SearchCandidates
    meant: InterpretedQuestion
    last_change: int  # number of the newest change of a vector
    owed: bool  # a passage that the viewer may see has no vector yet
    late: str | None  # warning: the time limit cut the search short
    expires: str | None  # when the next memory expires, in stored form


async def search(
    engines: SearchEngines, asked: SearchQuestion, pick: RankingReader[T], timings: StageTimings | None = None
) -> T:
    """The best items for a question, as ``pick`` reads them. Never fails for want of a model: it answers by keyword
    and says so. A repeated question with no commit in between costs one read; with ``timings`` it always runs anew."""
    clock = timings or StageTimings(engines.observer)
    key = (replace(asked, only=replace(asked.only, now="")), engines.embedder.identity, engines.cross.identity)
    cached = engines.rankings.get(key) if timings is None else None
    if cached is not None and (cached.until is None or asked.only.now < cached.until):
        with clock.stage("fetch"):
            again = await engines.db.read(
                lambda tx: (pick(tx, cached.ranking),) if tx.version() == cached.version else None
            )
        if again is not None:
            return again[0]
    words, found, picked = await _search(engines, asked, pick, clock)
    if not (found.provisional or asked.without):
        engines.rankings.keep(key, CachedRanking(words.version, found.trim_to(asked.limit), words.expires))
    return picked


async def _search(
    engines: SearchEngines, asked: SearchQuestion, pick: RankingReader[T], clock: StageTimings
) -> tuple[_KeywordPass, SearchRanking, T]:
    """Interpret the question, find candidates by word while its vector is computed, then by meaning, and rank. Search
    deeper while too few items are found, because many passages may belong to one."""
    depth = max(engines.settings.candidates, asked.per_item * (asked.limit + len(asked.without))) * (
        2 if asked.group_by == "parent" else 1
    )
    depth = min(depth, MAX_CANDIDATES)
    query = parse_query(asked.text)
    run = _SearchRun(engines, asked, query, _interpret_with_known(engines, query), clock)
    reading_words = asyncio.ensure_future(_search_by_word(run, asked.mode, depth))
    try:
        run = await _add_vector_and_variants(run)
    finally:
        words = await reading_words
    if words.meant.told != run.meant.told:
        run = await _add_vector(replace(run, meant=words.meant))
    if run.mode != asked.mode:
        words = await _search_by_word(run, run.mode, depth)
    while True:
        found, picked = await _complete(replace(run, meant=words.meant), words, depth, pick)
        if len(found.items) >= asked.limit or not found.full or depth >= MAX_CANDIDATES:
            return words, found, picked
        depth = min(4 * depth, MAX_CANDIDATES)
        words = await _search_by_word(run, run.mode, depth)


def _interpret_with_known(engines: SearchEngines, query: Query) -> InterpretedQuestion:
    """Interpret the question with the words already cached. The read that follows looks all of them up: if a new word
    changes what the model is given, the model is asked again, once in a vault's life."""
    vocabulary = engines.vocabulary
    return interpretation.interpret_known(
        query, vocabulary.known(interpretation.words_to_look_up(query)), vocabulary.passages, engines.settings
    )


async def _search_by_word(run: _SearchRun, mode: SearchMode, depth: int) -> _KeywordPass:
    engines, asked = run.engines, run.asked

    def read(tx: Reader) -> _KeywordPass:
        meant, known = interpretation.interpret(engines.vocabulary, tx, run.query, engines.settings, asked.only.viewer)
        wanted = mode != "semantic"
        strict = meant.query.must is not None
        found, late = NO_CANDIDATES, None
        # In semantic mode operators still filter: one hit in the word index shows that something satisfies them.
        if wanted or strict:
            number = depth if wanted else 1
            found, late = find_by_word_in_time(tx, meant, known, number, asked.only, engines.settings)
        if strict and not found.scores and late is None:
            meant = interpretation.drop_operators(meant)
            found, late = find_by_word_in_time(tx, meant, known, depth, asked.only, engines.settings)
        found = found if wanted else NO_CANDIDATES
        owed = embeddings.has_missing(tx, asked.only.viewer)
        expires = tx.value("SELECT MIN(expires_at) FROM memories WHERE expires_at > ?", (asked.only.now,))
        return _KeywordPass(
            tx.version(), found, meant, embeddings.last_change(tx), owed, late if wanted else None, expires
        )

    with run.timings.stage("lexical"):
        return await engines.db.read(read)


async def _add_vector_and_variants(run: _SearchRun) -> _SearchRun:
    """Add the question's vector and, at the same time, other wordings of it where an endpoint is configured."""
    engines, asked = run.engines, run.asked
    rephrasing = QueryRephraser(engines.expander, engines.db, engines.vocabulary, engines.embedder, engines.settings)
    if not rephrasing.wanted(asked):
        return await _add_vector(run)

    async def rephrase() -> QueryVariants:
        with run.timings.stage("expand"):
            return await rephrasing.of(asked.text, asked.mode)

    rephrased = asyncio.ensure_future(rephrase())
    try:
        run = await _add_vector(run)
        return replace(run, rephrased=await rephrased)
    finally:
        rephrased.cancel()


async def _add_vector(run: _SearchRun) -> _SearchRun:
    asked = run.asked
    if asked.like is not None:
        like = asked.like
        model = run.engines.embedder.identity
        vector = await run.engines.db.read(lambda tx: embeddings.mean_vector(tx, like, model.key if model else ""))
        return replace(run, vector=vector, warning=NO_VECTOR_WARNING if vector is None else None)
    if asked.mode == "keyword" or not run.meant.told.strip():
        return run
    try:
        with run.timings.stage("embed"):
            return replace(run, vector=await run.engines.embedder.query(run.meant.told), warning=None)
    except (EmbeddingUnavailable, Overloaded) as failure:
        return replace(run, warning=f"semantic search is unavailable ({failure.message}): these are keyword results")


async def _complete(
    run: _SearchRun, words: _KeywordPass, depth: int, pick: RankingReader[T]
) -> tuple[SearchRanking, T]:
    """Search by meaning, rank, and pick: in one read, on one thread, unless a cross-encoder reranks in between."""
    engines, model, index = run.engines, run.engines.embedder.identity, None
    if run.vector is not None and model is not None:
        index = await engines.projection.current(model, words.last_change)

    def read(tx: Reader) -> SearchRanking:
        return _rank_candidates(tx, run, words, index, depth)

    if not ranking.needs_rerank(engines.cross, run.asked):

        def read_and_pick(tx: Reader) -> tuple[SearchRanking, T]:
            found = ranking.collapse_to_items(read(tx), run.asked, engines.settings)
            with run.timings.stage("fetch"):
                return found, pick(tx, found)

        return await engines.db.read(read_and_pick)
    first = await engines.db.read(read)
    with run.timings.stage("rerank"):
        reranked = await ranking.apply_rerank(engines.db, engines.cross, first, engines.rerank.head)
    found = ranking.collapse_to_items(reranked, run.asked, engines.settings)
    return found, await engines.db.read(lambda tx: pick(tx, found))


def _rank_candidates(
    tx: Reader, run: _SearchRun, words: _KeywordPass, index: VectorIndex | None, depth: int
) -> SearchRanking:
    """Fuse the candidates of both channels, apply the lifts, and add what query expansion finds."""
    settings, meanings, vector = run.engines.settings, NO_CANDIDATES, run.vector
    if index is not None and vector is not None:
        with run.timings.stage("dense"):
            sought = VectorQuery(vector, depth, run.asked.only, words.meant.query.must, words.found.facts)
            meanings = smooth_scores(index, vector, find_by_meaning(tx, index, sought), settings.smoothing)
    with run.timings.stage("rank"):
        joint = ranking.fuse(words.found, meanings, run.mode, settings)
        found = SearchRanking(
            meant=words.meant,
            mode=run.mode,
            facts=words.found.facts | meanings.facts,
            words=words.found,
            meanings=meanings,
            fused=joint,
            lifts={},
            order=[],
            items=[],
            warnings=_collect_warnings(run, words),
            full=words.found.full or meanings.full,
            provisional=_is_provisional(run, words),
            spans={"keyword": find_score_range(words.found.scores), "semantic": find_score_range(meanings.scores)},
        )
        found = ranking.apply_lifts(tx, found, run.asked, settings)
    expansion, variants = run.engines.expansion, run.rephrased.variants
    if not (variants or expansion.feedback):
        return found
    with run.timings.stage("expand"):
        reach = ExpansionScope(run.asked, depth, index, run.engines.vocabulary, settings)
        return query_expansion.expand_ranking(tx, found, variants, expansion, reach)


def _is_provisional(run: _SearchRun, words: _KeywordPass) -> bool:
    """Whether asking again may give a better answer even if nothing is committed in between."""
    warnings = (run.warning, run.rephrased.warning, words.late)
    return any(warning is not None for warning in warnings) or (words.owed and run.vector is not None)


def _collect_warnings(run: _SearchRun, words: _KeywordPass) -> tuple[str, ...]:
    warnings = [*words.meant.query.warnings]
    if words.meant.common:
        warnings.append(f"too common here to be searched for: {', '.join(words.meant.common)}")
    if run.rephrased.warning is not None:
        warnings.append(run.rephrased.warning)
    if words.late is not None:
        warnings.append(words.late)
    if run.warning is not None:
        warnings.append(run.warning)
    elif words.owed and run.vector is not None:
        warnings.append("some texts have no vector yet: those are found by keyword only")
    return tuple(warnings)
