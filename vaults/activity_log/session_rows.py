"""Reads and writes the rows of sessions and events, in batches, inside the caller's transaction."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from vaults import clock
from vaults.activity_log.entries import ActivityRecord
from vaults.activity_log.sessions import Session, SessionOwner
from vaults.db.sql import Reader, Row, Writer

_COLUMNS = "id, owner, name, who, client, transport, workspace, seq, status = 'completed', started_at, seen_at"


def find_by_handle(tx: Reader, visitor: SessionOwner, handle: str) -> Session | None:
    """The visitor's session with this handle, in any status."""
    row = tx.one(f"SELECT {_COLUMNS} FROM sessions WHERE id = ? AND owner = ?", (handle, visitor.owner))
    return _from_row(row, visitor) if row else None


def find_by_name(tx: Reader, visitor: SessionOwner, name: str, since: str) -> Session | None:
    """The visitor's newest session of this name that is not completed and was seen after ``since`` (empty: at any
    time)."""
    row = tx.one(
        f"SELECT {_COLUMNS} FROM sessions WHERE owner = ? AND name = ? AND status <> 'completed' AND seen_at > ?"
        " ORDER BY seq DESC LIMIT 1",
        (visitor.owner, name, since),
    )
    return _from_row(row, visitor) if row else None


def is_completed(tx: Reader, seq: int) -> bool:
    """Whether the session of this row was completed."""
    return bool(tx.value("SELECT COUNT(*) FROM sessions WHERE seq = ? AND status = 'completed'", (seq,)))


def _from_row(row: Row, visitor: SessionOwner) -> Session:
    handle, owner, name, who, client, transport, workspace, seq, completed, started_at, seen_at = row
    return Session(
        handle, owner, name, who, client, transport, workspace, visitor.idle_s, int(seq), bool(completed), started_at,
        seen_at,
    )  # fmt: skip


SessionRows = dict[str, tuple[int, str]]
"""Row number and handle of each session, by the handle it had before it was written."""


def write_sessions(tx: Writer, sessions: Iterable[Session]) -> SessionRows:
    """Insert new sessions, and update when the others were seen; a paused one becomes active again. Handles may change:
    another process may have begun a session of the same name first."""
    return {session.id: _write_session(tx, session) for session in sessions}


def _write_session(tx: Writer, session: Session) -> tuple[int, str]:
    row = tx.one("SELECT seq, id FROM sessions WHERE id = ?", (session.id,)) or tx.one(
        "SELECT seq, id FROM sessions WHERE owner = ? AND name = ? AND status = 'active' AND seen_at > ?"
        " ORDER BY seq DESC LIMIT 1",
        (session.owner, session.name, clock.ago(session.idle_s)),
    )
    if row is not None:
        tx.run(
            "UPDATE sessions SET seen_at = ?, ended_at = CASE status WHEN 'paused' THEN NULL ELSE ended_at END,"
            " status = CASE status WHEN 'paused' THEN 'active' ELSE status END WHERE seq = ?",
            (session.seen_at, row[0]),
        )
        return int(row[0]), str(row[1])
    values = dataclasses.asdict(session)
    seq = tx.insert(
        "INSERT INTO sessions (id, owner, name, who, client, transport, workspace, status, started_at, seen_at)"
        " VALUES (:id, :owner, :name, :who, :client, :transport, :workspace, 'active', :started_at, :seen_at)",
        values,
    )
    return seq, session.id


def find_row_numbers(tx: Reader, handles: Iterable[str]) -> dict[str, int]:
    """The row number of each session by its handle; sessions without a row are left out."""
    found = ((handle, tx.value("SELECT seq FROM sessions WHERE id = ?", (handle,))) for handle in handles)
    return {handle: int(seq) for handle, seq in found if seq is not None}


def pause_excess(tx: Writer, owner: str, most: int) -> None:
    """Keep the ``most`` sessions of a principal that were seen last active, and pause its others."""
    tx.run(
        "UPDATE sessions SET status = 'paused', ended_at = seen_at WHERE owner = :owner AND status = 'active'"
        " AND seq NOT IN (SELECT seq FROM sessions WHERE owner = :owner AND status = 'active'"
        " ORDER BY seen_at DESC, seq DESC LIMIT :most)",
        {"owner": owner, "most": most},
    )


def insert_events(tx: Writer, entries: Sequence[ActivityRecord], rows: Mapping[str, int]) -> None:
    """Append events. ``rows``: the row number of each session by its handle."""
    tx.many(
        "INSERT INTO events (at, session, owner, tool, type, resource, summary, outcome, ms, tokens_in, tokens_out,"
        " saved, context) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (e.at, rows.get(e.session), e.owner, e.tool, e.activity_entry.type, e.activity_entry.resource,
             e.activity_entry.summary, e.outcome, e.ms, e.tokens_in, e.tokens_out, e.activity_entry.saved, e.context)
            for e in entries
        ],
    )  # fmt: skip
    tx.many(
        "INSERT INTO session_threads (session, thread, at) VALUES (?, ?, ?)"
        " ON CONFLICT (thread, session) DO UPDATE SET at = excluded.at",
        [(rows[e.session], thread, e.at) for e in entries if e.session in rows for thread in e.activity_entry.threads],
    )
