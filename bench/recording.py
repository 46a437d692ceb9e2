"""What it costs to give a call its session and write it down: the same calls in one process, with and without.

Without, the activity log takes nothing; everything else of the door is the same. Both sides take turns by blocks, the
time is that of all threads, and each block of the recorded side ends with what it left to be written: transaction and
fsync.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from auth.principal import owner
from auth.roles import Role
from bench.figures import Figure
from bench.measurements import blocks, p50, p99, to_ms
from bench.run import Run
from server import vault_admin
from server.activity_recorder import ActivityRecorder
from server.call import Caller
from server.dispatch import dispatch
from server.services import Services, open_services
from server.settings import load
from server.tools import discover
from vaults.activity_log.sessions import SessionOwner, begin_session
from vaults.vault import Vault

CALLS = 8_000
BLOCK = 500
LIMIT_US = 300.0


def measure(run: Run) -> Iterator[Figure]:
    """CPU and waiting of a no-op call, recorded and not."""
    with (
        run.folder("recording") as folder,
        run.report_progress(f"{run.sized(CALLS, BLOCK)} calls with and without the log"),
    ):
        recorded, bare = asyncio.run(_measure_both(folder, run.sized(CALLS, BLOCK)))
    cpu = 1e6 * (recorded.cpu / len(recorded.waits) - bare.cpu / len(bare.waits))
    raw = (
        f"p50 {to_ms(p50(recorded.waits))} with and {to_ms(p50(bare.waits))} without the log,"
        f" p99 {to_ms(p99(recorded.waits))} and {to_ms(p99(bare.waits))}; {len(bare.waits)} calls each, in process"
    )
    numbers = {"p50_with_s": p50(recorded.waits), "p50_without_s": p50(bare.waits)}
    yield Figure("recording a call, CPU", cpu, LIMIT_US, unit="µs", raw=raw, numbers=numbers)


class _Side:
    """Calls of one side: seconds each was waited for, and processor time of all threads."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.cpu = 0.0


async def _measure_both(folder: Path, count: int) -> tuple[_Side, _Side]:
    flags = {"storage.reserve_mb": 0, "limits.calls_per_minute": 10**9, "limits.vault_calls_per_minute": 10**9}
    loaded = load(folder, flags=flags, environment={})
    recorded, bare = _Side(), _Side()
    async with open_services(loaded.settings, loaded.data, discover(["bench.noop_tool"])) as services:
        await vault_admin.create(services, "main")
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            await _run_round(services, vault, range(200), _Side())  # warm
            for block in blocks(count, BLOCK):
                await _run_round(services, vault, block, recorded)
                with _without_recording():
                    await _run_round(services, vault, block, bare)
    return recorded, bare


async def _run_round(services: Services, vault: Vault, block: range, side: _Side) -> None:
    caller = Caller(owner("cli"), "main", Role.ADMIN, "http", preset="full")
    before = time.process_time()
    for number in block:
        began = time.perf_counter()
        outcome = await dispatch(services, caller, "noop", {"number": number})
        side.waits.append(time.perf_counter() - began)
        if not outcome.ok:
            raise RuntimeError(outcome.text)
    await vault.activity_log.flush()
    side.cpu += time.process_time() - before


@contextmanager
def _without_recording() -> Iterator[None]:
    session = begin_session(
        SessionOwner(
            identity="bench", who="bench", client=None, transport="http", workspace="global", connection="", idle_s=60.0
        ),
        "bench",
    )

    async def anybody(*about: object) -> object:
        del about
        return session

    with mock.patch("server.dispatch.resolve_session", anybody), mock.patch.object(ActivityRecorder, "_record"):
        yield
