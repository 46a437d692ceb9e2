"""A memory given a second time: which one it is, what it gains, and what stays as it was.

Only the caller's own memory gains anything. Another's that says the same is recognised and left alone: the answer names
what it lacks, and ``memory_update`` can add it. The text itself is equal, and so is who may see it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from vaults.db.sql import Reader
from vaults.domain.memories import storage
from vaults.domain.memories.memory_model import COLUMN_COUNT, COLUMNS, Actor, Memory, check_json_size, from_row
from vaults.domain.memories.storage import PreparedMemory, StoreResult

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


def find_known(tx: Reader, actor: Actor, told: PreparedMemory) -> KnownMemory | None:
    """The living memory that says the same as ``told``, if any."""
    stored = storage.find_duplicate(tx, actor, told)
    if stored is None:
        return None
    row = tx.one(
        f"SELECT {COLUMNS}, m.title_derived, m.stored_by, m.seq FROM memories m WHERE m.id = :id", {"id": stored.id}
    )
    assert row is not None
    held, derived, own = from_row(row), bool(row[COLUMN_COUNT]), row[COLUMN_COUNT + 1] == actor.identity
    addition = _find_addition(held, told, titled=not derived)
    if own and held.author == told.author:
        answer = replace(stored, added=addition.added or None, kept=addition.kept or None)
        return KnownMemory(answer, int(row[COLUMN_COUNT + 2]), addition.fields, addition.tags)
    left = {name: getattr(held, name) for name in addition.added} | addition.kept
    return KnownMemory(replace(stored, kept=left or None), int(row[COLUMN_COUNT + 2]), {}, [])


def _find_addition(held: Memory, told: PreparedMemory, *, titled: bool) -> _Addition:
    addition, fields = _Addition(), told.fields
    given = {name: getattr(fields, name) for name in _FILLED_IN} | {"occurred_at": told.occurred_at}
    for name, value in given.items():
        _fill(addition, name, getattr(held, name), value)
    _fill(addition, "type", None if held.type == "raw" else held.type, None if fields.type == "raw" else fields.type)
    _fill(addition, "title", held.title if titled else None, fields.title)
    for name, now, then in (
        ("author", told.author, held.author),
        ("applies_to", fields.applies_to, held.applies_to),  # narrowing or widening it would contradict the first
        ("tier", held.tier if fields.tier == "warm" else fields.tier, held.tier),
    ):
        if now != then:
            addition.kept[name] = then
    addition.tags = _new_entries(addition, "tags", held.tags, fields.tags)
    if words := _new_entries(addition, "keywords", held.keywords, fields.keywords):
        addition.fields["keywords"] = [*held.keywords, *words]
    _add_metadata(addition, held.metadata, fields.metadata)
    _extend_expiry(addition, held.expires_at, told.expires_at)
    return addition


def _fill(addition: _Addition, name: str, held: Any, told: Any) -> None:
    if told is None or told == held:
        return
    if held is None:
        addition.take(name, told)
    else:
        addition.kept[name] = held


def _new_entries(addition: _Addition, name: str, held: Sequence[str], told: Sequence[str]) -> list[str]:
    """Those of ``told`` that are new, as long as there is room."""
    fresh = [each for each in dict.fromkeys(told) if each not in held]
    taken = fresh[: max(0, MAX_ENTRIES - len(held))]
    if taken:
        addition.added[name] = taken
    if len(taken) < len(fresh):
        addition.kept[name] = list(held)
    return taken


def _add_metadata(addition: _Addition, held: Mapping[str, Any], told: Mapping[str, Any]) -> None:
    """Adds new keys as long as there is room; an existing key keeps its value."""
    whole, kept = dict(held), dict[str, Any]()
    for name, value in told.items():
        if name in held:
            kept |= {name: held[name]} if held[name] != value else {}
            continue
        try:
            whole = check_json_size({**whole, name: value}, 10)
        except ValueError:
            kept[name] = None
    if len(whole) > len(held):
        addition.fields["metadata"] = whole
        addition.added["metadata"] = {name: value for name, value in whole.items() if name not in held}
    if kept:
        addition.kept["metadata"] = kept


def _extend_expiry(addition: _Addition, held: str | None, told: str | None) -> None:
    """The later of two expiries counts: what was given without one must not expire."""
    if held is None or (told is not None and told <= held):
        if told is not None and told != held:
            addition.kept["expires_at"] = held or FOREVER
        return
    addition.fields["expires_at"] = told
    addition.added["expires_at"] = told or FOREVER
