"""Named relations from a memory to another, to a note, or to something known only by its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.domain.actors import Actor
from vaults.domain.graph.entities.entity_lookup import find_note_path
from vaults.domain.memories import visibility
from vaults.domain.text.fields import LABEL
from vaults.domain.text.sanitize import to_one_line
from vaults.errors import InvalidArgument, NotFound
from vaults.graph.links import memory_subjects
from vaults.graph.links.memory_subjects import MemorySubject
from vaults.markdown.link_resolution import name_key
from vaults.vault import Vault

ENTITY_PREFIX = "entity:"
"""Prefix that marks a target as a name."""

MAX_SHOWN = 100
"""Max links of each kind shown for one memory."""


@dataclass(frozen=True, slots=True)
class MemoryRelation:
    """A named relation from a memory. ``to_id``: a memory's id, a note's path, or a name, as ``kind`` says."""

    from_id: str
    relation: str
    to_id: str
    kind: Literal["memory", "note", "entity"] = "memory"


async def link(vault: Vault, actor: Actor, from_id: str, relation: str, to_id: str) -> MemoryRelation:
    """Record a named relation; repeating it changes nothing. Raises ``NotFound``, and ``Conflict`` where several notes
    go by the name."""
    if from_id == to_id:
        raise InvalidArgument("to_id", "must be another memory than from_id")
    subject = await _resolve_subject(vault, actor, to_id)

    def write(tx: Writer) -> MemoryRelation:
        source = visibility.find_visible(tx, from_id, actor)
        if subject is not None:
            memory_subjects.add_subject(tx, source, relation, subject, actor.identity)
            return MemoryRelation(from_id, relation, subject.name, subject.kind)
        tx.run(
            "INSERT INTO memory_links (from_memory, relation, to_memory, created_by, created_at)"
            " VALUES (:source, :relation, :target, :who, :now)"
            " ON CONFLICT (from_memory, relation, to_memory) DO NOTHING",
            {
                "source": source, "relation": relation, "target": visibility.find_visible(tx, to_id, actor),
                "who": actor.identity, "now": clock.now(),
            },
        )  # fmt: skip
        tx.note_change("memory link", from_id, None, to_id)
        return MemoryRelation(from_id, relation, to_id)

    return await vault.db.write(write)


async def unlink(vault: Vault, actor: Actor, from_id: str, relation: str, to_id: str) -> MemoryRelation:
    """Remove a relation. Raises ``NotFound`` where there is none."""
    path = None if _is_id(to_id) or to_id.startswith(ENTITY_PREFIX) else await find_note_path(vault, to_id)

    def write(tx: Writer) -> MemoryRelation:
        source = visibility.find_visible(tx, from_id, actor)
        gone = tx.run(
            "DELETE FROM memory_links WHERE from_memory = :source AND relation = :relation AND to_memory IN"
            " (SELECT seq FROM memories WHERE id = :target AND (visibility = 'shared' OR stored_by = :viewer))",
            {"source": source, "relation": relation, "target": to_id, "viewer": actor.identity},
        )
        if gone:
            tx.note_change("memory link", from_id, to_id, None)
            return MemoryRelation(from_id, relation, to_id)
        subjects = memory_subjects.find_subjects(tx, source, to_id.removeprefix(ENTITY_PREFIX))
        for subject in [*([MemorySubject("note", path)] if path else []), *subjects]:
            if memory_subjects.remove_subject(tx, source, relation, subject):
                return MemoryRelation(from_id, relation, subject.name, subject.kind)
        raise NotFound("there is no such link", hint="memory_get shows the links of a memory")

    return await vault.db.write(write)


async def _resolve_subject(vault: Vault, actor: Actor, to_id: str) -> MemorySubject | None:
    """What a relation leads to; None for a memory. A name that a note goes by means the note."""
    name = to_id.removeprefix(ENTITY_PREFIX).strip()
    if name == to_id.strip() and await vault.db.read(lambda tx: _is_memory(tx, to_id, actor)):
        return None
    if not name or (to_id.startswith(ENTITY_PREFIX) and len(name) > LABEL):
        raise InvalidArgument("to_id", f"must have a name of 1 to {LABEL} characters after {ENTITY_PREFIX}")
    path = await find_note_path(vault, name)
    if path is not None:
        return MemorySubject("note", path)
    if to_id.startswith(ENTITY_PREFIX):
        return MemorySubject("entity", name)
    known = await vault.db.read(lambda tx: _find_known_name(tx, name, actor))
    if known is None:
        raise NotFound(
            f"no memory, note or name {to_one_line(name, 64)}",
            hint=f"{ENTITY_PREFIX}{to_one_line(name, 64)} links to a name that is new",
        )
    return MemorySubject("entity", known)


def _is_memory(tx: Reader, memory_id: str, actor: Actor) -> bool:
    """Whether the id is that of a memory. Raises ``NotFound`` for what looks like an id but is no visible memory."""
    try:
        visibility.find_visible(tx, memory_id, actor)
    except NotFound:
        if _is_id(memory_id):
            raise
        return False
    return True


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _find_known_name(tx: Reader, name: str, actor: Actor) -> str | None:
    """The name as memories visible to the actor spell it."""
    rows = tx.all(
        "SELECT DISTINCT entity FROM memories WHERE entity IS NOT NULL AND LENGTH(entity) = LENGTH(:name)"
        " AND (visibility = 'shared' OR stored_by = :viewer) ORDER BY entity",
        {"name": name, "viewer": actor.identity},
    )
    return next((entity for (entity,) in rows if name_key(entity) == name_key(name)), None)


def find_relations(tx: Reader, seqs: Sequence[int], actor: Actor) -> list[MemoryRelation]:
    """The links of memories visible to the actor: to and from others it may see, and to what they speak of."""
    links = []
    for seq in seqs:
        links += [
            MemoryRelation(*row)
            for row in tx.all(
                "SELECT a.id, l.relation, b.id FROM memory_links l JOIN memories a ON a.seq = l.from_memory"
                " JOIN memories b ON b.seq = l.to_memory WHERE (l.from_memory = :seq OR l.to_memory = :seq)"
                " AND (a.visibility = 'shared' OR a.stored_by = :viewer)"
                " AND (b.visibility = 'shared' OR b.stored_by = :viewer) ORDER BY l.created_at LIMIT :most",
                {"seq": seq, "viewer": actor.identity, "most": MAX_SHOWN},
            )
        ]
        subjects = memory_subjects.read_subjects(tx, seq, MAX_SHOWN)
        if subjects:
            memory_id = str(tx.value("SELECT id FROM memories WHERE seq = :seq", {"seq": seq}))
            links += [MemoryRelation(memory_id, relation, subject.name, subject.kind) for relation, subject in subjects]
    return list(dict.fromkeys(links))
