"""Removes what has run out in a vault: expired memories, old superseded versions, the log of calls.

A background job of the process that holds the vault's lease, run about hourly and as soon as a memory expires. It works
in transactions of some milliseconds with pauses in between, so that no call waits for it; an interrupted sweep goes on
with the next.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.domain.memories import indexing, item_traces, lifecycle
from vaults.durations import parse_duration
from vaults.errors import StorageFull
from vaults.index import passages, text_index
from vaults.vault import BackgroundJob, Vault

ACTOR_NAME = "strongroom"
"""The name in the audit for what the vault does by itself."""

SLICE_S, PAUSE_S = 0.008, 0.01
"""Seconds of one transaction, and of the pause after it."""

SPAN_S = 10.0
"""Max seconds of one sweep; the rest is left to the next."""

ROWS = 200
"""Log rows deleted at once."""

CLOCK_CHECK = clock.GuardedClock()
"""Deletions cannot be undone, so a clock that is set ahead for a moment must not cause them."""

SweepStep = Callable[[Writer], bool]
"""One transaction of a sweep; returns whether there is more to do."""


def is_sweep_due(tx: Reader) -> bool:
    """Whether a memory has expired, or the last sweep was long ago, or in the future: the clock was set back."""
    now = CLOCK_CHECK.ago(0)
    swept, _, due = str(tx.value("SELECT value FROM vault_info WHERE key = 'swept'") or "").partition(" ")
    return not swept <= now < due or tx.one(_HAS_EXPIRED, {"now": now}) is not None


async def sweep(vault: Vault) -> None:
    """Archive what expired, delete what was superseded long ago, and delete old calls. Raises ``StorageFull``."""
    until = time.monotonic() + SPAN_S
    hygiene, telemetry = vault.shared.hygiene, vault.shared.telemetry
    superseded, called = (CLOCK_CHECK.ago(parse_duration(keep)) for keep in (hygiene.superseded, telemetry.keep))
    steps: list[SweepStep] = [
        _expire,
        lambda tx: _forget_events(tx, called),
        lambda tx: _forget_sessions(tx, called),
    ]
    # Most vaults have nothing expired, and a thousand may be opened in a row: checking costs no write.
    for step in steps if await vault.db.read(lambda tx: _has_expired(tx, called)) else ():
        while await vault.db.write(step):
            if time.monotonic() > until:
                return
            await asyncio.sleep(PAUSE_S)
    if not await _delete_superseded(vault, superseded, until):
        return
    due = CLOCK_CHECK.ago(-hygiene.sweep_s)
    await vault.db.write(
        lambda tx: tx.run(
            "INSERT INTO vault_info (key, value) VALUES ('swept', :said)"
            " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            {"said": f"{CLOCK_CHECK.ago(0)} {due}"},
        )
    )


SWEEP = BackgroundJob("retention", is_sweep_due, sweep)


def _came_lately(kind: str, item: str) -> str:
    """SQL: true of an item that an import brought after ``:before``. What is old where it came from has been here for a
    short time only: without this, an imported history would be gone within the hour. The tables are those of
    ``vaults.domain.import_export.import_runs``."""
    return (
        "EXISTS (SELECT 1 FROM import_records r JOIN import_runs i ON i.seq = r.run"
        f" WHERE r.kind = '{kind}' AND r.item = json_array({item}) AND i.started_at >= :before)"
    )


_OLD_SESSION = f"s.status <> 'active' AND s.seen_at < :before AND NOT {_came_lately('session', 's.id')}"
_OLD_VERSION = f"m.superseded_by IS NOT NULL AND m.updated_at < :before AND NOT {_came_lately('memory', 'm.id')}"


def _has_expired(tx: Reader, called: str) -> bool:
    """Whether there is an expired memory, or a call or session from before ``called``."""
    return (
        tx.one(_HAS_EXPIRED, {"now": clock.now()})
        or tx.one("SELECT 1 FROM events WHERE at < :called LIMIT 1", {"called": called})
        or tx.one(f"SELECT 1 FROM sessions s WHERE {_OLD_SESSION} LIMIT 1", {"before": called})
    ) is not None


_EXPIRED = "expires_at <= :now AND archived_at IS NULL AND superseded_by IS NULL"
_HAS_EXPIRED = f"SELECT 1 FROM memories WHERE {_EXPIRED} LIMIT 1"


def _expire(tx: Writer) -> bool:
    until = time.perf_counter() + SLICE_S
    rows = tx.all(
        f"SELECT seq FROM memories WHERE {_EXPIRED} ORDER BY expires_at LIMIT {ROWS}", {"now": CLOCK_CHECK.ago(0)}
    )
    for (seq,) in rows:
        lifecycle.archive(tx, int(seq), "expired")
        if time.perf_counter() > until:
            return True
    return False


def _forget_events(tx: Writer, before: str) -> bool:
    done = tx.run(
        f"DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE at < :before ORDER BY at LIMIT {ROWS})",
        {"before": before},
    )
    return done == ROWS


def _forget_sessions(tx: Writer, before: str) -> bool:
    """Delete sessions ended before this time that no event refers to; handoffs, states and feedback stay."""
    done = tx.run(
        f"DELETE FROM sessions WHERE seq IN (SELECT s.seq FROM sessions s WHERE {_OLD_SESSION}"
        f" AND NOT EXISTS (SELECT 1 FROM events e WHERE e.session = s.seq) LIMIT {ROWS // 10})",
        {"before": before},
    )
    return done == ROWS // 10


async def _delete_superseded(vault: Vault, before: str, until: float) -> bool:
    """Delete old versions as ``purge`` does, with an audit row for each; returns whether all of them are gone."""
    if not await vault.db.read(lambda tx: _find_superseded(tx, before, 1)):
        return True
    more = True
    while more and time.monotonic() < until:
        more = await vault.db.write(lambda tx: _delete_versions(tx, before))
        await asyncio.sleep(PAUSE_S)
    step = 0
    while await vault.db.write(lambda tx, step=step: text_index.erase_traces_in_steps(tx, step)):  # type: ignore[misc]
        step += 1
        await asyncio.sleep(PAUSE_S)
    await vault.erase_removed_vectors()
    try:
        await vault.db.checkpoint()
    except StorageFull:  # old bytes stay in the log until the idle vault empties it
        return not more
    return not more


def _find_superseded(tx: Reader, before: str, limit: int) -> list[tuple[int, str, str]]:
    rows = tx.all(
        f"SELECT m.seq, m.id, m.superseded_by FROM memories m WHERE {_OLD_VERSION} ORDER BY m.updated_at LIMIT :limit",
        {"before": before, "limit": limit},
    )
    return [(int(seq), memory_id, by) for seq, memory_id, by in rows]


def _delete_versions(tx: Writer, before: str) -> bool:
    until = time.perf_counter() + SLICE_S
    for seq, memory_id, by in _find_superseded(tx, before, ROWS):
        passages.remove_items(tx, indexing.KIND, [seq])
        deleted = {"seq": seq, "id": memory_id, "by": by}
        lifecycle.note_purged(tx, seq, memory_id)
        tx.run("DELETE FROM idempotency_keys WHERE memory = :id", deleted)
        tx.run("DELETE FROM memories WHERE seq = :seq", deleted)
        # Unlike after a purge, nothing is found again: what this one superseded is as outdated as before.
        tx.run("UPDATE memories SET superseded_by = :by WHERE superseded_by = :id", deleted)
        tx.run("UPDATE memories SET supersedes = NULL WHERE id = :by AND supersedes = :id", deleted)
        item_traces.erase(tx, item_traces.MEMORY, memory_id)
        tx.run(
            "INSERT INTO audit (at, who, action, target, reason) VALUES (:now, :who, 'retention', :id, :reason)",
            {"now": clock.now(), "who": ACTOR_NAME, "id": memory_id, "reason": f"superseded by {by}"},
        )
        if time.perf_counter() > until:
            return True
    return False
