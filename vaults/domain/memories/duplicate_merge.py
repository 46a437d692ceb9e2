"""A memory given a second time: which one it is, what it gains, and what stays as it was.

Only the caller's own memory gains anything. Another's that says the same is recognised and left alone: the answer names
what it lacks, and ``memory_update`` can add it. The text itself is equal, and so is who may see it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.memories import storage
from vaults.domain.memories.memory_model import COLUMNS, Memory, from_row
from vaults.domain.memories.storage import PreparedMemory, StoreResult
from vaults.domain.text.fields import check_json_size

MAX_ENTRIES = 20
"""Max tags of a memory; max keywords too."""

FOREVER = "never"
"""The expiry reported for a memory that has none."""

_FILLED_IN = ("thread", "entity", "confidence", "anchor_commit", "external_id")
"""Fields that are taken over only where the memory had none."""


@dataclass(frozen=True, slots=True)
class KnownMemory:
    """The memory that already says so. ``stored`` is the answer; ``fields`` and ``tags`` are what it gains."""

    stored: StoreResult
    seq: int
    fields: Mapping[str, Any]
    tags: Sequence[str]


@dataclass(slots=True)
class _Addition:
    """What a known memory gains from one that repeats it."""

    fields: dict[str, Any] = field(default_factory=dict)  # new values, whole
    tags: list[str] = field(default_factory=list)
    added: dict[str, Any] = field(default_factory=dict)  # by field, what is new in them
    kept: dict[str, Any] = field(default_factory=dict)  # by field, what stays although another value was given

    def take(self, name: str, value: Any) -> None:
        self.fields[name] = self.added[name] = value


def find_known(tx: Reader, actor: Actor, new: PreparedMemory) -> KnownMemory | None:
    """The living memory that says the same as ``new``, if any."""
    stored = storage.find_duplicate(tx, actor, new)
    if stored is None:
        return None
    row = tx.one(
        f"SELECT {COLUMNS}, m.title_derived, m.stored_by, m.seq FROM memories m WHERE m.id = :id", {"id": stored.id}
    )
    assert row is not None
    *columns, derived, stored_by, seq = row
    existing = from_row(columns)
    addition = _find_addition(existing, new, titled=not derived)
    if stored_by == actor.identity and existing.author == new.author:
        answer = replace(stored, added=addition.added or None, kept=addition.kept or None)
        return KnownMemory(answer, int(seq), addition.fields, addition.tags)
    left = {name: getattr(existing, name) for name in addition.added} | addition.kept
    return KnownMemory(replace(stored, kept=left or None), int(seq), {}, [])


def _find_addition(existing: Memory, new: PreparedMemory, *, titled: bool) -> _Addition:
    addition, fields = _Addition(), new.fields
    given = {name: getattr(fields, name) for name in _FILLED_IN} | {"occurred_at": new.occurred_at}
    for name, value in given.items():
        _fill(addition, name, getattr(existing, name), value)
    _fill(
        addition,
        "type",
        None if existing.type == "raw" else existing.type,
        None if fields.type == "raw" else fields.type,
    )
    _fill(addition, "title", existing.title if titled else None, fields.title)
    for name, now, then in (
        ("author", new.author, existing.author),
        ("applies_to", fields.applies_to, existing.applies_to),  # narrowing or widening it would contradict the first
        ("tier", existing.tier if fields.tier == "warm" else fields.tier, existing.tier),
    ):
        if now != then:
            addition.kept[name] = then
    addition.tags = _new_entries(addition, "tags", existing.tags, fields.tags)
    if words := _new_entries(addition, "keywords", existing.keywords, fields.keywords):
        addition.fields["keywords"] = [*existing.keywords, *words]
    _add_metadata(addition, existing.metadata, fields.metadata)
    _extend_expiry(addition, existing.expires_at, new.expires_at)
    return addition


def _fill(addition: _Addition, name: str, existing: Any, new: Any) -> None:
    if new is None or new == existing:
        return
    if existing is None:
        addition.take(name, new)
    else:
        addition.kept[name] = existing


def _new_entries(addition: _Addition, name: str, existing: Sequence[str], new: Sequence[str]) -> list[str]:
    """Entries of ``new`` the memory lacks, as long as there is room."""
    fresh = [each for each in dict.fromkeys(new) if each not in existing]
    taken = fresh[: max(0, MAX_ENTRIES - len(existing))]
    if taken:
        addition.added[name] = taken
    if len(taken) < len(fresh):
        addition.kept[name] = list(existing)
    return taken


def _add_metadata(addition: _Addition, existing: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Adds new keys as long as there is room; an existing key keeps its value."""
    whole, kept = dict(existing), dict[str, Any]()
    for name, value in new.items():
        if name in existing:
            kept |= {name: existing[name]} if existing[name] != value else {}
            continue
        try:
            whole = check_json_size({**whole, name: value}, 10)
        except ValueError:
            kept[name] = None
    if len(whole) > len(existing):
        addition.fields["metadata"] = whole
        addition.added["metadata"] = {name: value for name, value in whole.items() if name not in existing}
    if kept:
        addition.kept["metadata"] = kept


def _extend_expiry(addition: _Addition, existing: str | None, new: str | None) -> None:
    """The later of two expiries counts: what was given without one must not expire."""
    if existing is None or (new is not None and new <= existing):
        if new is not None and new != existing:
            addition.kept["expires_at"] = existing or FOREVER
        return
    addition.fields["expires_at"] = new
    addition.added["expires_at"] = new or FOREVER
