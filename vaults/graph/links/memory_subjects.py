"""Which notes and named things a memory is about, as somebody declared. A note is known by its path, which follows it
when it moves; a thing without a note by its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.markdown.link_resolution import name_key

SubjectKind = Literal["note", "entity"]


@dataclass(frozen=True, slots=True)
class MemorySubject:
    """What a memory is about. ``name``: a note's path, or an entity's name."""

    kind: SubjectKind
    name: str


def add_subject(tx: Writer, memory: int, relation: str, subject: MemorySubject, who: str) -> None:
    """Record that a memory is about something; a repetition changes nothing."""
    tx.run(
        "INSERT INTO memory_subjects (from_memory, relation, kind, subject, created_by, created_at)"
        " VALUES (:memory, :relation, :kind, :subject, :who, :now)"
        " ON CONFLICT (from_memory, relation, kind, subject) DO NOTHING",
        {
            "memory": memory, "relation": relation, "kind": subject.kind, "subject": subject.name, "who": who,
            "now": clock.now(),
        },
    )  # fmt: skip


def remove_subject(tx: Writer, memory: int, relation: str, subject: MemorySubject) -> bool:
    """Delete such a record; False if there was none."""
    return bool(
        tx.run(
            "DELETE FROM memory_subjects"
            " WHERE from_memory = :memory AND relation = :relation AND kind = :kind AND subject = :subject",
            {"memory": memory, "relation": relation, "kind": subject.kind, "subject": subject.name},
        )
    )


def read_subjects(tx: Reader, memory: int, limit: int) -> list[tuple[str, MemorySubject]]:
    """The subjects of a memory with their relations, in the order they were added; without notes that are gone."""
    rows = tx.all(
        "SELECT relation, kind, subject FROM memory_subjects s WHERE from_memory = :memory"
        " AND (kind <> 'note' OR EXISTS (SELECT 1 FROM notes n WHERE n.path = s.subject))"
        " ORDER BY created_at, relation, kind, subject LIMIT :limit",
        {"memory": memory, "limit": limit},
    )
    return [(relation, MemorySubject(kind, name)) for relation, kind, name in rows]


def read_all_subjects(tx: Reader, memory: int) -> tuple[tuple[str, str, str], ...]:
    """Relation, kind and name of every subject of a memory, for an export."""
    rows = tx.all(
        "SELECT relation, kind, subject FROM memory_subjects WHERE from_memory = :memory"
        " ORDER BY relation, kind, subject",
        {"memory": memory},
    )
    return tuple((relation, kind, name) for relation, kind, name in rows)


def find_subjects(tx: Reader, memory: int, name: str) -> list[MemorySubject]:
    """The subjects of a memory with this path or name, ignoring case."""
    rows = tx.all("SELECT DISTINCT kind, subject FROM memory_subjects WHERE from_memory = :memory", {"memory": memory})
    return [MemorySubject(kind, known) for kind, known in rows if known == name or name_key(known) == name_key(name)]


def copy_subjects(tx: Writer, before: str, after: str) -> None:
    """Make memories that are about one note be about another as well."""
    tx.run(
        "INSERT INTO memory_subjects (from_memory, relation, kind, subject, created_by, created_at)"
        " SELECT from_memory, relation, 'note', :after, created_by, created_at FROM memory_subjects"
        " WHERE kind = 'note' AND subject = :before ON CONFLICT (from_memory, relation, kind, subject) DO NOTHING",
        {"before": before, "after": after},
    )
