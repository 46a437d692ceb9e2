"""OpenCode's database: sessions, messages and parts as rows, most of each as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vaults.errors import InvalidArgument
from vaults.sources.record_fields import parse_json
from vaults.sources.sqlite_file import SqliteFile, open_sqlite
from vaults.transcripts.opencode_messages import PROGRAM, take_message, take_session
from vaults.transcripts.rewritten import read_changed
from vaults.transcripts.transcript import Conversation, ReadPlace, TranscriptPart
from vaults.transcripts.turn_log import TurnLog

_TIMES = 8
"""How many times ``max_bytes`` of text are read at once: each reading may have to copy the database first."""

_STAMPS = """
    SELECT s.id, COALESCE(s.title, '') || COALESCE(m.stamp, ''), COALESCE(p.stamp, '') FROM session s
      LEFT JOIN (SELECT session_id, COUNT(*) || '.' || MAX(time_updated) AS stamp FROM message GROUP BY session_id) m
        ON m.session_id = s.id
      LEFT JOIN (SELECT session_id, COUNT(*) || '.' || MAX(time_updated) AS stamp FROM part GROUP BY session_id) p
        ON p.session_id = s.id
    ORDER BY s.time_created, s.id
"""
_NEEDED = {
    "session": ("id", "title", "directory", "parent_id", "time_created"),
    "message": ("id", "session_id", "time_created", "time_updated", "data"),
    "part": ("id", "session_id", "message_id", "time_updated", "data"),
}


def read(path: Path, place: ReadPlace, max_bytes: int) -> TranscriptPart:
    """What is new in the sessions that changed, until enough is read."""
    with open_sqlite(path) as file:
        if not all(file.has(table, *columns) for table, columns in _NEEDED.items()):
            raise InvalidArgument("PATH", f"{path} is no database of OpenCode, or one of a version that is not known")
        stamps = [(session, f"{messages}/{parts}") for session, messages, parts in file.query(_STAMPS)]
        return read_changed(place, stamps, lambda session: _load(file, session), max_bytes * _TIMES)


def _load(file: SqliteFile, session: str) -> Conversation | None:
    log = TurnLog()
    for title, directory, parent in file.query(
        "SELECT title, directory, parent_id FROM session WHERE id = ?", (session,)
    ):
        take_session({"title": title, "directory": directory, "parentID": parent}, log)
    for message, parts in _messages_of(file, session):
        take_message(message, parts, log)
    return log.to_conversation(session, PROGRAM, whole=True)


def _messages_of(file: SqliteFile, session: str) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    parts: dict[str, list[dict[str, Any]]] = {}
    for message, data in file.query("SELECT message_id, data FROM part WHERE session_id = ? ORDER BY id", (session,)):
        value = parse_json(data)
        if isinstance(value, dict):
            parts.setdefault(message, []).append(value)
    rows = file.query("SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (session,))
    for message, data in rows:
        value = parse_json(data)
        if isinstance(value, dict):
            yield value, parts.get(message, [])
