"""What the last stage of ranking is fitted on: for each question of a judged set its first candidates, what is known of
them, and which of them answer. Read in process, from the data folders that the sets are stored in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench import data_folders
from bench.quality import stored_sets
from bench.quality.as_transcripts import name_turns
from bench.quality.sets import JudgedQuestion, JudgedSet
from bench.quality.stored_sets import StoredSets
from server.services import open_services
from server.tools import discover
from vaults import clock
from vaults.db.sql import Reader
from vaults.index import embeddings
from vaults.index.joined_vectors import JoinedVectors
from vaults.search import graph_lifts, ranking_features
from vaults.search.candidate_texts import read_texts
from vaults.search.filters import SearchFilter
from vaults.search.lifts import Lift
from vaults.search.passage_facts import ItemKey
from vaults.search.pipeline import search
from vaults.search.question import SearchMode, SearchQuestion, SearchRanking
from vaults.search.ranking_features import CandidateFeatures, RankingEvidence
from vaults.search.stage_timings import StageTimings
from vaults.vault import Vault

if TYPE_CHECKING:
    from server.services import Services

DEPTH = 20
SEEDS = 25
"""Candidates of which one may be among the first four, and so lift by its links."""


@dataclass(frozen=True, slots=True)
class RankingExample:
    """One question. ``ranking``: as it is without the learned order and without links; ``features`` of its first
    candidates, and in ``answers`` 1 for each of them that answers. ``names``: what the set calls each candidate.
    ``links``: what each of the first items would lift if it were the one seed, at a score and weight of 1. ``fold``:
    what it is held out with, its conversation."""

    set: str
    fold: str
    question: JudgedQuestion
    asked: SearchQuestion
    ranking: SearchRanking
    features: CandidateFeatures
    answers: np.ndarray
    names: Mapping[int, tuple[str, ...]]
    links: Mapping[ItemKey, Lift]


def read_examples(judged: JudgedSet, stored: StoredSets, mode: SearchMode = "hybrid") -> list[RankingExample]:
    """The examples of a set, stored first where needed."""
    with stored_sets.copy_stored_set(stored, judged, {}) as ready:
        return asyncio.run(_read(judged, ready.data, mode))


async def _read(judged: JudgedSet, data: Path, mode: SearchMode) -> list[RankingExample]:
    loaded = data_folders.default_settings(data, **{"storage.reserve_mb": 0})
    found = []
    async with open_services(loaded.settings, data, discover()) as services:
        await services.embedder.warm()
        for name in judged.vaults:
            async with services.pool.lease(services.registry_cache.entry(name)) as vault:
                await vault.adopt_model()
                reader = await _VaultExamples.of(judged, services, vault, mode)
                found += [await reader.read(each) for each in judged.questions if each.vault == name]
    return found


Naming = Callable[[SearchRanking], dict[int, tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class _VaultExamples:
    """One vault of a set, open."""

    judged: JudgedSet
    services: Services
    vault: Vault
    index: JoinedVectors
    naming: Naming
    mode: SearchMode

    @classmethod
    async def of(cls, judged: JudgedSet, services: Services, vault: Vault, mode: SearchMode) -> _VaultExamples:
        model = services.embedder.identity
        assert model is not None
        last = await vault.db.read(embeddings.last_change)
        parts = [await each.current(model, last) for each in (vault.engines.projection, vault.engines.documents)]
        index = JoinedVectors([part for part in parts if len(part)])
        return cls(judged, services, vault, index, await _make_naming(judged, vault), mode)

    async def read(self, question: JudgedQuestion) -> RankingExample:
        kinds = ("transcript",) if self.judged.task.as_transcripts else ("memory", "note")
        by: Any = "parent" if self.judged.task.by_parent else "item"
        asked = SearchQuestion(question.text, self.mode, SearchFilter("bench", clock.now(), kinds=kinds), DEPTH, by)
        settings = self.vault.engines.settings.model_copy(update={"learned": 0.0})
        engines = replace(self.vault.engines, settings=settings)
        found = await search(engines, asked, lambda _, ranking: ranking, StageTimings(engines.observer))
        text = found.meant.embedded_text
        vector = await self.services.embedder.query(text) if text.strip() and self.mode != "keyword" else None
        known = engines.vocabulary.known(found.meant.query.terms)
        evidence = RankingEvidence({word: about.share for word, about in known.items()}, vector, self.index)
        unlinked = drop_links(found)

        def read(tx: Reader) -> tuple[CandidateFeatures, dict[ItemKey, Lift]]:
            first = [passage for passage, _ in unlinked.order[: ranking_features.HEAD]]
            told = replace(unlinked, texts=read_texts(tx, first, {}))
            features = ranking_features.read_features(told, asked, evidence)
            return features, _read_links(tx, unlinked, settings.hub)

        features, links = await self.vault.db.read(read)
        names = self.naming(found)
        answers = [not question.relevant.isdisjoint(names[passage]) for passage in features.passages]
        return RankingExample(
            self.judged.task.name,
            question.vault,
            question,
            asked,
            unlinked,
            features,
            np.array(answers, dtype=float),
            names,
            links,
        )


def drop_links(found: SearchRanking) -> SearchRanking:
    """The ranking before links lifted anything, as the learned order finds it."""
    links = found.lifts.get("links", {})
    scores = [(passage, score - links.get(passage, 0.0)) for passage, score in found.order]
    return replace(found, order=sorted(scores, key=lambda pair: (-pair[1], pair[0])))


def _read_links(tx: Reader, found: SearchRanking, hub: int) -> dict[ItemKey, Lift]:
    first: dict[ItemKey, int] = {}
    for passage, _ in found.order[:SEEDS]:
        first.setdefault(found.facts[passage].item, passage)
    each = {
        item: graph_lifts.lift_linked(tx, found.facts, [(passage, 1.0)], 1.0, hub) for item, passage in first.items()
    }
    return {item: lift for item, lift in each.items() if lift}


async def _make_naming(judged: JudgedSet, vault: Vault) -> Naming:
    """What tells the names that the set has for candidates."""
    if judged.task.by_parent:
        return lambda found: {passage: (str(facts.parent),) for passage, facts in found.facts.items()}
    if judged.task.as_transcripts:
        turns, parts = name_turns(judged), await vault.db.read(_read_parts)
        places = {number: turns.get((vault.name, at, position), []) for number, (at, position) in parts.items()}
        return lambda found: {passage: tuple(places[facts.item[1]]) for passage, facts in found.facts.items()}
    names = await vault.db.read(_read_external_ids)
    return lambda found: {passage: (names[facts.item],) for passage, facts in found.facts.items()}


def _read_parts(tx: Reader) -> dict[int, tuple[str, int]]:
    rows = tx.all("SELECT seq, at, position FROM document_parts")
    return {int(seq): (at, int(position)) for seq, at, position in rows}


def _read_external_ids(tx: Reader) -> dict[ItemKey, str]:
    return {("memory", int(seq)): str(name) for seq, name in tx.all("SELECT seq, external_id FROM memories")}
