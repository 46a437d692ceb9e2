"""Sessions nobody is in any more: paused, and what they claimed given back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.settings import SessionSettings


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """When a session must have been seen to be alive, by its transport. One seen later than ``ahead`` is not: the clock
    was set back since."""

    remote: str
    local: str
    ahead: str

    @classmethod
    def of(cls, settings: SessionSettings) -> Cutoffs:
        """As of now."""
        return cls(clock.ago(settings.idle_s), clock.ago(settings.stale_s), clock.ago(-settings.idle_s))


_STALE = (
    "status = 'active' AND (seen_at > :ahead OR seen_at < CASE transport WHEN 'stdio' THEN :local ELSE :remote END)"
)


def has_stale(tx: Reader, cutoffs: Cutoffs) -> bool:
    """Whether there is anything to sweep."""
    return tx.one(f"SELECT 1 FROM sessions WHERE {_STALE} LIMIT 1", _params(cutoffs)) is not None


def sweep(tx: Writer, cutoffs: Cutoffs) -> int:
    """Pause stale sessions and release the claims of every session that is not active; how many were paused."""
    paused = tx.run(f"UPDATE sessions SET status = 'paused', ended_at = seen_at WHERE {_STALE}", _params(cutoffs))
    tx.run("DELETE FROM claims WHERE session IN (SELECT seq FROM sessions WHERE status <> 'active')")
    return paused


def end(tx: Writer, session: int, status: str) -> None:
    """A session stops: ``paused`` or ``completed``. What it claimed is free."""
    tx.run("UPDATE sessions SET status = ?, ended_at = ? WHERE seq = ?", (status, clock.now(), session))
    tx.run("DELETE FROM claims WHERE session = ?", (session,))


def pause(tx: Writer, sessions: Iterable[int]) -> None:
    """Sessions whose process ends: paused, unless they ended before."""
    for session in sessions:
        if tx.value("SELECT status FROM sessions WHERE seq = ?", (session,)) == "active":
            end(tx, session, "paused")


def _params(cutoffs: Cutoffs) -> dict[str, str]:
    return {"remote": cutoffs.remote, "local": cutoffs.local, "ahead": cutoffs.ahead}
