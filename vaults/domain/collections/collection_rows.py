"""The rows of collections and of their states."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.domain.collections.collection_model import Collection, CollectionFields, CollectionState
from vaults.errors import AlreadyExists, NotFound

DOCUMENT_KEYS = "collection:"
"""What the external ids of collections' documents begin with."""

_FIELDS = ("name", "kind", "root", "include", "exclude", "context", "workspace", "watch")
_COLUMNS = ("seq", "revision", "added_by", "created_at", "modified_at", *_FIELDS)
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM collections"
_STATE = (
    "revision", "phase", "reason", "watching", "read_at", "head", "device", "files", "documents", "problems", "bytes",
    "left_out",
)  # fmt: skip


def list_collections(tx: Reader) -> list[Collection]:
    """All that are not being removed, by name."""
    return [_from_row(row) for row in tx.all(f"{_SELECT} WHERE removed = 0 ORDER BY name")]


def find_collection(tx: Reader, name: str) -> Collection:
    """The one of this name. Raises ``NotFound``."""
    row = tx.one(f"{_SELECT} WHERE name = :name AND removed = 0", {"name": name})
    if row is None:
        raise NotFound(f"no collection {name}")
    return _from_row(row)


def is_current(tx: Reader, collection: Collection) -> bool:
    """Whether it is still as it was when it was read from its row."""
    found = tx.value("SELECT revision FROM collections WHERE seq = :seq AND removed = 0", {"seq": collection.seq})
    return bool(found == collection.revision)


def insert(tx: Writer, fields: CollectionFields, added_by: str) -> Collection:
    """Raises ``AlreadyExists``."""
    _refuse_taken(tx, fields.name)
    row = _to_columns(fields) | {"revision": 1, "removed": 0, "added_by": added_by}
    row |= dict.fromkeys(("created_at", "modified_at"), clock.now())
    tx.insert(f"INSERT INTO collections ({', '.join(row)}) VALUES ({', '.join(f':{name}' for name in row)})", row)
    tx.note_change("collection", fields.name, None, "1")
    return find_collection(tx, fields.name)


def change(tx: Writer, known: Collection, fields: CollectionFields) -> Collection:
    """Give a collection these fields, so that it is looked at again. Raises ``AlreadyExists``."""
    if fields.name != known.fields.name:
        _refuse_taken(tx, fields.name)
    row = _to_columns(fields) | {"modified_at": clock.now()}
    sets = ", ".join(f"{name} = :{name}" for name in row)
    tx.run(f"UPDATE collections SET {sets}, revision = revision + 1 WHERE seq = :seq", row | {"seq": known.seq})
    tx.note_change("collection", known.fields.name, str(known.revision), str(known.revision + 1))
    return find_collection(tx, fields.name)


def mark_removed(tx: Writer, known: Collection) -> None:
    """Have nobody see it any more; its documents are deleted step by step."""
    tx.run("UPDATE collections SET removed = 1, revision = revision + 1 WHERE seq = :seq", {"seq": known.seq})
    tx.note_change("collection", known.fields.name, str(known.revision), None)


def find_removed(tx: Reader) -> list[int]:
    """Those that are being removed, by ``seq``."""
    return [int(seq) for (seq,) in tx.all("SELECT seq FROM collections WHERE removed = 1 ORDER BY seq")]


def delete(tx: Writer, seq: int) -> None:
    """Delete the row of a collection that has no files any more."""
    tx.run("DELETE FROM collections WHERE seq = :seq AND removed = 1", {"seq": seq})


def read_states(tx: Reader) -> dict[int, CollectionState]:
    """States by ``seq``; one that was never looked at has none."""
    rows = tx.all(f"SELECT collection, {', '.join(_STATE)} FROM collection_states")
    return {int(seq): _to_state(values) for seq, *values in rows}


def read_state(tx: Reader, seq: int) -> CollectionState:
    """The state of one collection."""
    row = tx.one(f"SELECT {', '.join(_STATE)} FROM collection_states WHERE collection = :seq", {"seq": seq})
    return CollectionState() if row is None else _to_state(row)


def write_state(tx: Writer, seq: int, state: CollectionState) -> None:
    """Record the state of a collection, unless it is gone."""
    row = {**asdict(state), "left_out": json.dumps(dict(state.left_out)), "collection": seq}
    sets = ", ".join(f"{name} = excluded.{name}" for name in _STATE)
    tx.run(
        f"INSERT INTO collection_states (collection, {', '.join(_STATE)})"
        f" SELECT :collection, {', '.join(f':{name}' for name in _STATE)}"
        " WHERE EXISTS (SELECT 1 FROM collections WHERE seq = :collection)"
        f" ON CONFLICT (collection) DO UPDATE SET {sets}",
        row,
    )


def update_state(tx: Writer, seq: int, **values: Any) -> None:
    """Change some fields of a collection's state."""
    write_state(tx, seq, replace(read_state(tx, seq), **values))


def read_heads(tx: Reader) -> dict[str, str]:
    """The commits checked out in collections of code, by the collection's name."""
    rows = tx.all(
        "SELECT c.name, s.head FROM collections c JOIN collection_states s ON s.collection = c.seq"
        " WHERE c.removed = 0 AND s.head IS NOT NULL"
    )
    return dict(rows)


def _refuse_taken(tx: Reader, name: str) -> None:
    if tx.one("SELECT 1 FROM collections WHERE name = :name AND removed = 0", {"name": name}):
        raise AlreadyExists(f"collection {name} exists already", hint="choose another name, or update that one")


def _to_columns(fields: CollectionFields) -> dict[str, Any]:
    return {
        **{name: getattr(fields, name) for name in _FIELDS},
        "root": str(fields.root),
        "include": json.dumps(fields.include),
        "exclude": json.dumps(fields.exclude),
        "watch": int(fields.watch),
    }


def _from_row(row: Sequence[Any]) -> Collection:
    seq, revision, added_by, created_at, modified_at, *values = row
    given = dict(zip(_FIELDS, values, strict=True))
    given |= {name: tuple(json.loads(given[name])) for name in ("include", "exclude")}
    fields = CollectionFields(**{**given, "root": Path(given["root"]), "watch": bool(given["watch"])})
    return Collection(int(seq), int(revision), added_by, created_at, modified_at, fields)


def _to_state(values: Sequence[Any]) -> CollectionState:
    given = dict(zip(_STATE, values, strict=True))
    return CollectionState(**{**given, "left_out": json.loads(given["left_out"])})
