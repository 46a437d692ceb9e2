"""From a question to ranked items: ``_search`` lists the stages, ``_rank_and_pick`` those that share one read.
What each does stands below, in the same order; each is timed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from vaults.db.sql import Reader
from vaults.embed.backend import ModelIdentity
from vaults.errors import EmbeddingUnavailable, Overloaded
from vaults.index import embeddings, model_choice
from vaults.index.joined_vectors import JoinedVectors
from vaults.index.shelves import DOCUMENTS, MAIN, shelves_of
from vaults.search import interpretation, query_expansion, ranking
from vaults.search.candidates import NO_CANDIDATES, SearchCandidates, VectorQuery, find_by_meaning
from vaults.search.facts_cache import FactsStamp
from vaults.search.fusion import find_score_range
from vaults.search.known_scripts import weigh_meaning
from vaults.search.query import parse_query
from vaults.search.query_expansion import ExpansionScope, QueryRephraser, QueryVariants
from vaults.search.question import LikedItem, SearchMode, SearchQuestion, SearchRanking
from vaults.search.ranking_cache import CachedRanking
from vaults.search.ranking_features import RankingEvidence
from vaults.search.relevance import RelevanceScale, judge_relevance
from vaults.search.relevance_weights import load_weights
from vaults.search.search_run import KeywordPass, ModelSwitched, SearchEngines, SearchRun
from vaults.search.smoothing import smooth_scores
from vaults.search.stage_timings import StageTimings
from vaults.search.time_limited import find_by_word_in_time

if TYPE_CHECKING:
    import numpy as np

    from vaults.index.vector_index import VectorIndex

T = TypeVar("T")

MAX_CANDIDATES = 4_000
"""Passages per channel at most, however few items they belong to."""

NO_VECTOR_WARNING = "the item that others should be like has no vector yet: these are found by its words"

RankingReader: TypeAlias = Callable[[Reader, SearchRanking], T]
"""Reads what the caller needs of a ranking, in the transaction that completes it."""


async def search(
    engines: SearchEngines, asked: SearchQuestion, pick: RankingReader[T], timings: StageTimings | None = None
) -> T:
    """The best items for a question, as ``pick`` reads them. Never fails for want of a model: it answers by keyword
    and says so. A repeated question with no commit in between costs one read; with ``timings`` it always runs anew.
    Raises ``ModelSwitched``."""
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
    words, found, picked = await _search(_begin(engines, asked, clock), pick)
    if not (found.provisional or asked.without):
        engines.rankings.keep(key, CachedRanking(words.version, found.trim_to(asked.limit), words.expires))
    return picked


async def _search(run: SearchRun, pick: RankingReader[T]) -> tuple[KeywordPass, SearchRanking, T]:
    """The stages in order. Search deeper while too few items are found, because many passages may belong to one."""
    run = await _find_by_word_and_embed(run)
    run = await _embed_as_read(run)
    run = await _fall_back_to_words(run)
    while True:
        found, picked = await _rank_and_pick(run, pick)
        if len(found.items) >= run.asked.limit or not found.full or run.depth >= MAX_CANDIDATES:
            return run.words, found, picked
        run = replace(run, depth=min(4 * run.depth, MAX_CANDIDATES))
        run = replace(run, words=await _find_by_word(run, run.mode))


async def _rank_and_pick(run: SearchRun, pick: RankingReader[T]) -> tuple[SearchRanking, T]:
    """The stages that follow, in one read and on one thread unless a cross-encoder reranks in between."""
    engines, model = run.engines, run.engines.embedder.identity
    index: VectorIndex | JoinedVectors | None = None
    if run.vector is not None and model is not None:
        index = await _open_vectors(run, model)

    def rank(tx: Reader) -> SearchRanking:
        if model_choice.read_serving(tx) != engines.model_name:
            raise ModelSwitched
        meanings = _find_by_meaning(tx, run, index)
        found = _fuse_and_lift(tx, run, meanings, index)
        return _expand(tx, run, index, found)

    def rank_and_pick(tx: Reader) -> tuple[SearchRanking, T]:
        found = _judge(tx, run, ranking.collapse_to_items(rank(tx), run.asked, engines.settings))
        with run.timings.stage("fetch"):
            return found, pick(tx, found)

    if not ranking.needs_rerank(engines.cross, run.asked):
        return await engines.db.read(rank_and_pick)
    found = await engines.db.read(rank)
    with run.timings.stage("rerank"):
        found = await ranking.apply_rerank(engines.db, engines.cross, found, engines.rerank.head)
    found = ranking.collapse_to_items(found, run.asked, engines.settings)

    def judge_and_pick(tx: Reader) -> tuple[SearchRanking, T]:
        judged = _judge(tx, run, found)
        return judged, pick(tx, judged)

    return await engines.db.read(judge_and_pick)


def _judge(tx: Reader, run: SearchRun, found: SearchRanking) -> SearchRanking:
    """How likely its first items are answers, absolutely."""
    engines, model = run.engines, run.engines.embedder.identity
    with run.timings.stage("rank"):
        threshold = engines.threshold.of(tx, engines.settings.likely, run.asked.only.now)
        scale = RelevanceScale(load_weights(), model.name if model else None, threshold.likely)
        return judge_relevance(tx, found, run.asked, scale)


async def _open_vectors(run: SearchRun, model: ModelIdentity) -> VectorIndex | JoinedVectors:
    """The vectors of the kinds that are asked for."""
    engines, last = run.engines, run.words.last_change
    projections = {MAIN: engines.projection, DOCUMENTS: engines.documents}
    parts = [await projections[shelf].current(model, last) for shelf in shelves_of(run.asked.only.kinds)]
    held = [part for part in parts if len(part)] or parts[:1]
    return held[0] if len(held) == 1 else JoinedVectors(held)


def _begin(engines: SearchEngines, asked: SearchQuestion, timings: StageTimings) -> SearchRun:
    """Interpret the question with the words already cached. The read that follows looks all of them up: if a new word
    changes what the model is given, the model is asked again, once in a vault's life."""
    wanted = asked.per_item * (asked.limit + len(asked.without))
    depth = max(engines.settings.candidates, wanted) * (2 if asked.group_by == "parent" else 1)
    query, vocabulary = parse_query(asked.text), engines.vocabulary
    known = vocabulary.known(interpretation.words_to_look_up(query))
    meant = interpretation.interpret_known(query, known, vocabulary.passages, engines.settings)
    unread = KeywordPass(
        version=0, found=NO_CANDIDATES, meant=meant, last_change=0, owed=False, late=None, expires=None
    )
    return SearchRun(
        engines=engines,
        asked=asked,
        timings=timings,
        query=query,
        embedded_text=meant.embedded_text,
        depth=min(depth, MAX_CANDIDATES),
        words=unread,
    )


async def _find_by_word_and_embed(run: SearchRun) -> SearchRun:
    """Find candidates by word while the question's vector is computed."""
    reading = asyncio.ensure_future(_find_by_word(run, run.asked.mode))
    try:
        run = await _embed_and_rephrase(run)
    finally:
        words = await reading
    return replace(run, words=words)


async def _embed_as_read(run: SearchRun) -> SearchRun:
    """Embed again where the vault's words change what the model is given."""
    text = run.words.meant.embedded_text
    return run if text == run.embedded_text else await _embed(replace(run, embedded_text=text))


async def _fall_back_to_words(run: SearchRun) -> SearchRun:
    """Without a vector, candidates by word are all there is."""
    return run if run.mode == run.asked.mode else replace(run, words=await _find_by_word(run, run.mode))


async def _find_by_word(run: SearchRun, mode: SearchMode) -> KeywordPass:
    engines, asked = run.engines, run.asked

    def read(tx: Reader) -> KeywordPass:
        meant, known = interpretation.interpret(engines.vocabulary, tx, run.query, engines.settings, asked.only.viewer)
        wanted = mode != "semantic"
        strict = meant.query.must is not None
        found, late = NO_CANDIDATES, None
        # In semantic mode operators still filter: one hit in the word index shows that something satisfies them.
        if wanted or strict:
            number = run.depth if wanted else 1
            found, late = find_by_word_in_time(tx, meant, known, number, asked.only, engines.settings)
        if strict and not found.scores and late is None:
            meant = interpretation.drop_operators(meant)
            found, late = find_by_word_in_time(tx, meant, known, run.depth, asked.only, engines.settings)
        return KeywordPass(
            version=tx.version(),
            found=found if wanted else NO_CANDIDATES,
            meant=meant,
            last_change=embeddings.last_change(tx),
            owed=embeddings.has_missing(tx, asked.only.viewer, shelves_of(asked.only.kinds)),
            late=late if wanted else None,
            expires=tx.value("SELECT MIN(expires_at) FROM memories WHERE expires_at > :now", {"now": asked.only.now}),
        )

    with run.timings.stage("lexical"):
        return await engines.db.read(read)


async def _embed_and_rephrase(run: SearchRun) -> SearchRun:
    """Add the question's vector and, at the same time, other wordings of it where an endpoint is configured."""
    engines, asked = run.engines, run.asked
    rephrasing = QueryRephraser(engines.expander, engines.db, engines.vocabulary, engines.embedder, engines.settings)
    if not rephrasing.wanted(asked):
        return await _embed(run)

    async def rephrase() -> QueryVariants:
        with run.timings.stage("expand"):
            return await rephrasing.of(asked.text, asked.mode)

    rephrased = asyncio.ensure_future(rephrase())
    try:
        run = await _embed(run)
        return replace(run, rephrased=await rephrased)
    finally:
        rephrased.cancel()


async def _embed(run: SearchRun) -> SearchRun:
    asked, embedder = run.asked, run.engines.embedder
    if (like := asked.like) is not None:
        model = embedder.identity
        vector = await run.engines.db.read(lambda tx: _read_liked(tx, like, model.key if model else ""))
        return replace(run, vector=vector, warning=NO_VECTOR_WARNING if vector is None else None)
    if asked.mode == "keyword" or not run.embedded_text.strip():
        return run
    try:
        with run.timings.stage("embed"):
            return replace(run, vector=await embedder.query(run.embedded_text), warning=None)
    except (EmbeddingUnavailable, Overloaded) as failure:
        return replace(run, warning=f"semantic search is unavailable ({failure.message}): these are keyword results")


def _read_liked(tx: Reader, like: LikedItem, model: str) -> np.ndarray | None:
    if like.sequence is None:
        return embeddings.mean_vector(tx, like.item, model)
    return embeddings.mean_vector_of_sequence(tx, like.sequence, model)


def _find_by_meaning(tx: Reader, run: SearchRun, index: VectorIndex | JoinedVectors | None) -> SearchCandidates:
    if index is None or run.vector is None:
        return NO_CANDIDATES
    words, settings = run.words, run.engines.settings
    with run.timings.stage("dense"):
        stamp = FactsStamp(words.version, words.expires)
        sought = VectorQuery(
            run.vector,
            run.depth,
            run.asked.only,
            words.meant.query.must,
            words.found.facts,
            read_facts=partial(run.engines.facts.read, stamp=stamp),
        )
        return smooth_scores(index, run.vector, find_by_meaning(tx, index, sought), settings.smoothing)


def _fuse_and_lift(
    tx: Reader, run: SearchRun, meanings: SearchCandidates, index: VectorIndex | JoinedVectors | None
) -> SearchRanking:
    words, settings, model = run.words.found, run.engines.settings, run.engines.embedder.identity
    with run.timings.stage("rank"):
        found = SearchRanking(
            meant=run.words.meant,
            mode=run.mode,
            facts=words.facts | meanings.facts,
            words=words,
            meanings=meanings,
            fused=ranking.fuse(
                words, meanings, run.mode, weigh_meaning(settings, run.asked.text, model.name if model else None)
            ),
            lifts={},
            order=[],
            items=[],
            warnings=run.warnings,
            full=words.full or meanings.full,
            provisional=run.is_provisional,
            spans={"keyword": find_score_range(words.scores), "semantic": find_score_range(meanings.scores)},
            model=model.key if model else None,
        )
        known = run.engines.vocabulary.known(found.meant.query.terms)
        shares = {word: about.share for word, about in known.items()}
        return ranking.apply_lifts(tx, found, run.asked, settings, RankingEvidence(shares, run.vector, index))


def _expand(
    tx: Reader, run: SearchRun, index: VectorIndex | JoinedVectors | None, found: SearchRanking
) -> SearchRanking:
    """Add what other wordings find, and words of the first results."""
    expansion, variants = run.engines.expansion, run.rephrased.variants
    if not (variants or expansion.feedback):
        return found
    with run.timings.stage("expand"):
        reach = ExpansionScope(run.asked, run.depth, index, run.engines.vocabulary, run.engines.settings)
        return query_expansion.expand_ranking(tx, found, variants, expansion, reach)
