"""MoltMind: one SQLite file, ``memory.db``, of the home folder or of a project. As of moltmind 0.9.0, schema 0 to 7."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

from vaults.errors import InvalidArgument
from vaults.sources.record_fields import (
    SENTENCE,
    cut_text,
    fit_metadata,
    parse_json,
    to_count,
    to_label,
    to_memories,
    to_sentences,
    to_tags,
    without_empty,
)
from vaults.sources.source import SearchPlaces, Source, SourceReading
from vaults.sources.sqlite_file import Row, SqliteFile
from vaults.sources.sqlite_tables import (
    Fields,
    RowRefused,
    TableReading,
    check_version,
    count_left,
    open_tables,
    require,
)
from vaults.sources.times import to_rfc3339

KNOWN_VERSION = 7
FILE = "memory.db"
FOLDER = ".moltmind"

_LEFT = {
    "memories.embedding": "embeddings",
    "diagnostics.error_message": "error messages of tool calls",
    "metrics": "usage metrics",
    "token_estimates": "token estimates",
    "moltbook_auth": "Moltbook credentials",
    "moltbook_posts": "Moltbook post digests",
}
_FAILED = " [FAILED]"
"""How the words of an event end whose call failed."""
_FEEDBACK = frozenset({"bug", "feature_request", "friction"})


def _id(kind: str, value: Any) -> str | None:
    """The external id of something of theirs; None without an id."""
    own = to_label(value)
    return to_label(f"moltmind:{kind}{own}") if own else None


def _session_id(file: SqliteFile, value: Any) -> str | None:
    """The external id of a session that is in the file."""
    known = value and file.first("SELECT 1 FROM sessions WHERE id = ?", (value,))
    return _id("session:", value) if known else None


def _to_memory(_: int, row: Row) -> Iterable[Fields]:
    archived = row["tier"] == "archived"
    updated = to_rfc3339(row["updated_at"])
    metadata = parse_json(row["metadata"])
    fields = {
        "external_id": require(_id("", row["id"])),
        "content": row["content"] if str(row["content"] or "").strip() else row["title"],
        "title": row["title"],
        "type": row["type"],
        "tags": to_tags(parse_json(row["tags"])),
        "metadata": metadata if isinstance(metadata, dict) else {"metadata": metadata},
        "tier": row["tier"] if row["tier"] in ("hot", "warm", "cold") else "cold" if archived else None,
        "created_at": to_rfc3339(row["created_at"]),
        "updated_at": updated,
        "accessed_at": to_rfc3339(row["accessed_at"]) if row["access_count"] else None,
        "access_count": to_count(row["access_count"]),
        "archived_at": (updated or to_rfc3339(row["created_at"])) if archived else None,
        "archived_reason": "archived in MoltMind" if archived else None,
    }
    if not str(fields["content"] or "").strip():
        raise RowRefused("has neither content nor title")
    return to_memories(fields)


def _to_session(_: int, row: Row) -> Iterable[Fields]:
    metadata = parse_json(row["metadata"])
    yield without_empty(
        {
            "kind": "session",
            "external_id": require(_id("session:", row["id"])),
            "status": "completed" if row["status"] == "completed" else "paused",
            "goal": cut_text(row["goal"], 1000),
            "summary": cut_text(row["summary"], SENTENCE),
            "actions": to_sentences(parse_json(row["actions_taken"])),
            "outcomes": to_sentences(parse_json(row["outcomes"])),
            "where_left_off": cut_text(row["where_left_off"], SENTENCE),
            "metadata": fit_metadata(metadata) if isinstance(metadata, dict) else None,
            "started_at": require(to_rfc3339(row["started_at"]), "has no time"),
            "seen_at": to_rfc3339(row["last_heartbeat"]),
            "ended_at": to_rfc3339(row["ended_at"]),
        }
    )


def _to_handoff(file: SqliteFile, _: int, row: Row) -> Iterable[Fields]:
    yield without_empty(
        {
            "kind": "handoff",
            "external_id": require(_id("handoff:", row["id"])),
            "session": _session_id(file, row["session_id"]),
            "goal": require(cut_text(row["goal"], SENTENCE), "has no goal"),
            "current_state": cut_text(row["current_state"], 8000),
            "next_action": cut_text(row["next_action"], SENTENCE),
            **{
                name: to_sentences(parse_json(row[name]))
                for name in ("constraints", "known_unknowns", "artifacts", "stop_conditions")
            },
            "created_at": require(to_rfc3339(row["created_at"]), "has no time"),
        }
    )


_LOGGED_CALLS = {
    "memory_stored": "mm_store",
    "memory_updated": "mm_update",
    "memory_archived": "mm_delete",
    "handoff_created": "mm_handoff_create",
}
"""Events that are calls of a tool, which stand in the diagnostics, too: there without what the call was about."""


def _to_event(file: SqliteFile, _: int, row: Row) -> Iterable[Fields]:
    if row["event_type"] == "tool_call":
        return  # each of them stands in the diagnostics, too, and there with its tool and its outcome
    tool = _LOGGED_CALLS.get(row["event_type"])
    took = tool and file.first(
        "SELECT latency_ms FROM diagnostics WHERE session_id = ? AND tool_name = ? AND success AND created_at >= ?"
        " ORDER BY created_at",
        (row["session_id"], tool, row["created_at"]),
    )
    failed = str(row["summary"] or "").endswith(_FAILED)
    yield without_empty(
        {
            "kind": "event",
            "external_id": require(_id("event:", row["id"])),
            "session": _session_id(file, row["session_id"]),
            "at": require(to_rfc3339(row["created_at"]), "has no time"),
            "type": require(to_label(row["event_type"]), "has no type"),
            "resource": _resource_id(file, row["resource_id"]),
            "tool": tool,
            "outcome": ("internal" if failed else "ok") if tool else None,
            "ms": _to_duration(took),
        }
    )


def _resource_id(file: SqliteFile, value: Any) -> str | None:
    """What an event is about: a memory of the file by its external id, anything else by its name."""
    known = value and file.first("SELECT 1 FROM memories WHERE id = ?", (value,))
    return _id("", value) if known else to_label(value)


def _to_call(file: SqliteFile, _: int, row: Row) -> Iterable[Fields]:
    if row["success"] and _is_logged(file, row):
        return
    yield without_empty(
        {
            "kind": "event",
            "external_id": require(_id("call:", row["id"])),
            "session": _session_id(file, row["session_id"]),
            "at": require(to_rfc3339(row["created_at"]), "has no time"),
            "type": "tool_call",
            "tool": to_label(row["tool_name"]),
            "outcome": "ok" if row["success"] else "internal",
            "ms": _to_duration(row["latency_ms"]),
        }
    )


def _is_logged(file: SqliteFile, row: Row) -> bool:
    """Whether a call that succeeded is an event of its session, too: once a version logged them, it logged each."""
    event = next((event for event, tool in _LOGGED_CALLS.items() if tool == row["tool_name"]), None)
    logged = "SELECT 1 FROM first_events WHERE session_id = ? AND event_type = ? AND created_at <= ?"
    return event is not None and file.first(logged, (row["session_id"], event, row["created_at"])) is not None


def _to_duration(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e15 else None


def _to_claim(file: SqliteFile, _: int, row: Row) -> Iterable[Fields]:
    resource = require(to_label(row["resource"]), "has no resource")
    yield without_empty(
        {
            "kind": "claim",
            "external_id": _id("claim:", f"{row['session_id']}:{resource}"),
            "resource": resource,
            "session": require(_session_id(file, row["session_id"]), "has no session"),
            "description": cut_text(row["description"], SENTENCE),
            "claimed_at": require(to_rfc3339(row["claimed_at"]), "has no time"),
        }
    )


def _to_feedback(_: int, row: Row) -> Iterable[Fields]:
    yield without_empty(
        {
            "kind": "feedback",
            "external_id": require(_id("feedback:", row["id"])),
            "type": row["type"] if row["type"] in _FEEDBACK else "friction",
            "message": cut_text(row["message"], SENTENCE),
            "tool": to_label(row["tool_name"]),
            "at": require(to_rfc3339(row["created_at"]), "has no time"),
        }
    )


_SESSIONS = (
    "id", "status", "summary", "goal", "actions_taken", "outcomes", "where_left_off", "started_at", "ended_at",
    "metadata", "last_heartbeat",
)  # fmt: skip
_MEMORIES = (
    "id", "type", "title", "content", "tags", "metadata", "tier", "created_at", "updated_at", "accessed_at",
    "access_count",
)  # fmt: skip
_HANDOFFS = (
    "id", "goal", "current_state", "next_action", "constraints", "known_unknowns", "artifacts", "stop_conditions",
    "session_id", "created_at",
)  # fmt: skip
_CLAIMS = ("resource", "session_id", "claimed_at", "description")
_EVENTS = ("id", "session_id", "event_type", "resource_id", "summary", "created_at")
_CALLS = ("id", "tool_name", "success", "latency_ms", "session_id", "created_at")


def _to_tables(file: SqliteFile) -> Sequence[TableReading]:
    """The tables that are read; what others refer to comes first."""
    first = "SELECT session_id, event_type, MIN(created_at) AS created_at FROM session_events GROUP BY 1, 2"
    file.note("first_events", first, ("session_id", "event_type", "created_at"))
    return (
        TableReading("sessions", _SESSIONS, _to_session),
        TableReading("memories", _MEMORIES, _to_memory),
        TableReading("handoffs", _HANDOFFS, partial(_to_handoff, file)),
        TableReading("session_claims", _CLAIMS, partial(_to_claim, file)),
        TableReading("session_events", _EVENTS, partial(_to_event, file)),
        TableReading("diagnostics", _CALLS, partial(_to_call, file)),
        TableReading("feedback", ("id", "type", "message", "tool_name", "created_at"), _to_feedback),
    )


def _open(path: Path) -> AbstractContextManager[SourceReading]:
    return open_tables([_find_file(path)], _to_readings)


def _to_readings(file: SqliteFile, left: Counter[str]) -> Sequence[TableReading]:
    if not file.has("memories", "id", "content", "tier"):
        raise InvalidArgument("PATH", "is an SQLite file, but none of MoltMind")
    for (version,) in file.query("SELECT value FROM meta WHERE key = 'schema_version'"):
        check_version("MoltMind", version, KNOWN_VERSION)
    count_left(left, file, _LEFT)
    return _to_tables(file)


def _find_file(path: Path) -> Path:
    """The file itself, or that of a folder: ``.moltmind``, or one that holds it."""
    if not path.is_dir():
        return path
    for inside in (path / FILE, path / FOLDER / FILE):
        if inside.is_file():
            return inside
    raise InvalidArgument("PATH", f"{path} holds no {FILE} of MoltMind")


def _find(places: SearchPlaces) -> Iterator[Path]:
    for folder in dict.fromkeys((places.current, places.home)):
        if (path := folder / FOLDER / FILE).is_file():
            yield path


SOURCE = Source("moltmind", "MoltMind", "memory.db, or the folder .moltmind", _find, _open)
