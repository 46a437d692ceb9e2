"""Pauses sessions nobody uses any more, and releases their claims."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.settings import SessionSettings


@dataclass(frozen=True, slots=True)
class SessionCutoffs:
    """When a session must have been seen last to count as live, by its transport. One seen after ``ahead`` does not:
    the clock was set back since."""

    remote: str
    local: str
    ahead: str

    @classmethod
    def of(cls, settings: SessionSettings) -> SessionCutoffs:
        """As of now."""
        return cls(clock.ago(settings.idle_s), clock.ago(settings.stale_s), clock.ago(-settings.idle_s))

    @property
    def params(self) -> dict[str, str]:
        """The parameters of ``IS_STALE`` and ``IS_LIVE``."""
        return {"remote": self.remote, "local": self.local, "ahead": self.ahead}


_IS_LEFT = "(seen_at > :ahead OR seen_at < CASE transport WHEN 'stdio' THEN :local ELSE :remote END)"
IS_STALE = f"status = 'active' AND {_IS_LEFT}"
"""SQL: whether a session's row says active, but nobody uses it any more."""

IS_LIVE = f"status = 'active' AND NOT {_IS_LEFT}"
"""SQL: whether somebody uses the session."""


def has_stale(tx: Reader, cutoffs: SessionCutoffs) -> bool:
    """Whether there is anything to sweep."""
    return tx.one(f"SELECT 1 FROM sessions WHERE {IS_STALE} LIMIT 1", cutoffs.params) is not None


def pause_stale(tx: Writer, cutoffs: SessionCutoffs) -> int:
    """Pause stale sessions and release the claims of every session that is not active; how many were paused."""
    paused = tx.run(f"UPDATE sessions SET status = 'paused', ended_at = seen_at WHERE {IS_STALE}", cutoffs.params)
    tx.run(
        "DELETE FROM claims WHERE NOT EXISTS"
        " (SELECT 1 FROM sessions s WHERE s.seq = claims.session AND s.status = 'active')"
    )
    return paused


def end_session(tx: Writer, session: int, status: str) -> None:
    """End a session as ``paused`` or ``completed``, and release its claims. A completed one stays completed."""
    tx.run(
        "UPDATE sessions SET status = CASE status WHEN 'completed' THEN status ELSE :status END, ended_at = :now"
        " WHERE seq = :session",
        {"status": status, "now": clock.now(), "session": session},
    )
    for (resource,) in tx.all("SELECT resource FROM claims WHERE session = :session", {"session": session}):
        tx.note_change("claim", resource, "held", None)
    tx.run("DELETE FROM claims WHERE session = :session", {"session": session})


def pause_sessions(tx: Writer, sessions: Iterable[int]) -> None:
    """Pause sessions whose process ends, unless they ended before."""
    for session in sessions:
        if tx.value("SELECT status FROM sessions WHERE seq = :session", {"session": session}) == "active":
            end_session(tx, session, "paused")
