"""Hints for the caller who stores a memory: near duplicates, and memories it contradicts. They change nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.actors import GLOBAL, Actor
from vaults.domain.memories.contradictions.detection import Statement, find_contradictions
from vaults.domain.memories.storage import Contradiction, NearDuplicate, PreparedMemory, StoreResult
from vaults.errors import VaultUnavailable
from vaults.index import embeddings
from vaults.search import candidates
from vaults.search.candidates import VectorQuery
from vaults.search.filters import SearchFilter
from vaults.search.query import parse_literal
from vaults.settings import SearchSettings
from vaults.vault import EmbeddedTexts, Vault

if TYPE_CHECKING:
    from vaults.index.vector_index import VectorIndex

MAX_SIMILAR = 3
"""Max near duplicates named, and max contradictions."""

MAX_READ = 10
"""Nearest passages whose memories are checked for a contradiction."""

ITSELF = 1
"""Looked at besides: the memory is being written meanwhile, and may be found already."""

UNKNOWN_WARNING = "whether others say the same or contradict it could not be read just now"

WORDED_CHARACTERS, MAX_TERMS = 400, 16
"""Leading characters of a new memory whose words are searched for, and how many of these words."""


@dataclass(frozen=True, slots=True)
class StoreHints:
    """Near duplicates and contradictions of a memory that is being stored, itself perhaps among them."""

    similar: list[NearDuplicate] = field(default_factory=list)
    contradicts: list[Contradiction] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add_to(self, stored: StoreResult) -> StoreResult:
        """The result with these hints, without the memory itself and the one it took the place of."""
        own = (stored.id, stored.duplicate_of)
        return replace(
            stored,
            similar=[near for near in self.similar if near.id not in own][:MAX_SIMILAR],
            contradicts=[other for other in self.contradicts if other.id not in own][:MAX_SIMILAR],
            warnings=[*stored.warnings, *self.warnings],
        )


NO_HINTS = StoreHints()


@dataclass(frozen=True, slots=True)
class _NearMemory:
    """A memory near the new one. ``titled``: its title is its own, not derived from its content."""

    id: str
    title: str
    content: str
    titled: int
    parent: str | None
    workspace: str
    applies_to: str
    entity: str | None


async def load_index(vault: Vault, last: int) -> None:
    """Have the index hold change ``last`` by the time ``find_hints`` asks it, as far as the model is known by now."""
    if (model := vault.embedder.identity) is not None:
        await vault.projection.current(model, last)


async def find_hints(
    vault: Vault, actor: Actor, prepared: PreparedMemory, embedded: EmbeddedTexts, last: int
) -> StoreHints:
    """Hints for a memory while it is being written. Where they cannot be read, a warning says so: it is stored, and a
    failure would have it stored again."""
    try:
        return await _find_hints(vault, actor, prepared, embedded, last)
    except VaultUnavailable:
        return StoreHints(warnings=[UNKNOWN_WARNING])


async def _find_hints(
    vault: Vault, actor: Actor, prepared: PreparedMemory, embedded: EmbeddedTexts, last: int
) -> StoreHints:
    """Living memories, up to change ``last``, near the first passage of a new one: found by its vector, and by its
    words while vectors are pending, its own or others'. A part of a conversation is not checked for contradictions:
    people change their minds in it."""
    settings, vectors, model = vault.shared, embedded.vectors, embedded.model
    is_read = settings.hygiene.contradiction < 1 and prepared.fields.parent is None
    index = await vault.projection.current(model, last) if vectors and model else None
    floors = settings.search.near_duplicate, settings.hygiene.contradiction if is_read else 1.0
    only = SearchFilter(viewer=actor.identity, now=clock.now(), kinds=("memory",))

    def read(tx: Reader) -> tuple[list[NearDuplicate], list[_NearMemory]]:
        near = _find_near(tx, index, vectors[0], only, min(floors)) if index and vectors else {}
        beside = [number for number, score in near.items() if score >= floors[1]] if is_read else []
        if is_read and (index is None or embeddings.has_missing(tx, actor.identity)):
            beside += _find_by_words(tx, prepared.fields.content, only, settings.search)
        close = [number for number, score in near.items() if score >= floors[0]][: MAX_SIMILAR + ITSELF]
        found = _read_near(tx, {*close, *beside})
        named = [NearDuplicate(found[number].id, found[number].title, round(near[number], 4)) for number in close]
        return named, [found[number] for number in dict.fromkeys(beside)]

    similar, others = await vault.db.read(read)
    if not others:
        return StoreHints(similar)
    return StoreHints(similar, await run_in(settings.pool, _contradictions, prepared, others))


def _find_near(tx: Reader, index: VectorIndex, vector: bytes, only: SearchFilter, floor: float) -> dict[int, float]:
    """The nearest visible memories, each with the cosine of its best passage."""
    import numpy as np

    sought = VectorQuery(
        vector=np.frombuffer(vector, dtype=np.float32),
        limit=MAX_READ + ITSELF,
        only=only,
        must=None,
        known={},
        floor=floor,
    )
    found, best = candidates.find_by_meaning(tx, index, sought), dict[int, float]()
    for passage, score in found.scores.items():
        best.setdefault(found.facts[passage].item[1], score)
    return best


def _find_by_words(tx: Reader, content: str, only: SearchFilter, weights: SearchSettings) -> list[int]:
    """The memories that share most words."""
    query = parse_literal(content[:WORDED_CHARACTERS])
    found = candidates.find_by_word(tx, replace(query, terms=query.terms[:MAX_TERMS]), MAX_READ + ITSELF, only, weights)
    return [found.facts[passage].item[1] for passage in found.scores]


def _read_near(tx: Reader, numbers: Collection[int]) -> dict[int, _NearMemory]:
    if not numbers:
        return {}
    rows = tx.all(
        "SELECT seq, id, title, content, title_derived = 0, parent, workspace, applies_to, entity FROM memories"
        f" WHERE seq IN ({', '.join(str(int(number)) for number in numbers)})"
    )
    return {int(seq): _NearMemory(*columns) for seq, *columns in rows}


def _contradictions(prepared: PreparedMemory, others: Sequence[_NearMemory]) -> list[Contradiction]:
    fields = prepared.fields
    alike = [other for other in others if other.parent is None and _is_same_place(prepared, other)]
    olds = (Statement(other.title if other.titled else "", other.content) for other in alike)
    found = zip(alike, find_contradictions(Statement(fields.title or "", fields.content), olds), strict=True)
    named = (
        Contradiction(id=other.id, title=other.title, why=why.why, subject=why.subject, old=why.old, new=why.new)
        for other, why in found
        if why is not None
    )
    return list(islice(named, MAX_SIMILAR + ITSELF))


def _is_same_place(prepared: PreparedMemory, other: _NearMemory) -> bool:
    """Whether both can speak of one thing: projects, files and persons have values of their own."""
    fields = prepared.fields
    workspaces, places = {prepared.workspace, other.workspace}, {fields.applies_to, other.applies_to}
    entities = {fields.entity, other.entity}
    return all(len(each - {GLOBAL, None}) < 2 for each in (workspaces, places, entities))
