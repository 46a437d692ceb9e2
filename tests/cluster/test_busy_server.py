"""Everybody works in the vaults of one server: some of them are served by the others before long, and no call fails.

``make cluster``.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.cluster.installation import Installation, installed
from tests.cluster.postgres_server import running_postgres
from tests.cluster.steady_callers import call_until
from tests.work import PROGRAM_PATIENCE_S

pytestmark = pytest.mark.cluster

NAMES = [f"vault-{number}" for number in range(8)]
FIRST = "server-0"
MOVES = 3
BUSY_AT, EVERY_S = 0.04, 2
CALLERS = 8


async def test_a_busy_server_is_relieved_without_a_failed_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed: Counter[str] = Counter()
    with running_postgres() as postgres:
        settings = {"cluster__busy_at": BUSY_AT, "cluster__move_every_s": EVERY_S}
        async with installed(tmp_path, NAMES, servers=3, database=postgres.create_database(), **settings) as three:
            await gather_all(three)
            done = asyncio.Event()
            callers = [asyncio.create_task(call_until(done, three, NAMES, number, failed)) for number in range(CALLERS)]
            began = time.monotonic()
            async with asyncio.timeout(PROGRAM_PATIENCE_S):
                while (before := loads(three))[FIRST] < BUSY_AT:  # noqa: ASYNC110  its average rises
                    await asyncio.sleep(0.2)
            three.rows("UPDATE strongroom.placement SET pin = NULL")
            await relieved(three)
            after = loads(three)
            done.set()
            answered = sum(await asyncio.gather(*callers))
            listed = await three.command("cluster", "status", "--vaults")
    with capsys.disabled():
        print(f"\nload of cores {before}, then {after}, in {time.monotonic() - began:.0f} s")
        print(f"{answered} calls answered, {failed.total()} failed {dict(failed)}", listed, sep="\n")
    assert not failed
    assert "moved as another was busy" in listed


async def gather_all(three: Installation) -> None:
    """All vaults are the first server's."""
    three.rows("UPDATE strongroom.placement SET pin = %(name)s", name=FIRST)
    async with asyncio.timeout(PROGRAM_PATIENCE_S):
        while (held := three.holders()) != dict.fromkeys(NAMES, FIRST):
            for name in set(NAMES) - set(held):  # others are handed over once nobody asks for them
                await three.ask(name, "memory_list", {})
            await asyncio.sleep(0.5)


async def relieved(three: Installation) -> None:
    """Returns once so many vaults are served elsewhere, by each of the others one at least."""
    async with asyncio.timeout(PROGRAM_PATIENCE_S):
        while True:
            elsewhere = [server for server in three.holders().values() if server != FIRST]
            if len(elsewhere) >= MOVES and len(set(elsewhere)) == len(three.servers) - 1:
                return
            await asyncio.sleep(0.2)


def loads(three: Installation) -> dict[str, float]:
    """By the name of each server, as it last said."""
    return {name: round(cpu, 2) for name, cpu in three.rows("SELECT name, cpu FROM strongroom.servers ORDER BY name")}
