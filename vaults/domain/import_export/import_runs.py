"""Runs of imports, and what each brought: by it a second run knows a record again, and a run can be undone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from uuid_utils import uuid7

from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.domain.actors import Actor
from vaults.errors import Conflict, NotFound


@dataclass(frozen=True, slots=True)
class ImportRun:
    """One import. ``counts``: by kind of record and by what became of it; ``ended_at`` None: still running, or
    killed."""

    seq: int
    id: str
    source: str
    path: str
    who: str
    started_at: str
    ended_at: str | None = None
    undone_at: str | None = None
    counts: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def brought(self) -> int:
        """Records it stored or changed."""
        return sum(found.get("stored", 0) + found.get("updated", 0) for found in self.counts.values())


@dataclass(frozen=True, slots=True)
class ImportedRecord:
    """What a line became. ``run`` created it; ``hash``: of the line it was last brought by; ``key``: of the item;
    ``state``: how it was left, to notice that it was changed here."""

    kind: str
    external_id: str
    run: int
    key: tuple[Any, ...]
    hash: str
    state: str


@dataclass(frozen=True, slots=True)
class ImportedChange:
    """What a later run changed of a record. ``hash``: of the line before; ``before``: what was replaced."""

    record: ImportedRecord
    run: int
    hash: str
    before: Any
    is_last: bool


_COLUMNS = "seq, id, source, path, who, started_at, ended_at, undone_at, counts"


def begin(tx: Writer, actor: Actor, source: str, path: str) -> ImportRun:
    """Record that an import starts."""
    values = {
        "id": str(uuid7()), "source": source, "path": path, "owner": actor.identity, "who": actor.name,
        "now": clock.now(),
    }  # fmt: skip
    tx.note_change("import", values["id"], None, "begun")
    seq = tx.insert(
        "INSERT INTO import_runs (id, source, path, owner, who, started_at)"
        " VALUES (:id, :source, :path, :owner, :who, :now)",
        values,
    )
    return ImportRun(seq=seq, id=values["id"], source=source, path=path, who=actor.name, started_at=values["now"])


def begin_of_day(tx: Writer, actor: Actor, source: str) -> ImportRun:
    """The actor's run of a source that began today, or a new one: for what comes in small pieces all day. Each piece is
    whole, so the run counts as ended from the start."""
    today = clock.now()[:10]
    row = tx.one(
        f"SELECT {_COLUMNS} FROM import_runs WHERE owner = :owner AND source = :source AND undone_at IS NULL"
        " AND substr(started_at, 1, 10) = :today ORDER BY seq DESC LIMIT 1",
        {"owner": actor.identity, "source": source, "today": today},
    )
    if row is not None:
        return _from_row(row)
    run = begin(tx, actor, source, today)
    tx.run("UPDATE import_runs SET ended_at = started_at WHERE seq = :run", {"run": run.seq})
    return replace(run, ended_at=run.started_at)


def record_counts(tx: Writer, run: int, counts: dict[str, dict[str, int]]) -> None:
    """Add to what became of the records of a run."""
    stored: dict[str, dict[str, int]] = json.loads(
        tx.value("SELECT counts FROM import_runs WHERE seq = :run", {"run": run})
    )
    for kind, outcomes in counts.items():
        there = stored.setdefault(kind, {})
        for outcome, number in outcomes.items():
            there[outcome] = there.get(outcome, 0) + number
    tx.run("UPDATE import_runs SET counts = :counts WHERE seq = :run", {"run": run, "counts": json.dumps(stored)})


def end(tx: Writer, run: int) -> None:
    """Record that an import read its source to the end. One that brought nothing is forgotten."""
    _note_state(tx, run, "ended")
    if not has_records(tx, run):
        tx.run("DELETE FROM import_runs WHERE seq = :run", {"run": run})
    tx.run("UPDATE import_runs SET ended_at = :now WHERE seq = :run", {"run": run, "now": clock.now()})


def _note_state(tx: Writer, run: int, state: str) -> None:
    row = tx.one("SELECT id, ended_at FROM import_runs WHERE seq = :run", {"run": run})
    if row is not None:
        tx.note_change("import", row[0], "begun" if row[1] is None else "ended", state)


def mark_undone(tx: Writer, run: int) -> None:
    """Record that a run was taken back."""
    _note_state(tx, run, "undone")
    tx.run("UPDATE import_runs SET undone_at = :now WHERE seq = :run", {"run": run, "now": clock.now()})


def find(tx: Reader, actor: Actor, run_id: str) -> ImportRun:
    """One of the actor's runs, by its id or the start of it. Raises ``NotFound``, and ``Conflict`` for a start that
    several share."""
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM import_runs WHERE owner = :owner AND substr(id, 1, length(:id)) = :id LIMIT 2",
        {"owner": actor.identity, "id": run_id.lower()},
    )
    if not rows or not run_id:
        raise NotFound(f"no import {run_id[:64]}")
    if len(rows) > 1:
        raise Conflict(f"several imports begin with {run_id[:64]}", hint="give more of the id")
    return _from_row(rows[0])


def list_runs(tx: Reader, actor: Actor, limit: int) -> list[ImportRun]:
    """The actor's runs, newest first."""
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM import_runs WHERE owner = :owner ORDER BY seq DESC LIMIT :limit",
        {"owner": actor.identity, "limit": limit},
    )
    return [_from_row(row) for row in rows]


def _from_row(row: Sequence[Any]) -> ImportRun:
    seq, run_id, source, path, who, started_at, ended_at, undone_at, counts = row
    return ImportRun(
        seq=seq,
        id=run_id,
        source=source,
        path=path,
        who=who,
        started_at=started_at,
        ended_at=ended_at,
        undone_at=undone_at,
        counts=json.loads(counts),
    )


_RECORD = "r.kind, r.external_id, r.run, r.item, r.hash, r.state"
_IDENTITY = "kind = :kind AND external_id = :external_id AND owner = :owner"


RecordKey: TypeAlias = tuple[str, str]
"""Kind and external id of a line."""


def find_records(tx: Reader, actor: Actor, lines: Iterable[RecordKey]) -> dict[RecordKey, ImportedRecord]:
    """What earlier lines with these ids became."""
    by_kind: dict[str, list[str]] = {}
    for kind, external_id in lines:
        by_kind.setdefault(kind, []).append(external_id)
    return {
        (record.kind, record.external_id): record
        for kind, ids in by_kind.items()
        for record in map(
            _to_record,
            tx.all(
                f"SELECT {_RECORD} FROM import_records r WHERE kind = :kind AND owner = :owner"
                " AND external_id IN (SELECT value FROM json_each(:ids))",
                {"kind": kind, "owner": actor.identity, "ids": json.dumps(ids)},
            ),
        )
    }


def _to_record(row: Sequence[Any]) -> ImportedRecord:
    kind, external_id, run, item, digest, state = row
    return ImportedRecord(
        kind=kind, external_id=external_id, run=run, key=tuple(json.loads(item)), hash=digest, state=state
    )


def _identify(actor: Actor, kind: str, external_id: str) -> dict[str, Any]:
    return {"kind": kind, "external_id": external_id, "owner": actor.identity}


def record_creations(tx: Writer, actor: Actor, records: Sequence[ImportedRecord]) -> None:
    """Remember what lines became."""
    tx.many(
        "INSERT INTO import_records (kind, external_id, owner, run, item, hash, state)"
        " VALUES (:kind, :external_id, :owner, :run, :item, :hash, :state)"
        " ON CONFLICT (kind, external_id, owner) DO UPDATE SET run = excluded.run, item = excluded.item,"
        " hash = excluded.hash, state = excluded.state",
        [
            {
                "kind": each.kind, "external_id": each.external_id, "owner": actor.identity, "run": each.run,
                "item": json.dumps(each.key), "hash": each.hash, "state": each.state,
            }
            for each in records
        ],
    )  # fmt: skip


def record_change(tx: Writer, actor: Actor, run: int, before: Any, was: ImportedRecord, now: ImportedRecord) -> None:
    """Remember that a run brought another line for a record, and what that replaced."""
    identity = _identify(actor, was.kind, was.external_id)
    tx.run(
        "INSERT INTO import_changes (run, kind, external_id, owner, hash, before)"
        " VALUES (:run, :kind, :external_id, :owner, :hash, :before)"
        " ON CONFLICT (kind, external_id, owner, run) DO NOTHING",  # the first of a run knows what was there before it
        identity | {"run": run, "hash": was.hash, "before": json.dumps(before, ensure_ascii=False)},
    )
    _update(tx, identity, now.hash, now.state)


def _update(tx: Writer, identity: dict[str, Any], digest: str, state: str) -> None:
    tx.run(
        f"UPDATE import_records SET hash = :hash, state = :state WHERE {_IDENTITY}",
        identity | {"hash": digest, "state": state},
    )


def take_change_back(tx: Writer, actor: Actor, change: ImportedChange, state: str | None) -> None:
    """Forget a change. ``state``: what the restored item is at; None: it was left as it is."""
    identity = _identify(actor, change.record.kind, change.record.external_id)
    tx.run(f"DELETE FROM import_changes WHERE {_IDENTITY} AND run = :run", identity | {"run": change.run})
    if state is not None:
        _update(tx, identity, change.hash, state)


def read_changes(tx: Reader, actor: Actor, run: int, limit: int) -> list[ImportedChange]:
    """Changes of a run, the newest first."""
    rows = tx.all(
        f"SELECT {_RECORD}, c.run, c.hash, c.before, NOT EXISTS (SELECT 1 FROM import_changes l WHERE l.kind = c.kind"
        " AND l.external_id = c.external_id AND l.owner = c.owner AND l.run > c.run)"
        " FROM import_changes c JOIN import_records r USING (kind, external_id, owner)"
        " WHERE c.run = :run AND c.owner = :owner ORDER BY c.rowid DESC LIMIT :limit",
        {"run": run, "owner": actor.identity, "limit": limit},
    )
    return [
        ImportedChange(_to_record(row), change_run, digest, json.loads(before), bool(is_last))
        for *row, change_run, digest, before, is_last in rows
    ]


def read_created(tx: Reader, actor: Actor, run: int, limit: int) -> list[ImportedRecord]:
    """Records a run created, the newest first: what was built on others goes first."""
    rows = tx.all(
        f"SELECT {_RECORD} FROM import_records r WHERE run = :run AND owner = :owner ORDER BY rowid DESC LIMIT :limit",
        {"run": run, "owner": actor.identity, "limit": limit},
    )
    return [_to_record(row) for row in rows]


def forget_record(tx: Writer, actor: Actor, record: ImportedRecord) -> None:
    """Forget what a line became, so that a later import brings it again."""
    tx.run(f"DELETE FROM import_records WHERE {_IDENTITY}", _identify(actor, record.kind, record.external_id))


def has_records(tx: Reader, run: int) -> bool:
    """Whether a run brought anything."""
    return any(
        tx.one(f"SELECT 1 FROM {table} WHERE run = :run", {"run": run})
        for table in ("import_records", "import_changes")
    )
