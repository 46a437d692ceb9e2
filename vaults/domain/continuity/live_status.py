"""How a vault is doing now: the health of calls, who is at work, what is claimed, what was just done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vaults import clock
from vaults.activity_log.stale_sessions import IS_LIVE, SessionCutoffs
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.continuity.session_events import IS_CALL_EVENT, NOTABLE_EVENT, VISIBLE_EVENT
from vaults.registry import DATABASE_FILE
from vaults.vault import Vault

CALLS_SCORED = 100
"""Latest calls the health score covers."""

MIN_CALLS = 20
"""Calls from which the score is published: with fewer, one mistake would sound an alarm."""

RECENT_S = 300
"""Seconds back that count as just now."""

MAX_EVENTS_READ = 1000
"""Newest events searched for recent actions: enough for a screen, however much goes on."""

MAX_PRESENT, MAX_HELD, MAX_LINES = 10, 5, 10
"""Max sessions, claims and recent actions shown."""


@dataclass(frozen=True, slots=True)
class Presence:
    """A session somebody is in. ``last`` is its latest call."""

    who: str
    client: str | None
    since: str
    last: str


@dataclass(frozen=True, slots=True)
class SessionsSummary:
    """Sessions that are active; ``present`` are those with the latest calls."""

    active: int
    present: list[Presence] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ClaimedResource:
    """A resource somebody has said to be working on."""

    resource: str
    who: str
    since: str
    description: str | None


@dataclass(frozen=True, slots=True)
class ClaimsSummary:
    """Resources that are claimed; ``first`` are the newest of them."""

    held: int
    first: list[ClaimedResource] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RecentAction:
    """What somebody did in the last five minutes, so many times; ``at`` is the last time."""

    who: str
    summary: str
    times: int
    at: str


@dataclass(frozen=True, slots=True)
class LiveStatus:
    """A vault's state now. ``health``: the share of the last 100 calls that succeeded, 0.0 to 1.0; None before the
    first."""

    health: float | None
    sessions: SessionsSummary
    claims: ClaimsSummary
    recent: list[RecentAction]


async def read_live_status(vault: Vault, actor: Actor) -> LiveStatus:
    """The status as of now, as ``actor`` may see it."""
    await vault.activity_log.flush()
    cutoffs, since = vault.activity_log.cutoffs(), clock.ago(RECENT_S)

    def read(tx: Reader) -> LiveStatus:
        return LiveStatus(
            measure_health(tx), _sessions(tx, cutoffs), _claims(tx, cutoffs), _recent(tx, actor.identity, since)
        )

    return await vault.db.read(read)


def measure_health(tx: Reader, least: int = 1) -> float | None:
    """The share of the last calls that succeeded; None if there were fewer than ``least``. A call that waits for a
    person's consent has not ended yet, so it does not count."""
    total, well = tx.one(
        "SELECT COUNT(*), SUM(CASE outcome WHEN 'ok' THEN 1 ELSE 0 END) FROM"
        f" (SELECT outcome FROM events WHERE {IS_CALL_EVENT} AND outcome <> 'confirmation_required' ORDER BY seq DESC"
        " LIMIT :scored) AS latest",
        {"scored": CALLS_SCORED},
    ) or (0, 0)
    return round(int(well) / int(total), 3) if total >= least else None


def _sessions(tx: Reader, cutoffs: SessionCutoffs) -> SessionsSummary:
    rows = tx.all(
        f"SELECT s.who, s.client, s.started_at, s.seen_at FROM sessions s WHERE {IS_LIVE}"
        " ORDER BY s.seen_at DESC, s.seq DESC LIMIT :most",
        {**cutoffs.params, "most": MAX_PRESENT},
    )
    return SessionsSummary(_count_active(tx, cutoffs), [Presence(*row) for row in rows])


def _count_active(tx: Reader, cutoffs: SessionCutoffs) -> int:
    return int(tx.value(f"SELECT COUNT(*) FROM sessions s WHERE {IS_LIVE}", cutoffs.params))


def _claims(tx: Reader, cutoffs: SessionCutoffs) -> ClaimsSummary:
    rows = tx.all(
        "SELECT c.resource, s.who, c.claimed_at, c.description FROM claims c JOIN sessions s ON s.seq = c.session"
        f" WHERE {IS_LIVE} ORDER BY c.claimed_at DESC, c.resource LIMIT :most",
        {**cutoffs.params, "most": MAX_HELD},
    )
    return ClaimsSummary(_count_held(tx, cutoffs), [ClaimedResource(*row) for row in rows])


def _count_held(tx: Reader, cutoffs: SessionCutoffs) -> int:
    return int(
        tx.value(f"SELECT COUNT(*) FROM claims c JOIN sessions s ON s.seq = c.session WHERE {IS_LIVE}", cutoffs.params)
    )


def _recent(tx: Reader, viewer: str, since: str) -> list[RecentAction]:
    rows = tx.all(
        "SELECT COALESCE(s.who, ''), e.summary, COUNT(*), MAX(e.at) FROM"
        " (SELECT * FROM events ORDER BY seq DESC LIMIT :looked_at) AS e LEFT JOIN sessions s ON s.seq = e.session"
        f" WHERE e.at >= :since AND {VISIBLE_EVENT} AND {NOTABLE_EVENT}"
        " GROUP BY COALESCE(s.who, ''), e.summary ORDER BY MAX(e.seq) DESC LIMIT :most",
        {"viewer": viewer, "since": since, "most": MAX_LINES, "looked_at": MAX_EVENTS_READ},
    )
    return [RecentAction(*row) for row in rows]


@dataclass(frozen=True, slots=True)
class VaultFigures:
    """Counts of a vault for its operator, whoever may see what is counted. ``size`` in bytes; ``limit``: those it may
    take, 0 for no limit; ``filled``: the share of it that is taken."""

    sessions: int = 0
    claims: int = 0
    memories: int = 0
    size: int = 0
    health: float | None = None
    limit: int = 0
    filled: float = 0.0


async def read_figures(vault: Vault) -> VaultFigures:
    """The counts as of now, without events of the last half second that are still to be written."""
    cutoffs, limit = vault.activity_log.cutoffs(), vault.limits.max_size

    def read(tx: Reader) -> VaultFigures:
        return VaultFigures(
            sessions=_count_active(tx, cutoffs),
            claims=_count_held(tx, cutoffs),
            memories=_count_living(tx),
            size=database_size(vault),
            health=measure_health(tx, MIN_CALLS),
            limit=limit or 0,
            filled=tx.size() / limit if limit else 0.0,
        )

    return await vault.db.read(read)


def combine_figures(each: Sequence[VaultFigures]) -> VaultFigures:
    """The sums over several vaults, their worst health, and how full the fullest is."""
    return VaultFigures(
        sessions=sum(one.sessions for one in each),
        claims=sum(one.claims for one in each),
        memories=sum(one.memories for one in each),
        size=sum(one.size for one in each),
        health=min((one.health for one in each if one.health is not None), default=None),
        limit=sum(one.limit for one in each),
        filled=max((one.filled for one in each), default=0.0),
    )


def _count_living(tx: Reader) -> int:
    # Two queries: there is an index for each.
    living = "archived_at IS NULL AND superseded_by IS NULL"
    return sum(
        int(tx.value(f"SELECT COUNT(*) FROM memories WHERE visibility = '{whose}' AND {living}"))
        for whose in ("shared", "private")
    )


def database_size(vault: Vault) -> int:
    """Bytes of the database file and its log."""
    return sum(path.stat().st_size for path in vault.folder.glob(f"{DATABASE_FILE}*"))
