"""Events as somebody may read them: nothing of a private memory that is another's, titles looked up now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vaults.db.sql import Reader, Row

RECENT_S = 600.0
"""Seconds of other sessions' activity that somebody who begins is shown."""


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
"""True of events that are calls, rather than one of the resources a call was about."""

VISIBLE_EVENT = (
    "(e.owner = :viewer OR CASE WHEN e.type LIKE 'memory%' THEN EXISTS (SELECT 1 FROM memories m WHERE m.id ="
    " e.resource AND (m.visibility = 'shared' OR m.stored_by = :viewer)) ELSE NOT EXISTS (SELECT 1 FROM memories m"
    " WHERE m.id = e.resource AND m.visibility = 'private' AND m.stored_by <> :viewer) END)"
)
"""True of an event ``e`` that ``:viewer`` may see: none that is about somebody else's private memory. Of what others
did with memories only those still there are told, for nobody knows any more what the others were."""

NOTABLE_EVENT = (
    "e.type NOT IN ('session_resumed', 'handoff_read', 'memory_known')"
    " AND NOT (e.type = 'tool_call' AND e.outcome = 'ok')"
)
"""What was written, decided, handed over, claimed, and what failed. Looking happened to nothing, and a list of what
somebody read hides the rest."""


def find_session_events(tx: Reader, session: int, viewer: str, limit: int) -> list[SessionEvent]:
    """The last events of a session, in order."""
    rows = tx.all(
        f"{_SELECT_EVENTS} WHERE e.session = :session AND {VISIBLE_EVENT} AND {NOTABLE_EVENT}"
        " ORDER BY e.seq DESC LIMIT :limit",
        {"session": session, "viewer": viewer, "limit": limit},
    )
    return [_to_event(row[:6]) for row in reversed(rows)]


def find_events_of_others(tx: Reader, session: int, viewer: str, since: str, limit: int) -> list[SessionEvent]:
    """What other sessions did since, in order, with whose it was."""
    rows = tx.all(
        f"{_SELECT_EVENTS} WHERE e.at > :since AND e.session <> :session AND {VISIBLE_EVENT} AND {NOTABLE_EVENT}"
        " ORDER BY e.at DESC, e.seq DESC LIMIT :limit",
        {"session": session, "viewer": viewer, "since": since, "limit": limit},
    )
    return [_to_event(row) for row in reversed(rows)]


def _to_event(row: Sequence[object] | Row) -> SessionEvent:
    kind, summary, at, resource, title, memory, *whose = row
    if str(kind).startswith("memory_") and memory is None:
        resource = None  # it was deleted for good, and was perhaps private
    session, who = whose or (None, None)
    return SessionEvent(str(kind), str(summary), str(at), *(_to_text(each) for each in (resource, title, session, who)))


def _to_text(value: object) -> str | None:
    return None if value is None else str(value)


@dataclass(frozen=True, slots=True)
class SessionToolUse:
    """How often a tool was called in a session, and how often that failed."""

    tool: str
    calls: int
    failed: int


def count_tools_used(tx: Reader, session: int, viewer: str) -> list[SessionToolUse]:
    """The tools of a session, the most used first, as far as ``viewer`` may know of the calls. Events of claimed
    resources are no calls."""
    rows = tx.all(
        "SELECT e.tool, COUNT(*), SUM(CASE e.outcome WHEN 'ok' THEN 0 ELSE 1 END) FROM events e"
        f" WHERE e.session = :session AND {IS_CALL_EVENT} AND {VISIBLE_EVENT}"
        " GROUP BY e.tool ORDER BY 2 DESC, 1 LIMIT 50",
        {"session": session, "viewer": viewer},
    )
    return [SessionToolUse(row[0], int(row[1]), int(row[2])) for row in rows]
