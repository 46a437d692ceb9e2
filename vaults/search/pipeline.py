"""From a question to ranked passages. The stages stand in ``_search``, in order, and each is timed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from vaults.db.connection import Database
from vaults.db.sql import Reader
from vaults.embed.service import EmbeddingService
from vaults.errors import EmbeddingUnavailable, Overloaded
from vaults.index import embeddings
from vaults.index.projection import Projection
from vaults.observe import Observer
from vaults.search import candidates, fusion
from vaults.search.candidates import Scored
from vaults.search.filters import MemoryFilter
from vaults.search.fusion import Fused
from vaults.search.query import Query, parse
from vaults.search.rankings import Kept, Rankings, Version
from vaults.settings import SearchSettings

if TYPE_CHECKING:
    import numpy as np

Mode = Literal["hybrid", "keyword", "semantic"]
T = TypeVar("T")

DEEPEST = 4_000
"""Passages per channel at most, however few items they belong to."""


@dataclass(frozen=True, slots=True)
class Engines:
    """What a search runs on: one vault's database, vectors and rankings, the process's model."""

    db: Database
    projection: Projection
    rankings: Rankings
    embedder: EmbeddingService
    observer: Observer
    settings: SearchSettings


@dataclass(frozen=True, slots=True)
class Question:
    """What to look for. ``limit`` is how many items are wanted; ``whole``: every candidate, to be grouped."""

    text: str
    mode: Mode
    only: MemoryFilter
    limit: int
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Ranking:
    """Ranked passages, as many as were wanted. ``mode`` is what could really be done."""

    query: Query
    fused: list[Fused]
    mode: Mode
    warnings: tuple[str, ...] = ()


Pick: TypeAlias = Callable[[Reader, Ranking], T]
"""Reads what is wanted of a ranking, in the transaction that completes it."""


@dataclass(frozen=True, slots=True)
class _Run:
    """A search under way: the question, read, and its vector, or a word on why there is none."""

    engines: Engines
    asked: Question
    query: Query
    vector: np.ndarray | None = None
    warning: str | None = None

    @property
    def mode(self) -> Mode:
        return self.asked.mode if self.vector is not None else "keyword"


@dataclass(frozen=True, slots=True)
class _Words:
    """What one read of the database says before vectors are asked."""

    version: Version
    hits: list[Scored]
    last_change: int
    owed: bool
    allowed: np.ndarray | None
    mean_characters: float


Near: TypeAlias = list[tuple[int, float]]
"""Passages with their cosine, best first, whoever may see them."""


async def search(engines: Engines, asked: Question, pick: Pick[T]) -> T:
    """The best passages for a question, as ``pick`` reads them. Never fails for want of a model: it answers by keyword
    and says so. The same question again, with nothing committed in between, costs one read."""
    key = (replace(asked, only=replace(asked.only, now="")), engines.embedder.identity)
    if (kept := engines.rankings.get(key)) is not None:
        with _timed(engines, "fetch"):
            again = await engines.db.read(
                lambda tx: (pick(tx, kept.ranking),) if tx.version() == kept.version else None
            )
        if again is not None:
            return again[0]
    version, ranking, picked = await _search(engines, asked, pick)
    if not ranking.warnings:
        engines.rankings.keep(key, Kept(version, ranking))
    return picked


async def _search(engines: Engines, asked: Question, pick: Pick[T]) -> tuple[Version, Ranking, T]:
    """Candidates by word and by meaning side by side, then fused; deeper while too few items were found, because many
    passages may belong to one."""
    run = _Run(engines, asked, parse(asked.text))
    depth = max(engines.settings.candidates, 2 * asked.limit)
    reading = asyncio.ensure_future(_by_word(run, asked.mode, depth))
    run = await _embedded(run)
    words = await reading
    if run.mode != asked.mode:
        words = await _by_word(run, run.mode, depth)
    while True:
        ranking, picked, full = await _completed(run, words, depth, pick)
        enough = len({hit.item for hit in ranking.fused}) >= asked.limit
        if enough or not full or depth >= DEEPEST:
            return words.version, ranking, picked
        depth *= 4
        words = await _by_word(run, run.mode, depth)


async def _by_word(run: _Run, mode: Mode, depth: int) -> _Words:
    match, only = run.query.match, run.asked.only

    def read(tx: Reader) -> _Words:
        version = tx.version()
        hits = candidates.by_keyword(tx, match, depth, only) if match and mode != "semantic" else []
        allowed = candidates.allowed(tx, only) if only.narrows and mode != "keyword" else None
        sampled = ", ".join(str(hit.passage) for hit in hits[:20])
        mean = tx.value(f"SELECT AVG(LENGTH(body)) FROM passages WHERE seq IN ({sampled})") if sampled else 0
        owed = embeddings.owed_count(tx) > 0
        return _Words(version, hits, embeddings.last_change(tx), owed, allowed, float(mean or 0))

    with _timed(run.engines, "lexical"):
        return await run.engines.db.read(read)


async def _embedded(run: _Run) -> _Run:
    if run.asked.mode == "keyword" or not run.query.text.strip():
        return run
    try:
        with _timed(run.engines, "embed"):
            return replace(run, vector=await run.engines.embedder.query(run.query.text))
    except (EmbeddingUnavailable, Overloaded) as failure:
        return replace(run, warning=f"semantic search is unavailable ({failure.message}): these are keyword results")


async def _completed(run: _Run, words: _Words, depth: int, pick: Pick[T]) -> tuple[Ranking, T, bool]:
    """Search by meaning, fuse, see who may be shown, and pick: in one read, on one thread. The last value says whether
    a channel gave all it was asked for, so that there may be more."""
    only, model = run.asked.only, run.engines.embedder.identity
    index = None
    if run.vector is not None and model is not None:
        index = await run.engines.projection.current(model, words.last_change)

    def read(tx: Reader) -> tuple[Ranking, T, bool] | None:
        with _timed(run.engines, "dense"):
            near = [] if index is None or run.vector is None else index.search(run.vector, depth, words.allowed)
        fused = _shown(tx, run, words, near)
        crowded = words.allowed is None and len(near) >= depth
        if crowded and len({hit.item for hit in fused}) < run.asked.limit and candidates.hides_any(tx, near, only):
            return None
        with _timed(run.engines, "fetch"):
            ranking = Ranking(run.query, fused, run.mode, _warnings(run, words))
            return ranking, pick(tx, ranking), max(len(words.hits), len(near)) >= depth

    done = await run.engines.db.read(read)
    if done is not None:
        return done
    # What every search leaves out (archived, expired, private) crowded the list: leave it out beforehand.
    allowed = await run.engines.db.read(lambda tx: candidates.allowed(tx, only))
    return await _completed(run, replace(words, allowed=allowed), depth, pick)


def _shown(tx: Reader, run: _Run, words: _Words, near: Near) -> list[Fused]:
    """The joint order, as far down as it takes to have the items wanted. Who may see a hit by word is known already;
    a hit by meaning is looked up when its turn comes, and most never do."""
    items = {hit.passage: hit.item for hit in words.hits}
    by_word, by_meaning = {hit.passage: hit.score for hit in words.hits}, dict(near)
    order = _order(run, words, by_word, by_meaning)
    step = len(order) if run.asked.whole else run.asked.limit + 4
    fused: list[Fused] = []
    for start in range(0, len(order), max(1, step)):
        some = order[start : start + step]
        items |= candidates.visible(tx, [passage for passage, _ in some if passage not in items], run.asked.only)
        fused += [
            Fused(passage, items[passage], score, by_word.get(passage), by_meaning.get(passage))
            for passage, score in some
            if passage in items
        ]
        if len({hit.item for hit in fused}) >= run.asked.limit and not run.asked.whole:
            break
    return fused


def _order(run: _Run, words: _Words, by_word: dict[int, float], by_meaning: dict[int, float]) -> fusion.Order:
    settings = run.engines.settings
    if run.mode == "hybrid" and settings.fusion == "rrf":
        return fusion.reciprocal_rank(by_word, by_meaning)
    weight = 0.7 if settings.fusion == "fixed" else fusion.dense_weight(words.mean_characters)
    return fusion.weighted(by_word, by_meaning, weight)


def _warnings(run: _Run, words: _Words) -> tuple[str, ...]:
    if run.warning is not None:
        return (run.warning,)
    owed = words.owed and run.vector is not None
    return ("some texts have no vector yet: those are found by keyword only",) if owed else ()


class _timed:  # noqa: N801  reads as a word at its uses
    """Report a stage's wall time."""

    __slots__ = ("_engines", "_stage", "_started")

    def __init__(self, engines: Engines, stage: str) -> None:
        self._engines, self._stage = engines, stage

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._engines.observer.searched(self._stage, time.perf_counter() - self._started)
