"""Ten thousand vaults of which nobody calls any: what a start and doing nothing cost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg

from bench.cluster import sites
from bench.figures import Figure
from bench.measurements import cpu_seconds, p50
from bench.run import Run
from tests.cluster.installation import Installation
from tests.cluster.postgres_server import PostgresServer

VAULTS, STARTS, IDLE_S, SETTLE_S = 10_000, 3, 20.0, 10.0
START_S, IDLE_SHARE = 2.0, 1.0

_REGISTER = (
    """
    INSERT INTO strongroom_control.vaults (name, vault_id, created_at)
    SELECT 'idle-' || n, 'idle-0000-7000-8000-' || lpad(n::text, 12, '0'), '2026-01-01T00:00:00.000Z'
    FROM generate_series(1, %(count)s) n
    """,
    """
    INSERT INTO strongroom.placement (vault, server, epoch, head)
    SELECT 'idle-0000-7000-8000-' || lpad(n::text, 12, '0'), NULL, 1, 0 FROM generate_series(1, %(count)s) n
    """,
)


def measure(run: Run) -> Iterator[Figure]:
    """Rows alone: nobody opens one of them, so what a vault holds plays no part."""
    with run.folder("cluster-many") as folder, sites.postgres(folder) as postgres:
        yield from asyncio.run(_measure(run, folder, postgres))


async def _measure(run: Run, folder: Path, postgres: PostgresServer) -> list[Figure]:
    count = run.sized(VAULTS, 200)
    async with sites.several(folder, postgres, 1, ["main"]) as made:
        few = await _starts(made)
        _register(made, count)
        with run.report_progress(f"start over {count:,} vaults"):
            many = await _starts(made)
        with run.report_progress("do nothing"):
            idle = await _idle(made)
    raw = f"{', '.join(f'{each:.2f}' for each in many)} s until it is ready; {p50(few):.2f} s over one vault"
    return [
        Figure(f"{count:,} registered vaults: start", p50(many), START_S, unit="s", raw=raw),
        Figure(
            f"{count:,} registered vaults: idle server, processor time",
            idle * 100,
            IDLE_SHARE,
            unit="%",
            raw=f"of a core, over {IDLE_S:g} s, heartbeats included",
        ),
    ]


def _register(made: Installation, count: int) -> None:
    assert made.database is not None
    with psycopg.connect(made.database) as connection:
        for statement in _REGISTER:
            connection.execute(statement, {"count": count})


async def _starts(made: Installation) -> list[float]:
    took = []
    [server] = made.servers
    for _ in range(STARTS):
        await server.end()
        began = time.perf_counter()
        server.start()
        await server.ready()
        took.append(time.perf_counter() - began)
    return took


async def _idle(made: Installation) -> float:
    """The share of a core."""
    [server] = made.servers
    await asyncio.sleep(SETTLE_S)
    before = cpu_seconds(server.pid)
    await asyncio.sleep(IDLE_S)
    return (cpu_seconds(server.pid) - before) / IDLE_S
