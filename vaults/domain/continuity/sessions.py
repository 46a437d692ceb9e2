"""Sessions, for those that come after: who worked on what, what was left, and who is at work now."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from vaults import clock
from vaults.activity_log import stale_sessions
from vaults.activity_log.sessions import Session
from vaults.change_notes import ContentHash, owned_hash
from vaults.db.sql import Reader, Row, Writer
from vaults.domain.actors import GLOBAL, Actor
from vaults.domain.continuity import handoffs, session_events
from vaults.domain.continuity.handoffs import Handoff, HandoffRecipient
from vaults.domain.continuity.session_events import SessionEvent, SessionToolUse
from vaults.domain.text.fields import hash_parts
from vaults.errors import NotFound, StrongroomError
from vaults.vault import Vault

SessionEnding = Literal["paused", "completed"]
SessionStatus = Literal["active", "paused", "completed"]

EVENTS_LOGGED = 15
"""Last events shown of a session."""

MAX_SHOWN = 20
"""Max other sessions shown, and max events of others."""

MAX_ROWS_READ = 1_000
"""Newest events searched for the sessions active last."""


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session. ``yours``: its handle is of use to you; ``activity_log`` holds its last events in order."""

    id: str
    who: str
    client: str | None = None
    status: str = ""
    workspace: str = GLOBAL
    started_at: str = ""
    seen_at: str = ""
    yours: bool = False
    goal: str | None = None
    summary: str | None = None
    where_left_off: str | None = None
    ended_at: str | None = None
    actions: list[str] = field(default_factory=list)
    outcomes: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    threads: list[str] = field(default_factory=list)
    claims: list[str] = field(default_factory=list)
    activity_log: list[SessionEvent] = field(default_factory=list)
    tools: list[SessionToolUse] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ResumeContext:
    """What a starting session should know."""

    session: SessionView  # the caller's own
    sessions: list[SessionView]  # recent ones
    concurrent: list[SessionView]  # others under way
    concurrent_total: int
    recent_activity: list[SessionEvent]  # what others did in the last ten minutes
    handoff: Handoff | None  # the newest the caller may accept


_COLUMNS = (
    "s.seq, s.owner, s.id, s.who, s.client, s.status, s.workspace, s.started_at, s.seen_at, s.goal, s.summary,"
    " s.where_left_off, s.ended_at, s.actions, s.outcomes, s.metadata"
)


_THREAD_SEEN = (
    "EXISTS (SELECT 1 FROM memories m WHERE m.thread = t.thread AND (m.visibility = 'shared' OR m.stored_by = :viewer))"
    " OR EXISTS (SELECT 1 FROM passages p WHERE p.thread = t.thread AND p.kind <> 'memory')"
    " OR EXISTS (SELECT 1 FROM checkpoints c WHERE c.thread = t.thread)"
)
"""SQL: true of a thread ``t`` that ``:viewer`` can still see: what carried it may have become private since."""


def _from_row(row: Row, viewer: str) -> tuple[int, SessionView]:
    """A session's row number, and the session without events, threads and claims."""
    (
        seq, owner, handle, who, client, status, workspace, started_at, seen_at, goal, summary, where_left_off,
        ended_at, actions, outcomes, metadata,
    ) = row  # fmt: skip
    view = SessionView(
        id=handle,
        who=who,
        client=client,
        status=status,
        workspace=workspace,
        started_at=started_at,
        seen_at=seen_at,
        yours=owner == viewer,
        goal=goal,
        summary=summary,
        where_left_off=where_left_off,
        ended_at=ended_at,
        actions=json.loads(actions),
        outcomes=json.loads(outcomes),
        metadata=json.loads(metadata),
    )
    return int(seq), view


def _read_view(tx: Reader, row: Row, viewer: str) -> tuple[int, SessionView]:
    """As ``_from_row``, with threads and claims."""
    seq, view = _from_row(row, viewer)
    threads = tx.all(
        "SELECT t.thread FROM session_threads t JOIN sessions s ON s.seq = t.session"
        f" WHERE t.session = :seq AND (s.owner = :viewer OR {_THREAD_SEEN}) ORDER BY t.at DESC LIMIT 10",
        {"seq": seq, "viewer": viewer},
    )
    claims = tx.all("SELECT resource FROM claims WHERE session = :seq ORDER BY claimed_at LIMIT 20", {"seq": seq})
    return seq, replace(view, threads=[name for (name,) in threads], claims=[resource for (resource,) in claims])


def _with_events(tx: Reader, row: Row, viewer: str) -> SessionView:
    seq, view = _read_view(tx, row, viewer)
    return replace(view, activity_log=session_events.find_session_events(tx, seq, viewer, EVENTS_LOGGED))


def _with_tools(tx: Reader, row: Row, viewer: str) -> SessionView:
    seq, view = _read_view(tx, row, viewer)
    return replace(view, tools=session_events.count_tools_used(tx, seq, viewer))


EVENTS_OPENED = 200
"""Last events of a session that is opened by itself."""


async def open_session(vault: Vault, actor: Actor, handle: str) -> SessionView:
    """One session by its handle, with what it did in order and how often it used which tool. Raises ``NotFound``."""

    def read(tx: Reader) -> SessionView | None:
        row = tx.one(f"SELECT {_COLUMNS} FROM sessions s WHERE s.id = :handle", {"handle": handle})
        if row is None:
            return None
        events = session_events.find_session_events(tx, int(row[0]), actor.identity, EVENTS_OPENED)
        return replace(_with_tools(tx, row, actor.identity), activity_log=events)

    await refresh_sessions(vault)
    found = await vault.db.read(read)
    if found is None:
        raise NotFound(f"no session {handle[:64]}")
    return found


async def refresh_sessions(vault: Vault) -> None:
    """Prepare for reading sessions: write pending events, and pause sessions that were abandoned."""
    await vault.activity_log.flush()
    cutoffs = vault.activity_log.cutoffs()
    if await vault.db.read(lambda tx: stale_sessions.has_stale(tx, cutoffs)):
        with suppress(StrongroomError):  # a vault that cannot be written is read as it is
            await vault.db.write(lambda tx: stale_sessions.pause_stale(tx, cutoffs))


async def read_resume_context(vault: Vault, recipient: HandoffRecipient, session: Session, limit: int) -> ResumeContext:
    """What a starting session sees, with ``limit`` recent sessions. Where nothing can be written, its own session has
    no row yet and is shown from memory."""
    with suppress(StrongroomError):
        await vault.activity_log.ensure_row(session)
    await refresh_sessions(vault)
    return await vault.db.read(lambda tx: _read_context(tx, recipient, session, limit))


def _own_view(tx: Reader, session: Session, viewer: str) -> SessionView:
    row = tx.one(f"SELECT {_COLUMNS} FROM sessions s WHERE s.seq = :seq", {"seq": session.seq or 0})
    if row is not None:
        return _read_view(tx, row, viewer)[1]
    return SessionView(
        id=session.id,
        who=session.who,
        client=session.client,
        status="completed" if session.completed else "active",
        workspace=session.workspace,
        started_at=session.started_at,
        seen_at=session.seen_at,
        yours=session.owner == viewer,
    )


def _read_context(tx: Reader, recipient: HandoffRecipient, session: Session, limit: int) -> ResumeContext:
    viewer, own = recipient.identity, session.seq or 0
    # A session without activity tells nothing; the caller's own is listed if it did something before.
    recent = tx.all(
        f"SELECT {_COLUMNS} FROM sessions s WHERE (s.saved_at IS NOT NULL OR EXISTS (SELECT 1 FROM events e"
        " WHERE e.session = s.seq AND e.tool <> 'session_resume')) ORDER BY s.seen_at DESC, s.seq DESC LIMIT :limit",
        {"limit": limit},
    )
    beside = tx.all(
        f"SELECT {_COLUMNS} FROM sessions s WHERE s.status = 'active' AND s.seq <> :own"
        " ORDER BY s.seen_at DESC, s.seq DESC LIMIT :most",
        {"own": own, "most": MAX_SHOWN},
    )
    total = tx.value("SELECT COUNT(*) FROM sessions WHERE status = 'active' AND seq <> :own", {"own": own})
    since = clock.ago(session_events.RECENT_S)
    return ResumeContext(
        session=_own_view(tx, session, viewer),
        sessions=[_with_events(tx, row, viewer) for row in recent],
        concurrent=[_read_view(tx, row, viewer)[1] for row in beside],
        concurrent_total=int(total),
        recent_activity=session_events.find_events_of_others(tx, own, viewer, since, MAX_SHOWN),
        handoff=handoffs.find_open(tx, recipient),
    )


def list_latest(tx: Reader, viewer: str, workspace: str | None, limit: int) -> list[tuple[int, SessionView]]:
    """The sessions active last, with their rows; in a workspace, those of it and the global ones. Without events,
    threads and claims."""
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM (SELECT session, MAX(seq) AS last FROM (SELECT session, seq FROM events"
        " WHERE session IS NOT NULL AND tool NOT IN ('session_resume', 'context', 'status')"
        f" ORDER BY seq DESC LIMIT {MAX_ROWS_READ}) AS newest GROUP BY session) AS doing JOIN sessions s"
        " ON s.seq = doing.session WHERE :workspace IS NULL OR s.workspace IN (:workspace, 'global')"
        " ORDER BY doing.last DESC LIMIT :limit",
        {"workspace": workspace, "limit": limit},
    )
    return [_from_row(row, viewer) for row in rows]


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """What a caller saves about a session; None leaves a field as it is."""

    summary: str | None = None
    goal: str | None = None
    actions: Sequence[str] | None = None
    outcomes: Sequence[str] | None = None
    where_left_off: str | None = None
    metadata: Mapping[str, Any] | None = None


async def save(
    vault: Vault, actor: Actor, session: Session, summary: SessionSummary, status: SessionEnding
) -> SessionView:
    """Store a session's summary, end it, and release its claims. The next call of a paused session resumes it."""
    vault.check_writable()
    seq = await vault.activity_log.ensure_row(session)

    def write(tx: Writer) -> SessionView:
        texts = {"summary": summary.summary, "goal": summary.goal, "where_left_off": summary.where_left_off}
        values = {
            name: json.dumps(value, ensure_ascii=False)
            for name, value in (
                ("actions", summary.actions),
                ("outcomes", summary.outcomes),
                ("metadata", summary.metadata),
            )
            if value is not None
        } | {name: text for name, text in texts.items() if text is not None}
        sets = "".join(f", {name} = :{name}" for name in values)
        before = _hash_saved(tx, seq, session.id)
        tx.run(
            f"UPDATE sessions SET saved_at = :now{sets} WHERE seq = :seq", {**values, "now": clock.now(), "seq": seq}
        )
        stale_sessions.end_session(tx, seq, status)
        tx.note_change("session", session.id, before, _hash_saved(tx, seq, session.id))
        row = tx.one(f"SELECT {_COLUMNS} FROM sessions s WHERE s.seq = :seq", {"seq": seq})
        assert row is not None
        return _read_view(tx, row, actor.identity)[1]

    vault.activity_log.begin_end(session)
    view = await vault.db.write(write)
    vault.activity_log.end(session, view.status)
    return view


def _hash_saved(tx: Reader, seq: int, identity: str) -> ContentHash:
    """What the audit is told of what was saved of a session, which is its caller's own."""
    saved = tx.all(
        "SELECT status, summary, goal, actions, outcomes, where_left_off, metadata FROM sessions WHERE seq = :seq",
        {"seq": seq},
    )
    return owned_hash(identity, hash_parts(*saved[0]))


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """Which sessions: of a status, started in a time span."""

    status: SessionStatus | None = None
    since: str | None = None
    until: str | None = None


async def history(vault: Vault, actor: Actor, only: SessionFilter, limit: int) -> tuple[list[SessionView], int]:
    """Sessions, newest first, with how often each used which tool; and how many there are."""
    since = clock.parse(only.since, "since") if only.since else ""
    until = clock.parse(only.until, "until") if only.until else ""
    where = (
        "(:status = '' OR s.status = :status) AND (:since = '' OR s.started_at >= :since)"
        " AND (:until = '' OR s.started_at <= :until)"
    )
    params = {"status": only.status or "", "since": since, "until": until}

    def read(tx: Reader) -> tuple[list[SessionView], int]:
        found = tx.all(
            f"SELECT {_COLUMNS} FROM sessions s WHERE {where} ORDER BY s.started_at DESC, s.seq DESC LIMIT :limit",
            {**params, "limit": limit},
        )
        total = int(tx.value(f"SELECT COUNT(*) FROM sessions s WHERE {where}", params))
        return [_with_tools(tx, row, actor.identity) for row in found], total

    await refresh_sessions(vault)
    return await vault.db.read(read)
