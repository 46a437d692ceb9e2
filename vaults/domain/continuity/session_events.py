"""Events as a viewer may read them: nothing about another's private memory, titles looked up at reading."""

from __future__ import annotations

from dataclasses import dataclass, replace

from vaults.db.sql import Reader, Row

RECENT_S = 600.0
"""Seconds of other sessions' activity that a starting session is shown."""


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """One thing that was done. ``title`` is that of the memory it was done to."""

    event_type: str
    summary: str
    created_at: str
    resource: str | None = None
    title: str | None = None
    session: str | None = None
    who: str | None = None


_SELECT_EVENTS = (
    "SELECT e.type, e.summary, e.at, e.resource, m.title, m.id, s.id, s.who FROM events e"
    " LEFT JOIN memories m ON m.id = e.resource LEFT JOIN sessions s ON s.seq = e.session"
)
IS_CALL_EVENT = "type NOT IN ('claim', 'release')"
"""SQL: true of events that are calls; claim and release events stand for one resource of a call."""

QUOTING = ("search", "recall", "context", "fetch", "note_read")
"""Tools whose answers quote texts that could have been read whole instead."""

BASELINE = f"CASE WHEN outcome = 'ok' AND tool IN ({', '.join(map(repr, QUOTING))}) THEN tokens_out + saved END"
"""SQL: what the texts an answer quotes would have cost whole, in tokens; NULL of other calls."""

VISIBLE_EVENT = (
    "(e.owner = :viewer OR CASE WHEN e.type LIKE 'memory%' THEN EXISTS (SELECT 1 FROM memories m WHERE m.id ="
    " e.resource AND (m.visibility = 'shared' OR m.stored_by = :viewer)) ELSE NOT EXISTS (SELECT 1 FROM memories m"
    " WHERE m.id = e.resource AND m.visibility = 'private' AND m.stored_by <> :viewer) END)"
)
"""SQL: true of an event ``e`` that ``:viewer`` may see: none about somebody else's private memory. What others did with
memories is shown only while these exist: once deleted, nobody can tell whether they were private."""

NOTABLE_EVENT = (
    "e.type NOT IN ('session_resumed', 'handoff_read', 'memory_known')"
    " AND NOT (e.type = 'tool_call' AND e.outcome = 'ok')"
)
"""SQL: true of what was written, decided, handed over or claimed, and of failures. Reading changes nothing, and a list
of what somebody read hides the rest."""


def find_session_events(tx: Reader, session: int, viewer: str, limit: int) -> list[SessionEvent]:
    """The last events of a session, oldest first, without saying whose."""
    rows = tx.all(
        f"{_SELECT_EVENTS} WHERE e.session = :session AND {VISIBLE_EVENT} AND {NOTABLE_EVENT}"
        " ORDER BY e.seq DESC LIMIT :limit",
        {"session": session, "viewer": viewer, "limit": limit},
    )
    return [replace(_from_row(row), session=None, who=None) for row in reversed(rows)]


def find_events_of_others(tx: Reader, session: int, viewer: str, since: str, limit: int) -> list[SessionEvent]:
    """What other sessions did after ``since``, oldest first, with who did it."""
    rows = tx.all(
        f"{_SELECT_EVENTS} WHERE e.at > :since AND e.session <> :session AND {VISIBLE_EVENT} AND {NOTABLE_EVENT}"
        " ORDER BY e.at DESC, e.seq DESC LIMIT :limit",
        {"session": session, "viewer": viewer, "since": since, "limit": limit},
    )
    return [_from_row(row) for row in reversed(rows)]


def _from_row(row: Row) -> SessionEvent:
    event_type, summary, at, resource, title, memory, session, who = row
    if event_type.startswith("memory_") and memory is None:
        resource = None  # it was purged, and may have been private
    return SessionEvent(
        event_type=event_type,
        summary=summary,
        created_at=at,
        resource=resource,
        title=title,
        session=session,
        who=who,
    )


@dataclass(frozen=True, slots=True)
class SessionToolUse:
    """How often a tool was called in a session, and how often that failed."""

    tool: str
    calls: int
    failed: int


def count_tools_used(tx: Reader, session: int, viewer: str) -> list[SessionToolUse]:
    """The tools used in a session, most used first, counting the calls ``viewer`` may see. Claim and release events of
    resources are not calls."""
    rows = tx.all(
        "SELECT e.tool, COUNT(*), SUM(CASE e.outcome WHEN 'ok' THEN 0 ELSE 1 END) FROM events e"
        f" WHERE e.session = :session AND {IS_CALL_EVENT} AND {VISIBLE_EVENT}"
        " GROUP BY e.tool ORDER BY 2 DESC, 1 LIMIT 50",
        {"session": session, "viewer": viewer},
    )
    return [SessionToolUse(tool, int(calls), int(failed)) for tool, calls, failed in rows]
