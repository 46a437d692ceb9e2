"""Memories kept under a key: one for each key of an owner. Storing again under it changes that memory.

An owner is whoever stored first under the key; others have keys of their own, and cannot ask for this one. What takes
the place of a memory takes its key.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.domain.actors import Actor
from vaults.domain.memories import lifecycle
from vaults.domain.memories.lifecycle import MemoryChange
from vaults.domain.memories.memory_keys import VISIBLE, to_owner_key
from vaults.domain.memories.memory_model import COLUMNS, Memory, MemoryFields, from_row
from vaults.domain.memories.quotas import Quota
from vaults.domain.memories.storage import PreparedMemory, StoreResult
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class KeyedMemory:
    """The memory of a key, and what storing again changes of it; nothing: it says so already."""

    seq: int
    memory: Memory
    change: MemoryChange

    @property
    def is_changed(self) -> bool:
        """Whether anything is to be written."""
        return bool(self.change.fields) or self.change.archived is not None

    @property
    def unchanged(self) -> StoreResult:
        """The answer where it says so already."""
        memory = self.memory
        return StoreResult(memory.id, memory.title, memory.created_at, "ready", duplicate_of=memory.id, key=memory.key)


def find_keyed(tx: Reader, actor: Actor, given: MemoryFields, prepared: PreparedMemory) -> KeyedMemory | None:
    """The memory of the actor's key, archived or expired ones among them. ``given``: as the caller gave it; what it
    does not name stays as it is."""
    row = tx.one(
        f"SELECT {COLUMNS}, m.seq FROM memories m WHERE m.owner_key = :key AND {VISIBLE}",
        {"key": to_owner_key(actor, given.key or ""), "viewer": actor.identity},
    )
    if row is None:
        return None
    *columns, seq = row
    memory = from_row(columns)
    return KeyedMemory(int(seq), memory, _to_change(memory, given.model_fields_set, prepared))


def _to_change(memory: Memory, names: set[str], prepared: PreparedMemory) -> MemoryChange:
    values = {name: getattr(prepared.fields, name) for name in names - {"key", "external_id", "ttl_days"}}
    values |= {name: getattr(prepared, name) for name in ("workspace", "author", "occurred_at") if name in names}
    fields: dict[str, Any] = {
        name: value for name, value in values.items() if value is not None and value != getattr(memory, name)
    }
    if prepared.fields.ttl_days is not None:
        fields["expires_at"] = prepared.expires_at
    elif memory.expires_at is not None and memory.expires_at <= clock.now():
        fields["expires_at"] = None
    return MemoryChange(fields, archived=None if memory.archived_at is None else False)


def change_keyed(vault: Vault, tx: Writer, actor: Actor, known: KeyedMemory, quota: Quota) -> StoreResult:
    """Have the memory say what was stored under its key again."""
    if not known.is_changed:
        return known.unchanged
    fields = known.change.fields
    lifecycle.check_visibility_change(tx, known.seq, actor, fields)
    changed = lifecycle.apply_change(vault, tx, known.seq, known.change)
    if known.change.archived is False:
        quota.room(tx, 0)  # back from the archive, it takes room again
    embedding: Literal["ready", "pending"] = "pending" if {"content", "title"} & fields.keys() else "ready"
    told = replace(known.unchanged, duplicate_of=None, title=changed.title)
    return replace(told, version=changed.version, embedding=embedding)
