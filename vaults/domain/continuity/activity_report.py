"""A vault's activity log for its operators: the newest events, and loose ends."""

from __future__ import annotations

from dataclasses import dataclass

from vaults import clock
from vaults.activity_log.stale_sessions import IS_STALE, SessionCutoffs
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.continuity.session_events import BASELINE, VISIBLE_EVENT
from vaults.durations import parse_duration
from vaults.vault import Vault

MAX_ROWS_READ = 20_000
"""Max newest events searched for matching ones."""

OVERDUE_S = 2 * 86_400
"""Seconds that old events may outlive their time: they are deleted about hourly, while the vault is open."""


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """One call. ``resource`` is an id, path or name; of a failure inside the server the reference its log line has.
    ``context`` is what was asked for, where telemetry.query_context is on; ``baseline_tokens``: what the texts that
    the answer quotes would have cost whole."""

    at: str
    who: str | None
    tool: str
    summary: str
    outcome: str
    ms: float
    tokens_in: int
    tokens_out: int
    resource: str | None = None
    context: str | None = None
    baseline_tokens: int | None = None


async def list_recent_calls(vault: Vault, actor: Actor, limit: int, *, failed: bool) -> list[LoggedCall]:
    """The newest events ``actor`` may see, newest first; with ``failed``, only those of calls that failed."""
    await vault.activity_log.flush()
    which = "e.outcome <> 'ok'" if failed else "e.outcome <> ''"

    def read(tx: Reader) -> list[LoggedCall]:
        rows = tx.all(
            "SELECT e.at, s.who, e.tool, e.summary, e.outcome, e.ms, e.tokens_in, e.tokens_out, e.resource, e.context,"
            f" {BASELINE}"
            " FROM (SELECT * FROM events ORDER BY seq DESC LIMIT :looked_at) AS e LEFT JOIN sessions s ON s.seq ="
            f" e.session WHERE {which} AND {VISIBLE_EVENT} ORDER BY e.seq DESC LIMIT :limit",
            {"viewer": actor.identity, "looked_at": MAX_ROWS_READ, "limit": limit},
        )
        return [LoggedCall(*row) for row in rows]

    return await vault.db.read(read)


TABLES = ("sessions", "events", "handoffs", "checkpoints", "claims", "feedback")


def count_rows(tx: Reader) -> dict[str, int]:
    """Rows in each of these tables."""
    return {table: int(tx.value(f"SELECT COUNT(*) FROM {table}")) for table in TABLES}


@dataclass(frozen=True, slots=True)
class LooseEnds:
    """What nobody tidied up. ``stale``: active sessions nobody is in; ``orphans``: claims of sessions that have ended;
    ``expired``: the time of the oldest event, if it should have been deleted by now."""

    stale: int
    orphans: int
    expired: str | None


def find_loose_ends(tx: Reader, cutoffs: SessionCutoffs, keep: str) -> LooseEnds:
    """Loose ends as of now. ``keep`` is ``telemetry.keep``."""
    stale = tx.value(f"SELECT COUNT(*) FROM sessions WHERE {IS_STALE}", cutoffs.params)
    orphans = tx.value("SELECT COUNT(*) FROM claims c JOIN sessions s ON s.seq = c.session WHERE s.status <> 'active'")
    oldest = tx.value("SELECT at FROM events ORDER BY seq LIMIT 1")
    late = oldest is not None and oldest < clock.ago(parse_duration(keep) + OVERDUE_S)
    return LooseEnds(int(stale), int(orphans), str(oldest) if late else None)
