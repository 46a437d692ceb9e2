"""Stores lines that are memories: new ones, known ones that gained something, and those changed at their source."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.domain.actors import Actor
from vaults.domain.import_export.lines import LineRejected, MemoryLine
from vaults.domain.memories import duplicate_merge, indexing, lifecycle, storage
from vaults.domain.memories.duplicate_merge import KnownMemory
from vaults.domain.memories.indexing import NewMemories
from vaults.domain.memories.lifecycle import MemoryChange
from vaults.domain.memories.memory_model import MemoryFields
from vaults.domain.memories.storage import PreparedMemory
from vaults.domain.text.fields import hash_parts
from vaults.errors import InvalidArgument
from vaults.graph.links import memory_subjects
from vaults.graph.links.memory_subjects import MemorySubject
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class ReadyMemory:
    """A memory line ready to be written. ``named``: its external id is its source's, not made of what it says."""

    line: MemoryLine
    prepared: PreparedMemory
    named: bool

    @property
    def external_id(self) -> str:
        assert self.prepared.fields.external_id is not None  # given, or made
        return self.prepared.fields.external_id


def prepare(vault: Vault, actor: Actor, line: MemoryLine, number: int) -> ReadyMemory:
    """Fill in defaults and cut the passages. ``number``: of the line. Raises ``LineRejected``."""
    try:
        prepared = storage.prepare(vault, actor, with_external_id(line, number), line.created_at)
        if line.ttl_days is not None:
            prepared = replace(prepared, expires_at=compute_expiry(line.created_at, line.ttl_days))
    except InvalidArgument as failure:
        raise LineRejected(failure.message.removeprefix("Validation error: ")) from None
    for each in prepared.passages:
        each.columns()  # computed here, not on the database's thread
    return ReadyMemory(line, prepared, named=line.external_id is not None)


def with_external_id(line: MemoryLine, number: int) -> MemoryLine:
    """The line with its external id, or one derived from what makes memories duplicates, so that the file can be
    imported again after the memory was edited. Parts of a conversation without a position may well be equal: the line's
    number tells them apart."""
    if line.external_id is not None:
        return line
    place = number if line.parent is not None and line.position is None else None
    text = " ".join(line.content.split()).casefold()
    own = hash_parts(text, line.workspace, line.applies_to, line.parent, line.position, line.visibility, place)
    return line.model_copy(update={"external_id": f"line:{own}"})


def compute_expiry(created_at: str | None, ttl_days: float) -> str:
    """When a line's memory expires, to the millisecond. Raises ``InvalidArgument``."""
    if created_at is None:
        return clock.days_from_now(ttl_days)
    try:
        return clock.to_text(datetime.fromisoformat(created_at) + timedelta(milliseconds=round(ttl_days * 86_400_000)))
    except OverflowError:
        raise InvalidArgument("ttl_days", "ends beyond the year 9999") from None


def _visible(alias: str) -> str:
    """SQL: true of a memory that counts for ``:viewer``, whose own private ones do; NULL: everybody's do."""
    return f"(:viewer IS NULL OR {alias}.visibility = 'shared' OR {alias}.stored_by = :viewer)"


def find_ids(tx: Reader, ids: Sequence[str], viewer: str | None) -> set[str]:
    """Those of some ids that memories have, given to them or their own, as an export takes them. ``viewer``: whose
    private memories count; None: everybody's."""
    among = "IN (SELECT value FROM json_each(:ids))"
    rows = tx.all(
        f"SELECT m.external_id FROM memories m WHERE m.external_id {among} AND {_visible('m')}"
        f" UNION ALL SELECT m.id FROM memories m WHERE m.id {among} AND {_visible('m')}",
        {"ids": json.dumps(ids), "viewer": viewer},
    )
    return {found for (found,) in rows}


def find_equal(tx: Reader, actor: Actor, one: ReadyMemory) -> Literal[True] | KnownMemory | None:
    """The memory that says what a line without an id of its own says, with what it would gain. Archived memories
    count: importing revives nothing."""
    if one.named or one.prepared.duplicate_key is None:
        return None
    anonymous = one.prepared.fields.model_copy(update={"external_id": None})  # its id was derived from the line
    match = duplicate_merge.find_known(tx, actor, replace(one.prepared, fields=anonymous))
    if match is not None:
        return match if match.stored.added else True
    return True if storage.has_equal(tx, actor, one.prepared) else None


def merge(vault: Vault, tx: Writer, known: KnownMemory) -> None:
    """Add what is new in a line to the memory that says the same."""
    lifecycle.merge_duplicate(vault, tx, known)


@dataclass(frozen=True, slots=True)
class MemoryInserter:
    """Stores new memories, their vectors queued. Several are indexed together: whatever else looks at passages calls
    ``index`` before, and so does whoever ends the transaction. ``viewer``: as in ``find_ids``."""

    actor: Actor
    viewer: str | None
    model: str | None
    new: NewMemories = field(default_factory=NewMemories)

    def insert(self, tx: Writer, one: ReadyMemory) -> tuple[str, str]:
        """Store a memory; returns its id and what it is at."""
        memory_id, source, _ = storage.insert_row(tx, self.actor, one.prepared)
        if one.line.updated_at is not None:
            source = replace(source, item=replace(source.item, modified_at=one.line.updated_at))
        self.new.add(tx, source, one.prepared.passages, self.model)
        if one.line.archived_at is not None or one.line.supersedes is not None:
            self.index(tx)  # passages change, its own or those of another
        _write_extras(tx, self.actor, (source.item.number, memory_id), one.line, self.viewer)
        return memory_id, one.line.updated_at or one.prepared.created_at

    def index(self, tx: Writer) -> None:
        """Make all that was stored searchable."""
        self.new.index(tx, self.model)


_REPLACED = set(MemoryFields.model_fields) - {"ttl_days", "external_id", "key"}


def update(
    vault: Vault, tx: Writer, actor: Actor, memory_id: str, one: ReadyMemory, viewer: str | None
) -> dict[str, Any] | None:
    """Give a memory what its source says now; returns what it said before, for ``restore``, or None where it says so
    already."""
    seq, present = lifecycle.find_current(tx, memory_id)
    fields = one.prepared.fields.model_dump(include=_REPLACED)
    fields |= {
        "author": one.prepared.author,
        "workspace": one.prepared.workspace,
        "expires_at": one.prepared.expires_at if one.line.ttl_days and one.line.created_at else present.expires_at,
        "title": one.prepared.title,
        "occurred_at": one.prepared.occurred_at,
        "archived_at": one.line.archived_at,
        "archived_reason": one.line.archived_reason,
    }
    before = {name: getattr(present, name) for name in fields}
    derived = tx.value("SELECT title_derived FROM memories WHERE seq = :seq", {"seq": seq})
    if one.line.partial:
        fields = _keep_the_rest(one.line, fields, before, is_title_derived=bool(derived))
    if before == fields:
        return None
    is_derived = one.prepared.title_derived if fields["title"] == one.prepared.title else derived
    _change(vault, tx, seq, fields | {"title_derived": int(is_derived)})
    _write_extras(tx, actor, (seq, memory_id), one.line, viewer)
    if one.line.updated_at is not None:
        indexing.refresh_passages(tx, seq)
    return before | {"title_derived": derived}


def _keep_the_rest(
    line: MemoryLine, fields: Mapping[str, Any], present: Mapping[str, Any], *, is_title_derived: bool
) -> dict[str, Any]:
    """What a memory becomes by a line that says only a part of it."""
    said = line.model_fields_set | ({"title"} if is_title_derived else set())
    kept = {name: value if name in said else present[name] for name, value in fields.items()}
    return kept | {"metadata": {**present["metadata"], **fields["metadata"]}}


def restore(vault: Vault, tx: Writer, memory_id: str, before: Mapping[str, Any]) -> None:
    """Give a memory back what ``update`` replaced."""
    seq, _ = lifecycle.find_current(tx, memory_id)
    _change(vault, tx, seq, dict(before))


_SET_DIRECTLY = ("occurred_at", "archived_at", "archived_reason", "title_derived")
"""Columns that a change by a caller sets otherwise, or not at all."""


def _change(vault: Vault, tx: Writer, seq: int, fields: dict[str, Any]) -> None:
    columns = {name: fields.pop(name) for name in _SET_DIRECTLY}
    lifecycle.apply_change(vault, tx, seq, MemoryChange(fields))
    _set_columns(tx, seq, columns)
    indexing.refresh_passages(tx, seq)


def read_state(tx: Reader, memory_id: str) -> str:
    """What a memory is at: it changes whenever somebody changes the memory; empty for one that is gone."""
    return str(tx.value("SELECT updated_at FROM memories WHERE id = :id", {"id": memory_id}) or "")


def _write_extras(tx: Writer, actor: Actor, memory: tuple[int, str], line: MemoryLine, viewer: str | None) -> None:
    """Write what a line has beyond the fields of ``remember``. ``memory``: its row and id."""
    seq, _ = memory
    extras = {"archived_at": line.archived_at, "archived_reason": line.archived_reason, "updated_at": line.updated_at}
    _set_columns(tx, seq, {name: value for name, value in extras.items() if value is not None})
    if line.archived_at is not None:
        indexing.refresh_passages(tx, seq)
    if line.access_count or line.accessed_at is not None:  # some systems know when, but not how often
        accesses = {"memory": seq, "at": line.accessed_at or line.created_at or clock.now(), "times": line.access_count}
        tx.run(
            "INSERT INTO memory_accesses (memory, accessed_at, times) VALUES (:memory, :at, :times)"
            " ON CONFLICT (memory) DO NOTHING",
            accesses,
        )
    if line.supersedes is not None:
        _supersede(tx, memory, line.supersedes, viewer)
    _link(tx, actor, line, viewer)
    for relation, kind, name in line.subjects:
        memory_subjects.add_subject(tx, seq, relation, MemorySubject(kind, name), actor.identity)


def _set_columns(tx: Writer, seq: int, values: Mapping[str, Any]) -> None:
    if values:
        sets = ", ".join(f"{name} = :{name}" for name in values)
        tx.run(f"UPDATE memories SET {sets} WHERE seq = :seq", {**values, "seq": seq})


def _supersede(tx: Writer, memory: tuple[int, str], external_id: str, viewer: str | None) -> None:
    seq, memory_id = memory
    old = tx.one(
        "SELECT m.seq, m.id, m.archived_reason, m.updated_at FROM memories m WHERE (m.external_id = :id OR m.id = :id)"
        f" AND m.seq <> :seq AND m.superseded_by IS NULL AND {_visible('m')}",
        {"id": external_id, "seq": seq, "viewer": viewer},
    )
    if old is None:
        return
    old_seq, old_id, reason, updated_at = old
    if not _is_succeeded_by(tx, memory_id, old_id):  # else neither would be left
        lifecycle.mark_superseded(tx, old_id, memory_id, reason)
        _set_columns(tx, old_seq, {"updated_at": updated_at})  # long ago
        indexing.refresh_passages(tx, old_seq)


def _is_succeeded_by(tx: Reader, memory_id: str, other: str) -> bool:
    """Whether a memory was superseded by another, however many steps on."""
    row = tx.one(
        "WITH RECURSIVE later (id) AS (SELECT superseded_by FROM memories WHERE id = :id UNION"
        " SELECT m.superseded_by FROM memories m JOIN later ON m.id = later.id WHERE m.superseded_by IS NOT NULL)"
        " SELECT 1 FROM later WHERE id = :other",
        {"id": memory_id, "other": other},
    )
    return row is not None


def _link(tx: Writer, actor: Actor, line: MemoryLine, viewer: str | None) -> None:
    """Create the line's links whose ends are both here."""
    for source, relation, target in line.links:
        tx.run(
            "INSERT INTO memory_links (from_memory, relation, to_memory, created_by, created_at)"
            " SELECT a.seq, :relation, b.seq, :by, :now FROM memories a, memories b"
            " WHERE (a.external_id = :source OR a.id = :source) AND (b.external_id = :target OR b.id = :target)"
            f" AND a.seq <> b.seq AND {_visible('a')} AND {_visible('b')}"
            " ON CONFLICT (from_memory, relation, to_memory) DO NOTHING",
            {
                "relation": relation, "by": actor.identity, "now": clock.now(), "source": source, "target": target,
                "viewer": viewer,
            },
        )  # fmt: skip
