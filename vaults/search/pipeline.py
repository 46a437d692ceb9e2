"""From a question to ranked items. The stages stand in ``_search`` and ``_ranked``, in order, and each is timed."""

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
from vaults.search.candidates import NOTHING, Found, Sought, by_meaning
from vaults.search.expansion_endpoint import Expander
from vaults.search.fusion import span_of
from vaults.search.query import Query, parse
from vaults.search.query_expansion import UNASKED, Reach, Rephrased, Rephrasing
from vaults.search.question import Meant, Mode, Question, Ranking
from vaults.search.ranking_cache import Kept, Rankings
from vaults.search.smoothing import smoothed
from vaults.search.stage_timings import Timings
from vaults.search.time_limited import by_word_in_time
from vaults.search.vocabulary import Vocabulary
from vaults.settings import ExpansionSettings, RerankSettings, SearchSettings

if TYPE_CHECKING:
    import numpy as np

    from vaults.index.vector_index import VectorIndex

T = TypeVar("T")

DEEPEST = 4_000
"""Passages per channel at most, however few items they belong to."""


@dataclass(frozen=True, slots=True)
class Engines:
    """What a search runs on: one vault's database, vectors, words and rankings, the process's models and settings."""

    db: Database
    projection: Projection
    vocabulary: Vocabulary
    rankings: Rankings
    embedder: EmbeddingService
    cross: CrossEncoderService
    expander: Expander
    observer: Observer
    settings: SearchSettings
    rerank: RerankSettings
    expansion: ExpansionSettings


NO_LIKENESS = "the item that others should be like has no vector yet: these are found by its words"

Pick: TypeAlias = Callable[[Reader, Ranking], T]
"""Reads what is wanted of a ranking, in the transaction that completes it."""


@dataclass(frozen=True, slots=True)
class _Run:
    """A search under way: the question as typed and as it was read, its vector, or a word on why there is none, and
    other wordings."""

    engines: Engines
    asked: Question
    query: Query
    meant: Meant
    timings: Timings
    vector: np.ndarray | None = None
    warning: str | None = None
    rephrased: Rephrased = UNASKED

    @property
    def mode(self) -> Mode:
        return self.asked.mode if self.vector is not None else "keyword"


@dataclass(frozen=True, slots=True)
class _Words:
    """What one read of the database says before vectors are asked."""

    version: int
    found: Found
    meant: Meant
    last_change: int
    owed: bool
    late: str | None
    expires: str | None


async def search(engines: Engines, asked: Question, pick: Pick[T], timings: Timings | None = None) -> T:
    """The best items for a question, as ``pick`` reads them. Never fails for want of a model: it answers by keyword
    and says so. The same question again, with nothing committed in between, costs one read; with ``timings`` it is run
    anew."""
    clock = timings or Timings(engines.observer)
    key = (replace(asked, only=replace(asked.only, now="")), engines.embedder.identity, engines.cross.identity)
    kept = engines.rankings.get(key) if timings is None else None
    if kept is not None and (kept.until is None or asked.only.now < kept.until):
        with clock.stage("fetch"):
            again = await engines.db.read(
                lambda tx: (pick(tx, kept.ranking),) if tx.version() == kept.version else None
            )
        if again is not None:
            return again[0]
    words, found, picked = await _search(engines, asked, pick, clock)
    if not (found.provisional or asked.without):
        engines.rankings.keep(key, Kept(words.version, found.slim(asked.limit), words.expires))
    return picked


async def _search(engines: Engines, asked: Question, pick: Pick[T], clock: Timings) -> tuple[_Words, Ranking, T]:
    """Read the question, find candidates by word and by meaning side by side, rank; deeper while too few items were
    found, because many passages may belong to one."""
    depth = max(engines.settings.candidates, asked.per_item * (asked.limit + len(asked.without))) * (
        2 if asked.group_by == "parent" else 1
    )
    depth = min(depth, DEEPEST)
    query = parse(asked.text)
    run = _Run(engines, asked, query, _meant(engines, query), clock)
    reading_words = asyncio.ensure_future(_by_word(run, asked.mode, depth))
    try:
        run = await _asked(run)
    finally:
        words = await reading_words
    if words.meant.told != run.meant.told:
        run = await _embedded(replace(run, meant=words.meant))
    if run.mode != asked.mode:
        words = await _by_word(run, run.mode, depth)
    while True:
        found, picked = await _completed(replace(run, meant=words.meant), words, depth, pick)
        if len(found.items) >= asked.limit or not found.full or depth >= DEEPEST:
            return words, found, picked
        depth = min(4 * depth, DEEPEST)
        words = await _by_word(run, run.mode, depth)


def _meant(engines: Engines, query: Query) -> Meant:
    """The question as it is read with the words at hand. The read that follows looks all of them up: a word that is
    new and weighs differently has the model asked again, once in a vault's life."""
    vocabulary = engines.vocabulary
    return interpretation.meant(
        query, vocabulary.known(interpretation.words_of(query)), vocabulary.passages, engines.settings
    )


async def _by_word(run: _Run, mode: Mode, depth: int) -> _Words:
    engines, asked = run.engines, run.asked

    def read(tx: Reader) -> _Words:
        meant, known = interpretation.look(engines.vocabulary, tx, run.query, engines.settings, asked.only.viewer)
        wanted = mode != "semantic"
        strict = meant.query.must is not None
        found, late = NOTHING, None
        # By meaning alone, what operators require is a filter all the same: whether anything meets it says the index.
        if wanted or strict:
            number = depth if wanted else 1
            found, late = by_word_in_time(tx, meant, known, number, asked.only, engines.settings)
        if strict and not found.scores and late is None:
            meant = interpretation.loosened(meant)
            found, late = by_word_in_time(tx, meant, known, depth, asked.only, engines.settings)
        found = found if wanted else NOTHING
        owed = embeddings.owes(tx, asked.only.viewer)
        expires = tx.value("SELECT MIN(expires_at) FROM memories WHERE expires_at > ?", (asked.only.now,))
        return _Words(tx.version(), found, meant, embeddings.last_change(tx), owed, late if wanted else None, expires)

    with run.timings.stage("lexical"):
        return await engines.db.read(read)


async def _asked(run: _Run) -> _Run:
    """With the question's vector, and beside it, where that is set up, with other wordings of it."""
    engines, asked = run.engines, run.asked
    rephrasing = Rephrasing(engines.expander, engines.db, engines.vocabulary, engines.embedder, engines.settings)
    if not rephrasing.wanted(asked):
        return await _embedded(run)

    async def rephrase() -> Rephrased:
        with run.timings.stage("expand"):
            return await rephrasing.of(asked.text, asked.mode)

    rephrased = asyncio.ensure_future(rephrase())
    try:
        run = await _embedded(run)
        return replace(run, rephrased=await rephrased)
    finally:
        rephrased.cancel()


async def _embedded(run: _Run) -> _Run:
    asked = run.asked
    if asked.like is not None:
        like = asked.like
        model = run.engines.embedder.identity
        vector = await run.engines.db.read(lambda tx: embeddings.mean_of(tx, like, model.key if model else ""))
        return replace(run, vector=vector, warning=NO_LIKENESS if vector is None else None)
    if asked.mode == "keyword" or not run.meant.told.strip():
        return run
    try:
        with run.timings.stage("embed"):
            return replace(run, vector=await run.engines.embedder.query(run.meant.told), warning=None)
    except (EmbeddingUnavailable, Overloaded) as failure:
        return replace(run, warning=f"semantic search is unavailable ({failure.message}): these are keyword results")


async def _completed(run: _Run, words: _Words, depth: int, pick: Pick[T]) -> tuple[Ranking, T]:
    """Search by meaning, rank, and pick: in one read, on one thread, unless a cross-encoder is asked in between."""
    engines, model, index = run.engines, run.engines.embedder.identity, None
    if run.vector is not None and model is not None:
        index = await engines.projection.current(model, words.last_change)

    def read(tx: Reader) -> Ranking:
        return _ranked(tx, run, words, index, depth)

    if not ranking.wants_rerank(engines.cross, run.asked):

        def read_and_pick(tx: Reader) -> tuple[Ranking, T]:
            found = ranking.settled(read(tx), run.asked, engines.settings)
            with run.timings.stage("fetch"):
                return found, pick(tx, found)

        return await engines.db.read(read_and_pick)
    first = await engines.db.read(read)
    with run.timings.stage("rerank"):
        reranked = await ranking.reranked(engines.db, engines.cross, first, engines.rerank.head)
    found = ranking.settled(reranked, run.asked, engines.settings)
    return found, await engines.db.read(lambda tx: pick(tx, found))


def _ranked(tx: Reader, run: _Run, words: _Words, index: VectorIndex | None, depth: int) -> Ranking:
    """Candidates of both channels, their joint scores, what lifts them, and what a wider search adds."""
    settings, meanings, vector = run.engines.settings, NOTHING, run.vector
    if index is not None and vector is not None:
        with run.timings.stage("dense"):
            sought = Sought(vector, depth, run.asked.only, words.meant.query.must, words.found.facts)
            meanings = smoothed(index, vector, by_meaning(tx, index, sought), settings.smoothing)
    with run.timings.stage("rank"):
        joint = ranking.fused(words.found, meanings, run.mode, settings)
        found = Ranking(
            meant=words.meant,
            mode=run.mode,
            facts=words.found.facts | meanings.facts,
            words=words.found,
            meanings=meanings,
            fused=joint,
            lifts={},
            order=[],
            items=[],
            warnings=_warnings(run, words),
            full=words.found.full or meanings.full,
            provisional=_is_provisional(run, words),
            spans={"keyword": span_of(words.found.scores), "semantic": span_of(meanings.scores)},
        )
        found = ranking.lifted(tx, found, run.asked, settings)
    expansion, variants = run.engines.expansion, run.rephrased.variants
    if not (variants or expansion.feedback):
        return found
    with run.timings.stage("expand"):
        reach = Reach(run.asked, depth, index, run.engines.vocabulary, settings)
        return query_expansion.widened(tx, found, variants, expansion, reach)


def _is_provisional(run: _Run, words: _Words) -> bool:
    """Whether the same question may be answered better although nothing was committed."""
    missing = (run.warning, run.rephrased.warning, words.late)
    return any(said is not None for said in missing) or (words.owed and run.vector is not None)


def _warnings(run: _Run, words: _Words) -> tuple[str, ...]:
    said = [*words.meant.query.warnings]
    if words.meant.common:
        said.append(f"too common here to be searched for: {', '.join(words.meant.common)}")
    if run.rephrased.warning is not None:
        said.append(run.rephrased.warning)
    if words.late is not None:
        said.append(words.late)
    if run.warning is not None:
        said.append(run.warning)
    elif words.owed and run.vector is not None:
        said.append("some texts have no vector yet: those are found by keyword only")
    return tuple(said)
