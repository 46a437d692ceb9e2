"""What a new memory stands beside: near duplicates, and what contradicts it. Whoever stores is told; no more."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.memories.contradictions.detection import Statement, conflicts
from vaults.domain.memories.memory_model import GLOBAL, Actor
from vaults.domain.memories.storage import Contradiction, Near, Prepared, Stored
from vaults.index import embeddings
from vaults.search import candidates
from vaults.search.candidates import Sought
from vaults.search.filters import Filter
from vaults.search.query import literal
from vaults.settings import SearchSettings
from vaults.vault import Vault

if TYPE_CHECKING:
    from vaults.index.vector_index import VectorIndex

SIMILAR = 3
"""Near duplicates named at most, and contradictions."""

READ = 10
"""Nearest passages whose memories are read for a contradiction."""

WORDED, TERMS = 400, 16
"""Characters of a new memory whose words are looked for, and how many of these."""


@dataclass(frozen=True, slots=True)
class Hints:
    """Near duplicates and contradictions of a memory that is about to be stored."""

    similar: list[Near] = field(default_factory=list)
    contradicts: list[Contradiction] = field(default_factory=list)

    def told(self, stored: Stored) -> Stored:
        """With what became of the memory; it stands beside neither itself nor what it took the place of."""
        own = (stored.id, stored.duplicate_of)
        return replace(
            stored,
            similar=[near for near in self.similar if near.id not in own],
            contradicts=[other for other in self.contradicts if other.id not in own],
        )


NONE = Hints()


@dataclass(frozen=True, slots=True)
class _Other:
    """A memory that is near. ``titled``: its title is its own, not cut from its content."""

    id: str
    title: str
    content: str
    titled: int
    parent: str | None
    workspace: str
    applies_to: str
    entity: str | None


async def of(vault: Vault, actor: Actor, prepared: Prepared, vectors: Sequence[bytes] | None, last: int) -> Hints:
    """Living memories, up to change ``last``, beside the first passage of a new one: by its vector, and by its words
    while vectors are owed, its own or others'. A part of a conversation is not read for contradictions: people change
    their minds in it."""
    model, settings = vault.shared.embedder.identity, vault.shared
    is_read = settings.hygiene.contradiction < 1 and prepared.fields.parent is None
    index = await vault.projection.current(model, last) if vectors and model else None
    floors = settings.search.near_duplicate, settings.hygiene.contradiction if is_read else 1.0
    only = Filter(viewer=actor.identity, now=clock.now(), kinds=("memory",))

    def read(tx: Reader) -> tuple[list[Near], list[_Other]]:
        near = _near(tx, index, vectors[0], only, min(floors)) if index and vectors else {}
        beside = [number for number, score in near.items() if score >= floors[1]] if is_read else []
        if is_read and (index is None or embeddings.owes(tx, actor.identity)):
            beside += _worded(tx, prepared.fields.content, only, settings.search)
        close = [number for number, score in near.items() if score >= floors[0]][:SIMILAR]
        found = _read(tx, {*close, *beside})
        named = [Near(found[number].id, found[number].title, round(near[number], 4)) for number in close]
        return named, [found[number] for number in dict.fromkeys(beside)]

    similar, others = await vault.db.read(read)
    if not others:
        return Hints(similar)
    return Hints(similar, await run_in(settings.pool, _contradictions, prepared, others))


def _near(tx: Reader, index: VectorIndex, vector: bytes, only: Filter, floor: float) -> dict[int, float]:
    """The nearest memories that may be seen, each with the cosine of its best passage."""
    import numpy as np

    sought = Sought(np.frombuffer(vector, dtype=np.float32), READ, only, None, {}, floor)
    found, best = candidates.by_meaning(tx, index, sought), dict[int, float]()
    for passage, score in found.scores.items():
        best.setdefault(found.facts[passage].item[1], score)
    return best


def _worded(tx: Reader, content: str, only: Filter, weights: SearchSettings) -> list[int]:
    """The memories with most of the words."""
    query = literal(content[:WORDED])
    found = candidates.by_word(tx, replace(query, terms=query.terms[:TERMS]), READ, only, weights)
    return [found.facts[passage].item[1] for passage in found.scores]


def _read(tx: Reader, numbers: Collection[int]) -> dict[int, _Other]:
    if not numbers:
        return {}
    rows = tx.all(
        "SELECT seq, id, title, content, title_derived = 0, parent, workspace, applies_to, entity FROM memories"
        f" WHERE seq IN ({', '.join(str(int(number)) for number in numbers)})"
    )
    return {int(row[0]): _Other(*row[1:]) for row in rows}


def _contradictions(prepared: Prepared, others: Sequence[_Other]) -> list[Contradiction]:
    fields = prepared.fields
    alike = [other for other in others if other.parent is None and _is_same_place(prepared, other)]
    olds = (Statement(other.title if other.titled else "", other.content) for other in alike)
    found = zip(alike, conflicts(Statement(fields.title or "", fields.content), olds), strict=True)
    named = (
        Contradiction(other.id, other.title, why.why, why.subject, why.old, why.new)
        for other, why in found
        if why is not None
    )
    return list(islice(named, SIMILAR))


def _is_same_place(prepared: Prepared, other: _Other) -> bool:
    """Whether both can speak of one thing: a project, a file or a person of its own has values of its own."""
    fields = prepared.fields
    workspaces, places = {prepared.workspace, other.workspace}, {fields.applies_to, other.applies_to}
    entities = {fields.entity, other.entity}
    return all(len(each - {GLOBAL, None}) < 2 for each in (workspaces, places, entities))
