"""Reads what is no memory as lines: the inverse of ``record_tables``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from vaults.db.sql import Reader, Row
from vaults.domain.actors import GLOBAL
from vaults.domain.import_export.memory_export import exported_memory_id_sql
from vaults.domain.import_export.record_tables import read_vault_id
from vaults.domain.text.fields import hash_parts

PAGE = 500

_SESSION_ID = (
    "(SELECT COALESCE((SELECT MIN(external_id) FROM import_records WHERE kind = 'session' AND item = json_array(s.id)),"
    " s.id) FROM sessions s WHERE s.seq = t.session)"
)


def _memory_id_sql(column: str) -> str:
    """What an item is called in an export, if it is a memory; else it keeps its name."""
    return f"COALESCE((SELECT {exported_memory_id_sql('m')} FROM memories m WHERE m.id = {column}), {column})"


@dataclass(frozen=True, slots=True)
class RecordExport:
    """How the rows of a kind become lines. ``key``: its columns in alias ``t``; ``fields``: SQL by field of the line;
    ``where``: which rows."""

    table: str
    key: tuple[str, ...]
    fields: dict[str, str]
    where: str = "1 = 1"
    lists: tuple[str, ...] = ()  # fields that are JSON


def _same(*names: str) -> dict[str, str]:
    return {name: f"t.{name}" for name in names}


_THREADS = (
    "(SELECT json_group_array(thread) FROM"
    " (SELECT thread FROM session_threads WHERE session = t.seq ORDER BY at, thread))"
)
_SCOPE = {"workspace": f"NULLIF(t.workspace, '{GLOBAL}')", "who": "t.who"}
RECORD_EXPORTS: dict[str, RecordExport] = {
    "session": RecordExport(
        "sessions",
        ("id",),
        {
            "status": "CASE t.status WHEN 'completed' THEN 'completed' ELSE 'paused' END",
            **_same(
                "started_at",
                "seen_at",
                "ended_at",
                "client",
                "goal",
                "summary",
                "actions",
                "outcomes",
                "where_left_off",
                "metadata",
            ),
            "threads": _THREADS,
            **_SCOPE,
        },
        lists=("actions", "outcomes", "metadata", "threads"),
    ),
    "event": RecordExport(
        "events",
        ("seq",),
        {
            **_same("at", "type", "tool", "outcome", "ms"),
            "session": _SESSION_ID,
            "resource": _memory_id_sql("t.resource"),
        },
        where="t.session IS NOT NULL",
    ),
    "claim": RecordExport(
        "claims", ("resource",), {**_same("resource", "description", "claimed_at"), "session": _SESSION_ID}
    ),
    "handoff": RecordExport(
        "handoffs",
        ("id",),
        {
            **_same(
                "goal",
                "current_state",
                "next_action",
                "constraints",
                "known_unknowns",
                "artifacts",
                "stop_conditions",
                "claims",
                "created_at",
                "expires_at",
                "accepted_who",
                "accepted_at",
            ),
            "to": "t.addressed_to",
            "session": _SESSION_ID,
            **_SCOPE,
        },
        lists=("constraints", "known_unknowns", "artifacts", "stop_conditions", "claims"),
    ),
    "checkpoint": RecordExport(
        "checkpoints",
        ("id",),
        {**_same("reason", "state", "thread", "created_at"), "session": _SESSION_ID, **_SCOPE},
        lists=("state",),
    ),
    "feedback": RecordExport(
        "feedback", ("id",), {**_same("type", "at", "message", "tool", "call_id", "who"), "session": _SESSION_ID}
    ),
    "correction": RecordExport(
        "corrections",
        ("id",),
        {
            **_same("at", "wrong", "instead", "status", "resolution", "resolved_at", "resolved_by"),
            "about": "t.kind",
            "subject": _memory_id_sql("t.subject"),
            "workspace": _SCOPE["workspace"],
            "who": "t.author",
        },
    ),
    "link_suppression": RecordExport(
        "link_suppressions",
        ("entity", "folder"),
        {**_same("entity", "folder", "at"), "learned": "IIF(t.who IS NULL, 'true', 'false')"},
        lists=("learned",),
    ),
    "link_feedback": RecordExport(
        "link_feedback", ("seq",), _same("entity", "at", "verdict", "path", "term", "weight", "who")
    ),
    "link_application": RecordExport(
        "link_applications", ("seq",), _same("entity", "path", "term", "at", "source", "state", "gone", "who")
    ),
    "dismissal": RecordExport(
        "dismissals",
        ("kind", "a", "b"),
        {"about": "t.kind", "at": "t.at", "names": "IIF(t.b = '', json_array(t.a), json_array(t.a, t.b))"},
        lists=("names",),
    ),
}
"""Every kind of record that is exported, in the order in which an import needs them."""


def read_page(
    tx: Reader, kind: str, after: tuple[Any, ...] | None
) -> tuple[tuple[Any, ...], list[dict[str, Any]]] | None:
    """The lines of a kind after a place in its order, and the place of the last; None at the end."""
    export = RECORD_EXPORTS[kind]
    order = ("seq",) if export.key == ("id",) else export.key
    key = ", ".join(f"t.{name}" for name in order)
    beyond = f"({key}) > ({', '.join(f':after_{name}' for name in order)})" if after is not None else "1 = 1"
    item = f"json_array({', '.join(f't.{name}' for name in export.key)})"
    rows = tx.all(
        f"SELECT {key}, {item}, (SELECT MIN(external_id) FROM import_records WHERE kind = :kind AND item = {item}),"
        f" {', '.join(export.fields.values())} FROM {export.table} t WHERE {export.where} AND {beyond}"
        f" ORDER BY {key} LIMIT :page",
        {
            "kind": kind,
            "page": PAGE,
            **{f"after_{name}": value for name, value in zip(order, after or (), strict=False)},
        },
    )
    if not rows:
        return None
    vault_id = read_vault_id(tx)
    return tuple(rows[-1][: len(order)]), [_to_fields(kind, row[len(order) :], vault_id) for row in rows]


def _to_fields(kind: str, row: Row, vault_id: str) -> dict[str, Any]:
    export = RECORD_EXPORTS[kind]
    item, external_id, *values = row
    line = dict(zip(export.fields, values, strict=True))
    for name in export.lists:
        line[name] = json.loads(line[name])
    return {"kind": kind, "external_id": external_id or _own_id(export, json.loads(item), vault_id), **line}


def _own_id(export: RecordExport, key: list[Any], vault_id: str) -> str:
    """The id a record goes by that was made here."""
    if export.key == ("id",):
        return str(key[0])
    return f"{vault_id}:{key[0]}" if export.key == ("seq",) else hash_parts(*key)
