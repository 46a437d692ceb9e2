"""``vault copy`` and ``restore`` in processes that are killed at random moments, while two servers serve: every vault
that is listed is whole, and what was killed is done again.

``make cluster``. Covers server.cluster.whole_vaults with real processes.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest

from tests.cluster.installation import Installation, installed
from tests.cluster.postgres_server import running_postgres
from tests.work import PROGRAM_PATIENCE_S

pytestmark = pytest.mark.cluster

KILLS = min(10, int(os.environ.get("CLUSTER_FAULTS", "60")) // 20)
NOTE = "line of a note\n" * 20_000
BEFORE, AFTER = {"before"}, {"before", "after"}


async def run(two: Installation, *arguments: str, kill_after_s: float | None = None) -> int:
    """Its exit code, negative where it was killed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "server", *arguments),
        env=two.environment,
        cwd=two.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    if kill_after_s is not None:
        done = asyncio.create_task(process.wait())
        await asyncio.wait({done}, timeout=kill_after_s)
        if not done.done():
            process.kill()
        return await done
    return await process.wait()


async def contents(two: Installation, vault: str) -> set[str]:
    """Of a vault, once it is answered."""
    async with asyncio.timeout(PROGRAM_PATIENCE_S):
        while True:
            try:
                found = await two.ask(vault, "memory_list", {"limit": 100})
            except (LookupError, httpx2.TransportError):
                await asyncio.sleep(0.2)
                continue
            if found.code is None:
                note = await two.ask(vault, "note_read", {"path": "a.md", "max_tokens": 1000})
                assert note.code is None, note.text
                return {each["content"] for each in found.content["memories"]}
            assert found.code == "vault_unavailable", found.text
            await asyncio.sleep(0.2)


def is_listed(two: Installation, vault: str) -> bool:
    return bool(two.rows("SELECT 1 FROM strongroom_control.vaults WHERE name = %(name)s", name=vault))


async def test_commands_that_are_killed_leave_whole_vaults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running_postgres() as postgres:
        async with installed(tmp_path, ["main"], servers=2, database=postgres.create_database()) as two:
            (tmp_path / "backups").mkdir()
            for text in ("before", "after"):
                assert (await two.ask("main", "remember", {"content": text})).code is None
                if text == "before":
                    note = {"path": "a.md", "content": NOTE}
                    assert (await two.ask("main", "note_write", note)).code is None
                    await two.command("backup", "--vault", "main", "--to", str(tmp_path / "backups"))
            (archive,) = (tmp_path / "backups").glob("main*")
            killed = [await copies_killed(two), await restores_killed(two, str(archive))]
            orphans = two.rows(
                "SELECT count(*) FROM strongroom.placement p WHERE NOT EXISTS"
                " (SELECT FROM strongroom_control.vaults v WHERE v.vault_id = p.vault)"
            )
            with capsys.disabled():
                print(f"\n{killed[0]} copies and {killed[1]} restores were killed")
            assert orphans == [(0,)]


async def copies_killed(two: Installation) -> int:
    killed, at = 0, time.monotonic()
    assert await run(two, "vault", "copy", "main", "whole") == 0
    takes_s = time.monotonic() - at
    for number in range(KILLS):
        name = f"copy-{number}"
        killed += await run(two, "vault", "copy", "main", name, kill_after_s=late(two, takes_s)) < 0
        if not is_listed(two, name):
            assert await run(two, "vault", "copy", "main", name) == 0
        assert await contents(two, name) == AFTER
    assert await contents(two, "main") == AFTER
    return killed


async def restores_killed(two: Installation, archive: str) -> int:
    killed, at = 0, time.monotonic()
    assert await run(two, "restore", archive, "--as", "tried") == 0
    takes_s = time.monotonic() - at
    for _ in range(KILLS):
        killed += await run(two, "restore", archive, kill_after_s=late(two, takes_s)) < 0
        found = await contents(two, "main")
        assert found in (BEFORE, AFTER)
        if found == BEFORE:
            assert (await two.ask("main", "remember", {"content": "after"})).code is None
    assert await run(two, "restore", archive) == 0
    assert await contents(two, "main") == BEFORE
    assert await run(two, "vault", "copy", "main", "last") == 0
    return killed


def late(two: Installation, takes_s: float) -> float:
    """A moment of the half in which there is something to kill."""
    return takes_s * two.chance.uniform(0.5, 1.0)
