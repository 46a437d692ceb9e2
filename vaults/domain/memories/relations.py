"""Named relations from a memory to another, to a note, or to something that is only known by its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.domain.graph.entities.entity_lookup import path_if_any
from vaults.domain.memories import storage
from vaults.domain.memories.memory_model import LABEL, Actor
from vaults.domain.text.sanitize import one_line
from vaults.errors import InvalidArgument, NotFound
from vaults.graph.links import memory_subjects
from vaults.graph.links.memory_subjects import Subject
from vaults.markdown.link_resolution import name_key
from vaults.vault import Vault

NAME = "entity:"
"""Before a name, says that it is one."""

SHOWN = 100
"""Links of each kind shown of one memory."""


@dataclass(frozen=True, slots=True)
class Link:
    """A named relation from a memory. ``to_id``: a memory's id, a note's path, or a name, as ``kind`` says."""

    from_id: str
    relation: str
    to_id: str
    kind: Literal["memory", "note", "entity"] = "memory"


async def link(vault: Vault, actor: Actor, from_id: str, relation: str, to_id: str) -> Link:
    """Record a named relation; the same one again changes nothing. Raises ``NotFound``, ``Conflict`` where several
    notes go by the name."""
    if from_id == to_id:
        raise InvalidArgument("to_id", "must be another memory than from_id")
    subject = await _subject(vault, actor, to_id)

    def write(tx: Writer) -> Link:
        source = storage.find(tx, from_id, actor)
        if subject is not None:
            memory_subjects.link(tx, source, relation, subject, actor.identity)
            return Link(from_id, relation, subject.name, subject.kind)
        tx.run(
            "INSERT INTO memory_links (from_memory, relation, to_memory, created_by, created_at)"
            " VALUES (?, ?, ?, ?, ?) ON CONFLICT (from_memory, relation, to_memory) DO NOTHING",
            (source, relation, storage.find(tx, to_id, actor), actor.identity, clock.now()),
        )
        return Link(from_id, relation, to_id)

    return await vault.db.write(write)


async def unlink(vault: Vault, actor: Actor, from_id: str, relation: str, to_id: str) -> Link:
    """Take a relation back. Raises ``NotFound`` where there is none."""
    path = None if _is_id(to_id) or to_id.startswith(NAME) else await path_if_any(vault, to_id)

    def write(tx: Writer) -> Link:
        source = storage.find(tx, from_id, actor)
        gone = tx.run(
            "DELETE FROM memory_links WHERE from_memory = ? AND relation = ? AND to_memory IN (SELECT seq FROM memories"
            " WHERE id = ? AND (visibility = 'shared' OR stored_by = ?))",
            (source, relation, to_id, actor.identity),
        )
        if gone:
            return Link(from_id, relation, to_id)
        said = memory_subjects.as_said(tx, source, to_id.removeprefix(NAME))
        for subject in [*([Subject("note", path)] if path else []), *said]:
            if memory_subjects.unlink(tx, source, relation, subject):
                return Link(from_id, relation, subject.name, subject.kind)
        raise NotFound("there is no such link", hint="memory_get shows the links of a memory")

    return await vault.db.write(write)


async def _subject(vault: Vault, actor: Actor, to_id: str) -> Subject | None:
    """What a relation leads to; None: a memory. A name that a note goes by means the note."""
    said = to_id.removeprefix(NAME).strip()
    if said == to_id.strip() and await vault.db.read(lambda tx: _is_memory(tx, to_id, actor)):
        return None
    if not said or (to_id.startswith(NAME) and len(said) > LABEL):
        raise InvalidArgument("to_id", f"must have a name of 1 to {LABEL} characters after {NAME}")
    path = await path_if_any(vault, said)
    if path is not None:
        return Subject("note", path)
    if to_id.startswith(NAME):
        return Subject("entity", said)
    known = await vault.db.read(lambda tx: _known_as(tx, said, actor))
    if known is None:
        raise NotFound(
            f"no memory, note or name {one_line(said, 64)}",
            hint=f"{NAME}{one_line(said, 64)} links to a name that is new",
        )
    return Subject("entity", known)


def _is_memory(tx: Reader, memory_id: str, actor: Actor) -> bool:
    """Whether the id is that of a memory. Raises ``NotFound`` for one that looks like an id and is none to see."""
    try:
        storage.find(tx, memory_id, actor)
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


def _known_as(tx: Reader, name: str, actor: Actor) -> str | None:
    """A name as memories that the actor may see have it."""
    rows = tx.all(
        "SELECT DISTINCT entity FROM memories WHERE entity IS NOT NULL AND LENGTH(entity) = LENGTH(?)"
        " AND (visibility = 'shared' OR stored_by = ?) ORDER BY entity",
        (name, actor.identity),
    )
    return next((row[0] for row in rows if name_key(row[0]) == name_key(name)), None)


def of(tx: Reader, seqs: Sequence[int], actor: Actor) -> list[Link]:
    """The links of memories that the actor may see: to and from others that it may see, and to what they speak of."""
    links = []
    for seq in seqs:
        links += [
            Link(*row)
            for row in tx.all(
                "SELECT a.id, l.relation, b.id FROM memory_links l JOIN memories a ON a.seq = l.from_memory"
                " JOIN memories b ON b.seq = l.to_memory WHERE (l.from_memory = :seq OR l.to_memory = :seq)"
                " AND (a.visibility = 'shared' OR a.stored_by = :viewer)"
                " AND (b.visibility = 'shared' OR b.stored_by = :viewer) ORDER BY l.created_at LIMIT :most",
                {"seq": seq, "viewer": actor.identity, "most": SHOWN},
            )
        ]
        said = memory_subjects.of(tx, seq, SHOWN)
        if said:
            memory_id = str(tx.value("SELECT id FROM memories WHERE seq = ?", (seq,)))
            links += [Link(memory_id, relation, subject.name, subject.kind) for relation, subject in said]
    return list(dict.fromkeys(links))
