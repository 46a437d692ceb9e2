"""Reads and writes the rows of sessions, their events and the threads they touched, in batches, inside the caller's
transaction."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from vaults import clock
from vaults.activity_log.entries import ActivityRecord
from vaults.activity_log.sessions import Session, SessionOwner
from vaults.db.sql import Reader, Row, Writer

_COLUMNS = "id, owner, name, who, client, transport, workspace, seq, status = 'completed', started_at, seen_at"


def find_by_handle(tx: Reader, owner: SessionOwner, handle: str) -> Session | None:
    """The owner's session with this handle, in any status."""
    row = tx.one(
        f"SELECT {_COLUMNS} FROM sessions WHERE id = :id AND owner = :owner", {"id": handle, "owner": owner.identity}
    )
    return _from_row(row, owner.idle_s) if row else None


def find_by_name(tx: Reader, owner: SessionOwner, name: str, since: str) -> Session | None:
    """The owner's newest session of this name that is not completed and was seen after ``since`` (empty: at any
    time)."""
    row = tx.one(
        f"SELECT {_COLUMNS} FROM sessions WHERE owner = :owner AND name = :name AND status <> 'completed'"
        " AND seen_at > :since ORDER BY seq DESC LIMIT 1",
        {"owner": owner.identity, "name": name, "since": since},
    )
    return _from_row(row, owner.idle_s) if row else None


def is_completed(tx: Reader, seq: int) -> bool:
    """Whether the session of this row was completed."""
    return tx.one("SELECT 1 FROM sessions WHERE seq = :seq AND status = 'completed'", {"seq": seq}) is not None


def _from_row(row: Row, idle_s: float) -> Session:
    handle, owner, name, who, client, transport, workspace, seq, completed, started_at, seen_at = row
    return Session(
        id=handle,
        owner=owner,
        name=name,
        who=who,
        client=client,
        transport=transport,
        workspace=workspace,
        idle_s=idle_s,
        seq=int(seq),
        completed=bool(completed),
        started_at=started_at,
        seen_at=seen_at,
    )


SessionRows = dict[str, tuple[int, str]]
"""Row number and handle of each session, by the handle it had before it was written."""


def write_sessions(tx: Writer, sessions: Iterable[Session]) -> SessionRows:
    """Insert new sessions, and update when the others were seen; a paused one becomes active again. Handles may change:
    another process may have begun a session of the same name first."""
    return {session.id: _write_session(tx, session) for session in sessions}


def _write_session(tx: Writer, session: Session) -> tuple[int, str]:
    row = tx.one("SELECT seq, id FROM sessions WHERE id = :id", {"id": session.id}) or tx.one(
        "SELECT seq, id FROM sessions WHERE owner = :owner AND name = :name AND status = 'active' AND seen_at > :since"
        " ORDER BY seq DESC LIMIT 1",
        {"owner": session.owner, "name": session.name, "since": clock.ago(session.idle_s)},
    )
    if row is not None:
        seq, handle = row
        tx.run(
            "UPDATE sessions SET seen_at = :seen_at,"
            " ended_at = CASE status WHEN 'paused' THEN NULL ELSE ended_at END,"
            " status = CASE status WHEN 'paused' THEN 'active' ELSE status END WHERE seq = :seq",
            {"seen_at": session.seen_at, "seq": seq},
        )
        return int(seq), str(handle)
    seq = tx.insert(
        "INSERT INTO sessions (id, owner, name, who, client, transport, workspace, status, started_at, seen_at)"
        " VALUES (:id, :owner, :name, :who, :client, :transport, :workspace, 'active', :started_at, :seen_at)",
        dataclasses.asdict(session),
    )
    return seq, session.id


def find_row_numbers(tx: Reader, handles: Iterable[str]) -> dict[str, int]:
    """The row number of each session by its handle; sessions without a row are left out."""
    found = ((handle, tx.value("SELECT seq FROM sessions WHERE id = :id", {"id": handle})) for handle in handles)
    return {handle: int(seq) for handle, seq in found if seq is not None}


def pause_excess(tx: Writer, owner: str, most: int) -> None:
    """Keep the ``most`` sessions of a principal that were seen last active, and pause its others."""
    tx.run(
        "UPDATE sessions SET status = 'paused', ended_at = seen_at WHERE owner = :owner AND status = 'active'"
        " AND seq NOT IN (SELECT seq FROM sessions WHERE owner = :owner AND status = 'active'"
        " ORDER BY seen_at DESC, seq DESC LIMIT :most)",
        {"owner": owner, "most": most},
    )


def insert_events(tx: Writer, records: Sequence[ActivityRecord], rows: Mapping[str, int]) -> None:
    """Append events. ``rows``: the row number of each session by its handle."""
    tx.many(
        "INSERT INTO events (at, session, owner, tool, type, resource, summary, outcome, ms, tokens_in, tokens_out,"
        " saved, context) VALUES (:at, :session, :owner, :tool, :type, :resource, :summary, :outcome, :ms, :tokens_in,"
        " :tokens_out, :saved, :context)",
        [
            {
                "at": each.at, "session": rows.get(each.session), "owner": each.owner, "tool": each.tool,
                "type": each.activity_entry.type, "resource": each.activity_entry.resource,
                "summary": each.activity_entry.summary, "outcome": each.outcome, "ms": each.ms,
                "tokens_in": each.tokens_in, "tokens_out": each.tokens_out, "saved": each.activity_entry.saved,
                "context": each.context,
            }
            for each in records
        ],
    )  # fmt: skip


def record_threads(tx: Writer, records: Sequence[ActivityRecord], rows: Mapping[str, int]) -> None:
    """Record which threads the sessions touched, and when last. ``rows``: as for ``insert_events``."""
    tx.many(
        "INSERT INTO session_threads (session, thread, at) VALUES (:session, :thread, :at)"
        " ON CONFLICT (thread, session) DO UPDATE SET at = excluded.at",
        [
            {"session": rows[each.session], "thread": thread, "at": each.at}
            for each in records
            if each.session in rows
            for thread in each.activity_entry.threads
        ],
    )
