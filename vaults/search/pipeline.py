"""From a question to ranked passages. The stages stand in ``search``, in order, and each is timed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

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
from vaults.settings import SearchSettings

if TYPE_CHECKING:
    import numpy as np

Mode = Literal["hybrid", "keyword", "semantic"]


@dataclass(frozen=True, slots=True)
class Engines:
    """What a search runs on: one vault's database and vectors, the process's model and search threads."""

    db: Database
    projection: Projection
    embedder: EmbeddingService
    pool: Executor
    observer: Observer
    settings: SearchSettings


@dataclass(frozen=True, slots=True)
class Found:
    """Ranked passages. ``mode`` is what could really be done."""

    query: Query
    ranked: list[Fused]
    mode: Mode
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Words:
    """What one read of the database says before vectors are asked."""

    hits: list[Scored]
    last_change: int
    owed: int
    allowed: np.ndarray | None
    mean_characters: float


async def search(engines: Engines, text: str, mode: Mode, only: MemoryFilter, limit: int) -> Found:
    """The best passages for ``text``. ``limit`` is how many items the caller wants; more passages are looked at,
    because several may belong to one item. Never fails for want of a model: it answers by keyword and says so."""
    query = parse(text)
    depth = max(engines.settings.candidates, 2 * limit)
    reading = asyncio.ensure_future(_read_words(engines, query, mode, only, depth))
    vector, warning = (None, None) if mode == "keyword" else await _embed(engines, query)
    words = await reading
    dense = await _by_vector(engines, vector, words, only, depth)
    if vector is None and mode == "semantic":
        words = await _read_words(engines, query, "keyword", only, depth)
    fused = _fuse(engines.settings, mode if vector is not None else "keyword", words, dense)
    warnings = [warning] if warning else []
    if words.owed and vector is not None:
        warnings.append(f"{words.owed} passages have no vector yet: found by keyword only")
    return Found(query, fused, mode if vector is not None else "keyword", warnings)


async def _read_words(engines: Engines, query: Query, mode: Mode, only: MemoryFilter, depth: int) -> _Words:
    def read(tx: Reader) -> _Words:
        hits = candidates.by_keyword(tx, query.match, depth, only) if query.match and mode != "semantic" else []
        allowed = candidates.allowed(tx, only) if only.narrows and mode != "keyword" else None
        sampled = ", ".join(str(hit.passage) for hit in hits[:20])
        mean = tx.value(f"SELECT AVG(LENGTH(body)) FROM passages WHERE seq IN ({sampled})") if sampled else 0
        return _Words(hits, embeddings.last_change(tx), embeddings.owed_count(tx), allowed, float(mean or 0))

    with _timed(engines, "lexical"):
        return await engines.db.read(read)


async def _embed(engines: Engines, query: Query) -> tuple[np.ndarray | None, str | None]:
    if not query.text.strip():
        return None, None
    try:
        with _timed(engines, "embed"):
            return await engines.embedder.query(query.text), None
    except (EmbeddingUnavailable, Overloaded) as failure:
        return None, f"semantic search is unavailable ({failure.message}): these are keyword results"


async def _by_vector(
    engines: Engines, vector: np.ndarray | None, words: _Words, only: MemoryFilter, depth: int
) -> list[Scored]:
    model = engines.embedder.identity
    if vector is None or model is None:
        return []
    with _timed(engines, "dense"):
        if words.allowed is None:
            over = depth + depth // 2
            hits = await engines.projection.search(model, vector, over, at_least=words.last_change)
            # Nearly always every hit may be seen, and looking costs as much as finding: look at the rest only if not.
            kept = await _visible(engines, hits[:depth], only)
            if len(kept) < depth < len(hits):
                kept += await _visible(engines, hits[depth:], only)
            if len(kept) >= depth or len(hits) < over:
                return kept[:depth]
            # What every search leaves out (archived, expired, private) crowded the list: leave it out beforehand.
            allowed = await engines.db.read(lambda tx: candidates.allowed(tx, only))
        else:
            allowed = words.allowed
        hits = await engines.projection.search(model, vector, depth, allowed, at_least=words.last_change)
        return await _visible(engines, hits, only)


async def _visible(engines: Engines, hits: Sequence[tuple[int, float]], only: MemoryFilter) -> list[Scored]:
    items = await engines.db.read(lambda tx: candidates.visible(tx, [passage for passage, _ in hits], only))
    return [Scored(passage, items[passage], score) for passage, score in hits if passage in items]


def _fuse(settings: SearchSettings, mode: Mode, words: _Words, dense: Sequence[Scored]) -> list[Fused]:
    if mode == "keyword":
        return fusion.weighted(words.hits, (), 0.0)
    if mode == "semantic":
        return fusion.weighted((), dense, 1.0)
    if settings.fusion == "rrf":
        return fusion.reciprocal_rank(words.hits, dense)
    weight = 0.7 if settings.fusion == "fixed" else fusion.dense_weight(words.mean_characters)
    return fusion.weighted(words.hits, dense, weight)


class _timed:  # noqa: N801  reads as a word at its uses
    """Report a stage's wall time."""

    __slots__ = ("_engines", "_stage", "_started")

    def __init__(self, engines: Engines, stage: str) -> None:
        self._engines, self._stage = engines, stage

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._engines.observer.searched(self._stage, time.perf_counter() - self._started)
