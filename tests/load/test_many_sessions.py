"""One caller that opens session after session, and a log of a million calls: answers stay quick, memory bounded."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from auth.principal import owner
from auth.roles import Role
from server.call import Caller
from server.dispatch import dispatch
from server.services import Services
from tests.conftest import Opening
from vaults import clock
from vaults.db.sql import Reader, Writer

HANDLES, AT_ONCE = 20_000, 20
EVENTS, BATCH = 1_000_000, 20_000
SLOWER, QUICK_S = 20, 0.005
"""How many times as long an answer may take as in an empty vault, where it takes at least so long."""

ASKED: list[tuple[str, dict[str, Any]]] = [
    ("session_resume", {}), ("status", {}), ("context", {}), ("claims", {}), ("session_history", {}), ("threads", {}),
]  # fmt: skip
ADA = Caller(owner("cli"), "main", Role.ADMIN, "http")


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


async def open_many(services: Services) -> None:
    async def one(number: int) -> None:
        claim = {"action": "claim", "resources": [f"file{number}"]} if number % 10 == 0 else {}
        assert (await dispatch(services, replace(ADA, session=f"job-{number}"), "claims", claim)).ok

    for first in range(0, HANDLES, AT_ONCE):
        await asyncio.gather(*(one(first + n) for n in range(AT_ONCE)))


def _log(tx: Writer, first: int, sessions: list[int]) -> None:
    tools = ("recall", "context", "status", "search", "note_read", "claims")
    ends = ["ok"] * 49 + ["timeout"]
    rows = [
        (clock.ago((EVENTS - n) * 5.0), sessions[n % len(sessions)], "owner", tools[n % 6], ends[n % 50])
        for n in range(first, first + BATCH)
    ]
    tx.many(
        "INSERT INTO events (at, session, owner, tool, type, summary, outcome, ms, tokens_in, tokens_out)"
        " VALUES (?, ?, ?, ?, 'tool_call', 'called', ?, 3.2, 20, 300)",
        rows,
    )


async def slowest(services: Services) -> dict[str, float]:
    """Seconds of each tool, the best of three, ``QUICK_S`` at least."""
    found = {}
    for tool, arguments in ASKED:
        took = []
        for _ in range(3):
            began = time.perf_counter()
            assert (await dispatch(services, ADA, tool, arguments)).ok
            took.append(time.perf_counter() - began)
        found[tool] = max(QUICK_S, min(took))
    return found


def _active(tx: Reader) -> int:
    return int(tx.value("SELECT COUNT(*) FROM sessions WHERE status = 'active'"))


@pytest.mark.load
async def test_many_sessions_and_a_long_log_slow_nobody_down(opening: Opening) -> None:
    async with opening({"limits.calls_per_minute": 10**6, "limits.vault_calls_per_minute": 10**6}) as services:
        assert (await dispatch(services, ADA, "context", {})).ok
        before, empty = resident(), await slowest(services)
        await open_many(services)
        assert resident() - before < 64 * 1024 * 1024
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            await vault.activity_log.write_out()
            assert await vault.db.read(_active) <= services.settings.sessions.max_active
            sessions = [int(row[0]) for row in await vault.db.read(lambda tx: tx.all("SELECT seq FROM sessions"))]
            for first in range(0, EVENTS, BATCH):
                await vault.db.write(lambda tx, first=first: _log(tx, first, sessions))  # type: ignore[misc]
        before, took = resident(), await slowest(services)
        assert all(took[tool] < SLOWER * empty[tool] for tool in took), (took, empty)
        assert resident() - before < 64 * 1024 * 1024
