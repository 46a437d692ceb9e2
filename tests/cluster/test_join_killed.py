"""``cluster join`` in a process that is killed again and again, and everything out again: ``CLUSTER_VAULTS`` vaults.

Covers server.cluster.join, server.cluster.export with many vaults: ``make cluster``.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from server.cluster.export import export_cluster
from server.cluster_settings import ClusterSettings
from tests.cluster.postgres_server import running_postgres
from tests.conftest import Opening, asker
from tests.noted import folder
from tests.people import person
from tests.vaults.domain.notes.kept_notes import files_below
from vaults.domain.maintenance.verification import verify
from vaults.settings import StorageSettings

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).resolve().parents[2]
VAULTS = tuple(f"v{n:03}" for n in range(int(os.environ.get("CLUSTER_VAULTS", "30"))))
KILLS = 8
QUIET = {"notes.watch": "off", "embedding.engine": "off", "storage.open_vaults": 16}


def joining(data: Path, url: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.cluster.joining_child", str(data), url]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def killed_after(child: subprocess.Popen[str], steps: int) -> bool:
    """SIGKILL once it has said so many steps; whether it came so far."""
    assert child.stdout is not None
    said = [line for _, line in zip(range(steps), child.stdout, strict=False)]
    child.kill()
    child.wait()
    child.stdout.close()
    return len(said) == steps


async def test_a_join_that_is_killed_again_and_again_loses_and_doubles_nothing(
    opening: Opening, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = tmp_path_factory.mktemp("out") / "data"
    async with opening(QUIET, vaults=VAULTS) as services:
        for name in VAULTS:
            ann = await person(services, "ann", vault=name)
            assert (await ann("remember", content=f"harbour {name}")).ok
            assert (await ann("note_write", path="deep/a.md", content=f"# {name}\n\n[[b]]\n")).ok
    with running_postgres() as postgres:
        url = postgres.create_database()
        chance = random.Random(7)
        steps = [*chance.sample(range(1, len(VAULTS) + 1), KILLS - 3), *(len(VAULTS) + n for n in (1, 2, 3))]
        for each in sorted(steps):
            assert await asyncio.to_thread(killed_after, joining(tmp_path, url), each)
        child = joining(tmp_path, url)
        said, _ = await asyncio.to_thread(child.communicate)
        assert child.returncode == 0
        assert said.splitlines()[-1].startswith("joined "), said
        await check(opening, url, (tmp_path, out))


async def check(opening: Opening, url: str, folders: tuple[Path, Path]) -> None:
    data, out = folders
    report = await export_cluster(ClusterSettings(url=url), StorageSettings(reserve_mb=0), out, lambda *_: None)
    assert [each.name for each in report.vaults] == list(VAULTS)
    async with opening(QUIET, vaults=VAULTS, data=out) as services:
        for name in VAULTS:
            assert files_below(folder(out, name)) == files_below(folder(data, name))
            async with services.pool.lease(services.registry_cache.entry(name)) as vault:
                found = await verify(vault)
            assert (found.agrees, found.memories, found.notes) == (True, 1, 1), found.findings
        assert (await asker(services)("status")).code in (None, "not_found")
