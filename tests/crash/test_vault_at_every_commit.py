"""A vault that tools write to, while its change log is kept: restored at every commit, it agrees with itself."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ops.backup.folder_store import FolderStore
from ops.backup.restored_vault import open_restored
from ops.change_log.change_log import ChangeLog
from ops.change_log.lines import read_lines
from ops.change_log.points import find_point
from ops.change_log.replay import materialise
from tests.conftest import Asking, Opening, asker
from vaults.db import free_pages
from vaults.domain.maintenance import verification

pytestmark = pytest.mark.crash

STEPS = 40
WORDS = ["harbour", "ferry", "tide", "gull", "rope", "lamp", "keel", "anchor"]


async def change_something(ask: Asking, chance: Random, known: list[str]) -> None:
    """One call of a tool."""
    verb = chance.choice(["remember", "remember", "update", "forget", "purge", "recall"])
    text = " ".join(chance.choices(WORDS, k=chance.randrange(3, 200)))
    if verb == "remember" or not known:
        found: dict[str, Any] = (await ask("remember", content=f"{text} {chance.random()}")).content
        known.append(found["id"])
    elif verb == "update":
        assert (await ask("memory_update", id=chance.choice(known), content=f"{text} {chance.random()}")).ok
    elif verb == "recall":
        assert (await ask("recall", query=" ".join(chance.choices(WORDS, k=3)))).ok
    else:
        gone = known.pop(chance.randrange(len(known)))
        assert (await ask("memory_forget", ids=[gone], purge=verb == "purge", reason="a test", confirmed=True)).ok


async def test_a_vault_agrees_with_itself_at_every_commit(opening: Opening, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    async with opening({"backup.to": str(target), "backup.log": True}) as services:
        entry = services.registry_cache.entry("main")
        ask, chance, known = asker(services), Random(17), list[str]()
        await ask("remember", content="opens the vault")
        async with services.pool.lease(entry) as vault:
            log = vault.db.log
            assert isinstance(log, ChangeLog)
            while not log.is_following:  # noqa: ASYNC110  on other threads
                await asyncio.sleep(0.01)
        for number in range(STEPS):
            await change_something(ask, chance, known)
            if number % 15 == 14:
                async with services.pool.lease(entry) as vault:
                    await free_pages.compact(vault.db)
    store = FolderStore(target)
    (line,) = read_lines(store, entry.vault_id)
    commits = range(line.bases[0].sequence, line.last + 1)
    assert len(commits) > STEPS // 2, "most calls commit"
    async with opening() as services:
        for number in commits:
            folder = tmp_path / f"at-{number}"
            (folder / "notes").mkdir(parents=True, mode=0o700)
            materialise(store, entry.vault_id, folder / "vault.db", find_point(store, entry.vault_id, sequence=number))
            async with open_restored(services.pool, entry, folder) as restored:
                report = await verification.verify(restored.vault)
            assert report.agrees, (number, report.findings)
            shutil.rmtree(folder)
    print(f"{len(commits)} commits of {STEPS} calls: each agrees with itself")
