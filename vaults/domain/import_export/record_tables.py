"""The tables behind lines that are neither memories nor files: how a line becomes a row, and a row a line again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from uuid_utils import uuid7

from vaults import clock
from vaults.change_notes import ContentHash, owned_hash
from vaults.db.sql import Reader, Writer
from vaults.domain.actors import GLOBAL, Actor, workspace_key
from vaults.domain.continuity.checkpoints import EMPTY_TOKENS
from vaults.domain.import_export import lines
from vaults.domain.text.fields import hash_parts
from vaults.graph.link_feedback import link_trust
from vaults.markdown.link_resolution import name_key
from vaults.search import tokenizer

HANDOFF_DAYS = 14
"""Days after which a handoff without an end of its own expires, as one made here."""

RowValues = dict[str, Any]
Finder = Callable[[Reader, Actor, str], Any]
"""Finds what an external id stands for in this vault; None: it is not here."""


def find_session_row(tx: Reader, actor: Actor, external_id: str) -> int | None:
    """The row of a session, by its external id or, from an export of this vault, its own."""
    found: int | None = tx.value(
        "SELECT s.seq FROM sessions s WHERE s.id = :id AND s.owner = :owner OR json_array(s.id) ="
        " (SELECT item FROM import_records WHERE kind = 'session' AND external_id = :id AND owner = :owner)",
        {"id": external_id, "owner": actor.identity},
    )
    return found


def find_memory_id(tx: Reader, actor: Actor, external_id: str) -> str:
    """The id of a memory the actor may see, by its external id or its own; what is no memory's stays as it is."""
    found: str | None = tx.value(
        "SELECT id FROM memories WHERE (external_id = :id OR id = :id) AND (visibility = 'shared' OR stored_by = :by)",
        {"id": external_id, "by": actor.identity},
    )
    return found or external_id


def _name_keys(names: Sequence[str]) -> list[str]:
    return [name_key(name) for name in names]


def _shared(actor: Actor, line: Any) -> RowValues:
    return {"owner": actor.identity, "who": line.who or actor.name}


def _past(at: str) -> str:
    """A time that is not to come: what it says of a state would stay the newest until then."""
    return min(at, clock.now())


def _workspace(line: Any) -> str:
    return workspace_key(line.workspace or GLOBAL)


def _json(values: Any) -> str:
    return json.dumps(values, ensure_ascii=False)


def _session(actor: Actor, line: lines.SessionLine) -> RowValues:
    seen = line.seen_at or line.ended_at or line.started_at
    return _shared(actor, line) | {
        "id": str(uuid7()), "name": f"import:{line.external_id}", "client": line.client, "transport": "import",
        "workspace": _workspace(line), "status": line.status, "goal": line.goal, "summary": line.summary,
        "actions": _json(line.actions), "outcomes": _json(line.outcomes), "where_left_off": line.where_left_off,
        "metadata": _json(line.metadata), "started_at": line.started_at, "seen_at": seen,
        "saved_at": seen if line.summary else None, "ended_at": line.ended_at or seen,
    }  # fmt: skip


def _write_threads(tx: Writer, key: Sequence[Any], line: lines.SessionLine) -> None:
    tx.many(
        "INSERT INTO session_threads (session, thread, at) SELECT seq, :thread, seen_at FROM sessions WHERE id = :id"
        " ON CONFLICT (thread, session) DO NOTHING",
        [{"thread": thread, "id": key[0]} for thread in line.threads],
    )


def _event(actor: Actor, line: lines.EventLine) -> RowValues:
    return {
        "at": line.at, "session": line.session, "owner": actor.identity, "tool": line.tool, "type": line.type,
        "resource": line.resource, "summary": line.type.replace("_", " "), "outcome": line.outcome, "ms": line.ms,
        "tokens_in": 0, "tokens_out": 0,
    }  # fmt: skip


def _claim(_: Actor, line: lines.ClaimLine) -> RowValues:
    return {
        "resource": line.resource, "session": line.session, "description": line.description,
        "claimed_at": line.claimed_at,
    }  # fmt: skip


def _handoff(actor: Actor, line: lines.HandoffLine) -> RowValues:
    created_at = _past(line.created_at)
    end = clock.to_text(datetime.fromisoformat(created_at) + timedelta(days=HANDOFF_DAYS))
    listed = ("constraints", "known_unknowns", "artifacts", "stop_conditions", "claims")
    return _shared(actor, line) | {
        "id": str(uuid7()), "session": line.session, "workspace": _workspace(line), "goal": line.goal,
        "current_state": line.current_state, "next_action": line.next_action,
        **{name: _json(getattr(line, name)) for name in listed}, "addressed_to": line.to,
        "created_at": created_at, "expires_at": line.expires_at or end,
        "accepted_by": actor.identity if line.accepted_at else None, "accepted_who": line.accepted_who,
        "accepted_at": line.accepted_at,
    }  # fmt: skip


def _checkpoint(actor: Actor, line: lines.CheckpointLine) -> RowValues:
    state = json.dumps(line.state, ensure_ascii=False, separators=(",", ":"))
    return _shared(actor, line) | {
        "id": str(uuid7()), "workspace": _workspace(line), "thread": line.thread or "", "reason": line.reason,
        "state": state, "tokens": tokenizer.count_tokens(state) if line.state else EMPTY_TOKENS,
        "session": line.session, "created_at": _past(line.created_at),
    }  # fmt: skip


def _feedback(actor: Actor, line: lines.FeedbackLine) -> RowValues:
    return _shared(actor, line) | {
        "id": str(uuid7()), "at": line.at, "session": line.session, "type": line.type, "message": line.message,
        "tool": line.tool, "call_id": line.call_id,
    }  # fmt: skip


def _correction(actor: Actor, line: lines.CorrectionLine) -> RowValues:
    return {
        "id": str(uuid7()), "at": line.at, "who": actor.identity, "author": line.who or actor.name,
        "workspace": _workspace(line), "kind": line.about, "subject": line.subject, "wrong": line.wrong,
        "instead": line.instead, "status": line.status, "resolved_at": line.resolved_at,
        "resolved_by": line.resolved_by, "resolution": line.resolution,
    }  # fmt: skip


def _link_feedback(actor: Actor, line: lines.LinkFeedbackLine) -> RowValues:
    return {
        "at": line.at, "who": line.who or actor.identity, "entity": name_key(line.entity),
        "folder": line.path.rpartition("/")[0], "path": line.path, "term": line.term, "verdict": line.verdict,
        "weight": line.weight,
    }  # fmt: skip


def _learn_entity(tx: Writer, _: Sequence[Any], line: lines.LinkFeedbackLine) -> None:
    link_trust.learn_entity(tx, name_key(line.entity))


def _link_suppression(actor: Actor, line: lines.LinkSuppressionLine) -> RowValues:
    who = None if line.learned else actor.identity
    return {"entity": name_key(line.entity), "folder": line.folder, "at": line.at, "who": who}


def _link_application(actor: Actor, line: lines.LinkApplicationLine) -> RowValues:
    return {
        "at": line.at, "who": line.who or actor.identity, "path": line.path, "entity": name_key(line.entity),
        "term": line.term, "source": line.source, "edit": 0, "state": line.state, "gone": line.gone,
    }  # fmt: skip


def _dismissal(actor: Actor, line: lines.DismissalLine) -> RowValues:
    a, b = sorted(_name_keys(line.names)) if len(line.names) == 2 else (name_key(line.names[0]), "")
    return {"kind": line.about, "a": a, "b": b, "at": line.at, "who": actor.identity}


def _link(actor: Actor, line: lines.LinkLine) -> RowValues:
    return {
        "from_memory": line.from_, "relation": line.relation, "to_memory": line.to, "created_by": actor.identity,
        "created_at": line.at or clock.now(),
    }  # fmt: skip


def _find_memory_row(tx: Reader, actor: Actor, external_id: str) -> int | None:
    return tx.value("SELECT seq FROM memories WHERE id = :id", {"id": find_memory_id(tx, actor, external_id)})  # type: ignore[no-any-return]


def nothing_beside(tx: Writer, key: Sequence[Any], line: Any) -> None:
    """For lines that are one row."""


@dataclass(frozen=True, slots=True)
class RecordTable:
    """Where a kind of line is stored."""

    name: str
    key: tuple[str, ...]  # the columns that identify a row
    to_row: Callable[[Actor, Any], RowValues]  # pure; references are still external ids
    references: Mapping[str, Finder] = field(default_factory=dict)  # how those are found, by column
    required: tuple[str, ...] = ()  # references without which there is no row
    write_beside: Callable[[Writer, Sequence[Any], Any], None] = nothing_beside  # what else a line brings


_SESSION: Mapping[str, Finder] = {"session": find_session_row}
RECORD_TABLES: dict[str, RecordTable] = {
    "session": RecordTable("sessions", ("id",), _session, write_beside=_write_threads),
    "event": RecordTable("events", ("seq",), _event, {**_SESSION, "resource": find_memory_id}),
    "claim": RecordTable("claims", ("resource",), _claim, _SESSION, ("session",)),
    "handoff": RecordTable("handoffs", ("id",), _handoff, _SESSION),
    "checkpoint": RecordTable("checkpoints", ("id",), _checkpoint, _SESSION),
    "feedback": RecordTable("feedback", ("id",), _feedback, _SESSION),
    "correction": RecordTable("corrections", ("id",), _correction, {"subject": find_memory_id}),
    "link": RecordTable(
        "memory_links",
        ("from_memory", "relation", "to_memory"),
        _link,
        {"from_memory": _find_memory_row, "to_memory": _find_memory_row},
        ("from_memory", "to_memory"),
    ),
    "link_feedback": RecordTable("link_feedback", ("seq",), _link_feedback, write_beside=_learn_entity),
    "link_suppression": RecordTable("link_suppressions", ("entity", "folder"), _link_suppression),
    "link_application": RecordTable("link_applications", ("seq",), _link_application),
    "dismissal": RecordTable("dismissals", ("kind", "a", "b"), _dismissal),
}
"""Every kind of line that is a row, by its name."""

Key = tuple[Any, ...]


def insert_row(tx: Writer, table: RecordTable, row: RowValues) -> Key | None:
    """Write a row; returns its key, or None where one with this key is there already."""
    if table.key == ("seq",):
        key: Key = (tx.insert(f"INSERT INTO {table.name} ({', '.join(row)}) VALUES ({_named(row)})", row),)
    else:
        sql = f"INSERT INTO {table.name} ({', '.join(row)}) VALUES ({_named(row)}) ON CONFLICT DO NOTHING"
        if not tx.run(sql, row):
            return None
        key = tuple(row[name] for name in table.key)
    _note_change(tx, table, key, None)
    return key


def is_here(tx: Reader, table: RecordTable, external_id: str) -> bool:
    """Whether an external id names a row of this very vault, as its own export does."""
    if table.key == ("id",):
        return tx.one(f"SELECT 1 FROM {table.name} WHERE id = :id", {"id": external_id}) is not None
    vault_id, _, seq = external_id.rpartition(":")
    if table.key != ("seq",) or not seq.isdigit() or vault_id != read_vault_id(tx):
        return False
    return tx.one(f"SELECT 1 FROM {table.name} WHERE seq = :seq", {"seq": int(seq)}) is not None


def read_vault_id(tx: Reader) -> str:
    """The vault's own id."""
    return str(tx.value("SELECT value FROM vault_info WHERE key = 'vault_id'"))


def read_row(tx: Reader, table: RecordTable, key: Key, columns: Sequence[str]) -> RowValues | None:
    """Some columns of a row; None where there is none."""
    found = tx.one(f"SELECT {', '.join(columns)} FROM {table.name} WHERE {_where(table)}", _params(table, key))
    return None if found is None else dict(zip(columns, found, strict=True))


def update_row(tx: Writer, table: RecordTable, key: Key, row: RowValues) -> None:
    """Change columns of a row."""
    before = read_state(tx, table, key)
    sets = ", ".join(f"{name} = :{name}" for name in row)
    tx.run(f"UPDATE {table.name} SET {sets} WHERE {_where(table)}", {**row, **_params(table, key)})
    _note_change(tx, table, key, before)


def delete_row(tx: Writer, table: RecordTable, key: Key) -> None:
    """Remove a row."""
    before = read_state(tx, table, key)
    tx.run(f"DELETE FROM {table.name} WHERE {_where(table)}", _params(table, key))
    _note_change(tx, table, key, before)


def _note_change(tx: Writer, table: RecordTable, key: Key, before: str | None) -> None:
    """Tell the audit. Keys that are no ids or numbers are people's words; the rows are somebody's own."""
    name = "|".join(map(str, key))
    after = read_state(tx, table, key)
    tx.note_change(
        f"row of {table.name}",
        name if table.key in (("id",), ("seq",)) else ContentHash(name),
        None if before is None else owned_hash(name, before),
        None if after is None else owned_hash(name, after),
    )


def read_state(tx: Reader, table: RecordTable, key: Key) -> str | None:
    """What a row is at: equal only for equal rows; None where there is none."""
    row = tx.one(f"SELECT * FROM {table.name} WHERE {_where(table)}", _params(table, key))
    return None if row is None else hash_parts(*row)


def _named(row: RowValues) -> str:
    return ", ".join(f":{name}" for name in row)


def _where(table: RecordTable) -> str:
    return " AND ".join(f"{name} = :key_{name}" for name in table.key)


def _params(table: RecordTable, key: Key) -> RowValues:
    return {f"key_{name}": value for name, value in zip(table.key, key, strict=True)}
