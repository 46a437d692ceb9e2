"""What a new memory stands beside: near duplicates, and what contradicts it. Whoever stores is told; no more."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.hygiene.contradictions import Statement, contradicted
from vaults.domain.memory import Actor
from vaults.domain.storing import Contradiction, Near, Prepared, Stored
from vaults.search import candidates, facts
from vaults.search.filters import Filter
from vaults.vault import Vault

SIMILAR = 3
"""Near duplicates named at most, and contradictions."""

READ = 10
"""Nearest passages whose memories are read for a contradiction."""


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
    titled: bool
    parent: str | None


async def of(vault: Vault, actor: Actor, prepared: Prepared, vectors: Sequence[bytes], last: int) -> Hints:
    """Living memories, up to change ``last``, beside the first passage of a new one. A part of a conversation is not
    read for contradictions: people change their minds in it."""
    import numpy as np

    model = vault.shared.embedder.identity
    if model is None:
        return NONE
    query = np.frombuffer(vectors[0], dtype=np.float32)
    hits = await vault.projection.search(model, query, READ, at_least=last)
    only = Filter(viewer=actor.identity, now=clock.now(), kinds=("memory",))
    near, floor = vault.shared.search.near_duplicate, vault.shared.hygiene.contradiction
    beside = {passage: score for passage, score in hits if score >= floor} if floor < 1 else {}
    others = await vault.db.read(lambda tx: _read(tx, _items(tx, beside, only))) if beside else {}
    close = {passage: score for passage, score in hits[: 2 * SIMILAR] if score >= near}
    seen = await vault.db.read(lambda tx: facts.of(tx, close, only)) if close else {}
    if len(seen) < len(close):  # some are not for this caller, and may have crowded out those that are
        allowed = await vault.db.read(lambda tx: candidates.allowed(tx, only))
        hits = await vault.projection.search(model, query, 2 * SIMILAR, allowed, at_least=last)
        close = {passage: score for passage, score in hits if score >= near}
    similar = await vault.db.read(lambda tx: _named(tx, close, only)) if close else []
    if not others or prepared.fields.parent is not None:
        return Hints(similar)
    return Hints(similar, await run_in(vault.shared.pool, _contradictions, prepared, list(others.values())))


def _items(tx: Reader, scores: Mapping[int, float], only: Filter) -> dict[int, float]:
    """The memories behind passages, nearest first, each with the score of its best one."""
    best: dict[int, float] = {}
    for passage, about in facts.of(tx, scores, only).items():
        number = about.item[1]
        best[number] = max(best.get(number, 0.0), scores[passage])
    return dict(sorted(best.items(), key=lambda pair: -pair[1]))


def _read(tx: Reader, numbers: Collection[int]) -> dict[int, _Other]:
    found = {}
    for number in numbers:
        row = tx.one("SELECT id, title, content, title_derived = 0, parent FROM memories WHERE seq = ?", (number,))
        if row is not None:
            found[number] = _Other(row[0], row[1], row[2], bool(row[3]), row[4])
    return found


def _named(tx: Reader, close: Mapping[int, float], only: Filter) -> list[Near]:
    ranked = list(_items(tx, close, only).items())[:SIMILAR]
    others = _read(tx, [number for number, _ in ranked])
    return [
        Near(others[number].id, others[number].title, round(score, 4)) for number, score in ranked if number in others
    ]


def _contradictions(prepared: Prepared, others: Sequence[_Other]) -> list[Contradiction]:
    new = Statement(prepared.fields.title or "", prepared.fields.content)
    found = []
    for other in others:
        old = Statement(other.title if other.titled else "", other.content)
        if other.parent is None and (why := contradicted(new, old)) is not None:
            found.append(Contradiction(other.id, other.title, why))
    return found[:SIMILAR]
