"""Reads memories as lines."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from vaults.db.sql import Reader
from vaults.domain.memories.memory_model import COLUMNS, Memory, from_row
from vaults.graph.links import memory_subjects

PAGE = 500

LONGEST_TTL_DAYS = 36_500.0


@dataclass(frozen=True, slots=True)
class ExportedMemory:
    """A memory and the rest of its line."""

    memory: Memory
    title_derived: bool
    replaces: str | None = None  # exported id of what it supersedes
    links: tuple[tuple[str, str, str], ...] = ()  # to earlier memories
    subjects: tuple[tuple[str, str, str], ...] = ()
    access_count: int = 0
    accessed_at: str | None = None


def _external_id_sql(memory: str) -> str:
    """SQL for the external id to export, over an alias: none where several memories share it, as private memories of
    several people may."""
    return (
        f"CASE WHEN {memory}.visibility = 'private' AND EXISTS (SELECT 1 FROM memories t WHERE t.external_id ="
        f" {memory}.external_id AND t.seq <> {memory}.seq) THEN NULL ELSE {memory}.external_id END"
    )


def exported_memory_id_sql(memory: str) -> str:
    """SQL for what a memory is called in an export, over an alias."""
    return f"COALESCE({_external_id_sql(memory)}, {memory}.id)"


def read_page(tx: Reader, after: int) -> tuple[int, list[ExportedMemory]] | None:
    """The memories after ``after``, and the ``seq`` of the last one; None at the end."""
    # A memory whose successor was purged, or does not name it, is exported as archived: an import must not bring
    # it back to life.
    columns = COLUMNS.replace(
        "m.archived_at",
        "CASE WHEN m.archived_at IS NULL AND m.superseded_by IS NOT NULL AND NOT EXISTS"
        " (SELECT 1 FROM memories s WHERE s.id = m.superseded_by AND s.supersedes = m.id AND s.seq > m.seq)"
        " THEN m.updated_at ELSE m.archived_at END",
    ).replace("m.external_id,", f"{_external_id_sql('m')},")
    rows = tx.all(
        f"SELECT m.seq, m.title_derived, {exported_memory_id_sql('o')}, a.times, a.accessed_at, {columns}"
        " FROM memories m LEFT JOIN memories o ON o.id = m.supersedes AND o.superseded_by = m.id"
        " LEFT JOIN memory_accesses a ON a.memory = m.seq"
        " WHERE m.seq > :after ORDER BY m.seq LIMIT :page",
        {"after": after, "page": PAGE},
    )
    page = []
    for seq, title_derived, replaces, times, accessed_at, *values in rows:
        page.append(
            ExportedMemory(
                from_row(values),
                bool(title_derived),
                replaces,
                links=_read_links(tx, seq),
                subjects=memory_subjects.read_all_subjects(tx, seq),
                access_count=times or 0,
                accessed_at=accessed_at,
            )
        )
    return (int(rows[-1][0]), page) if page else None


def _read_links(tx: Reader, seq: int) -> tuple[tuple[str, str, str], ...]:
    """Links between a memory and earlier ones, by their exported ids: an import knows both ends by then."""
    return tuple(
        (row[0], row[1], row[2])
        for row in tx.all(
            f"SELECT {exported_memory_id_sql('a')}, l.relation, {exported_memory_id_sql('b')} FROM memory_links l"
            " JOIN memories a ON a.seq = l.from_memory JOIN memories b ON b.seq = l.to_memory"
            " WHERE (l.from_memory = :seq AND l.to_memory < :seq) OR (l.to_memory = :seq AND l.from_memory < :seq)"
            " ORDER BY 1, 2, 3",
            {"seq": seq},
        )
    )


def to_fields(one: ExportedMemory) -> dict[str, Any]:
    """The fields of its line, empty ones among them."""
    memory = one.memory
    changed_at = memory.updated_at if memory.updated_at != memory.created_at else None
    return {
        "external_id": memory.external_id or memory.id,
        "created_at": memory.created_at,
        "title": None if one.title_derived else memory.title,
        "content": memory.content,
        **{name: getattr(memory, name) for name in _COPIED},
        "ttl_days": _ttl_days(memory.created_at, memory.expires_at) if memory.expires_at else None,
        "supersedes": one.replaces,
        "links": list(one.links),
        "subjects": list(one.subjects),
        "updated_at": changed_at,
        "access_count": one.access_count or None,
        "accessed_at": one.accessed_at,
    }


_COPIED = (
    "type", "tags", "keywords", "metadata", "entity", "author", "workspace", "thread", "applies_to", "parent",
    "position", "confidence", "occurred_at", "visibility", "tier", "archived_at", "archived_reason",
    "anchor_commit", "key",
)  # fmt: skip


def _ttl_days(created_at: str, expires_at: str) -> float:
    days = (datetime.fromisoformat(expires_at) - datetime.fromisoformat(created_at)) / timedelta(days=1)
    return min(max(days, 1e-8), LONGEST_TTL_DAYS)
