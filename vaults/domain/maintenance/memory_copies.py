"""One memory out of another state of the vault, such as a backup, put back under its id."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from vaults.db.sql import Reader, Writer
from vaults.domain.actors import Actor
from vaults.domain.maintenance import eviction_copies
from vaults.domain.maintenance.eviction_copies import ItemRows, TableRows
from vaults.domain.memories import lifecycle, visibility
from vaults.domain.memories.lifecycle import MemoryChange
from vaults.domain.memories.memory_model import Memory
from vaults.errors import AlreadyExists, Conflict, NotFound
from vaults.vault import Vault

_TABLES = {
    "memories": "seq = :item",
    "memory_accesses": "memory = :item",
    "memory_links": "from_memory = :item OR to_memory = :item",
    "memory_subjects": "from_memory = :item",
}
_NAMING = {"memories": ("seq",), "memory_accesses": ("memory",), "memory_links": ("from_memory", "to_memory"),
           "memory_subjects": ("from_memory",)}  # fmt: skip
"""Columns that hold the number of a memory."""

_LISTS = ("tags", "keywords", "metadata")
_SAID = (
    "title", "content", "type", *_LISTS, "entity", "author", "workspace", "thread", "applies_to", "confidence",
    "visibility", "tier",
)  # fmt: skip
"""What a memory says and where it counts, as against what became of it."""


@dataclass(frozen=True, slots=True)
class MemoryCopy:
    """The rows of a memory, and the ids of the memories whose numbers stand in them."""

    rows: ItemRows
    ids: Mapping[int, str]

    @property
    def memory(self) -> dict[str, Any]:
        head = self.rows[0]
        return dict(zip(head.columns, head.rows[0], strict=True))


def read_copy(tx: Reader, memory_id: str, viewer: Actor | None = None) -> MemoryCopy:
    """A memory that ``viewer`` may see, with its links; None: the operator, who may see any. Raises ``NotFound``."""
    seq = tx.value(
        "SELECT seq FROM memories WHERE id = :id AND (:viewer IS NULL OR visibility = 'shared' OR stored_by = :viewer)",
        {"id": memory_id, "viewer": None if viewer is None else viewer.identity},
    )
    if seq is None:
        raise NotFound(f"there was no memory {memory_id[:64]} then")
    rows = [eviction_copies.read_rows(tx, table, where, int(seq)) for table, where in _TABLES.items()]
    numbers = {row[each.columns.index(name)] for each in rows for name in _NAMING[each.table] for row in each.rows}
    ids = {number: tx.value("SELECT id FROM memories WHERE seq = :seq", {"seq": number}) for number in numbers}
    return MemoryCopy(rows, {int(number): str(id_) for number, id_ in ids.items() if id_ is not None})


async def put_back(vault: Vault, copy: MemoryCopy, *, replacing: bool = False, viewer: Actor | None = None) -> Memory:
    """Have the memory again, under its id, with the links to memories that are still there. One that is there already
    is left alone (``AlreadyExists``); or it says again what it said, as a new version of it. Raises ``Conflict`` where
    another memory has taken its key or external id, ``NotFound`` for one that became private since, not to
    ``viewer``."""
    vault.check_writable()
    await vault.adopt_model()
    stored = await vault.db.write(partial(_put_back, vault, copy, replacing, viewer))
    vault.start_background_work()
    return stored


def _put_back(vault: Vault, copy: MemoryCopy, replacing: bool, viewer: Actor | None, tx: Writer) -> Memory:  # noqa: FBT001
    memory_id = str(copy.memory["id"])
    seq = tx.value("SELECT seq FROM memories WHERE id = :id", {"id": memory_id})
    if seq is not None and viewer is not None:
        visibility.find_visible(tx, memory_id, viewer)
    if seq is None:
        if not eviction_copies.put_back(vault, tx, _renumber(tx, copy)):
            raise Conflict(
                "another memory has taken its key or external id", hint="change that one first", id=memory_id
            )
        private = copy.memory["visibility"] == "private"
        tx.note_change("memory", memory_id, None, None if private else str(copy.memory["content_hash"]))
    elif not replacing:
        raise AlreadyExists(
            f"memory {memory_id} is there", hint="with replace it says again what it said", id=memory_id
        )
    else:
        lifecycle.apply_change(vault, tx, int(seq), MemoryChange(_what_it_said(copy.memory), archived=False))
    return lifecycle.find_current(tx, memory_id)[1]


def _what_it_said(memory: Mapping[str, Any]) -> dict[str, Any]:
    said = {name: memory[name] for name in _SAID}
    return said | {name: json.loads(said[name]) for name in _LISTS}


def _renumber(tx: Reader, copy: MemoryCopy) -> ItemRows:
    """The rows with the numbers the memories have here. The memory keeps its own, unless another has it now."""
    own = int(copy.memory["seq"])
    numbers = {
        number: int(here)
        for number, id_ in copy.ids.items()
        if (here := tx.value("SELECT seq FROM memories WHERE id = :id", {"id": id_})) is not None
    }
    taken = tx.one("SELECT 1 FROM memories WHERE seq = :seq", {"seq": own}) is not None
    numbers[own] = int(tx.value("SELECT seq FROM sqlite_sequence WHERE name = 'memories'")) + 1 if taken else own
    return [_renumber_rows(each, numbers) for each in copy.rows]


def _renumber_rows(rows: TableRows, numbers: Mapping[int, int]) -> TableRows:
    places = [rows.columns.index(name) for name in _NAMING[rows.table]]
    known = [row for row in rows.rows if all(row[place] in numbers for place in places)]
    return replace(rows, rows=[[numbers[v] if place in places else v for place, v in enumerate(row)] for row in known])
