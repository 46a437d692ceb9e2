"""A whole vault in the cluster's log: what a memory costs there, and what comes out of it again.

Covers vaults.cluster.page_log.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Opening, asker
from tests.fakes import HashEmbedder
from tests.importing import import_jsonl
from tests.vaults.cluster.logged_vault import endless_lease
from tests.vaults.cluster.memory_log import VAULT, MemoryLog
from vaults.cluster.page_log import HeldVault, PageLog
from vaults.cluster.restore import refuse_unsound, restore
from vaults.db.connection import Database
from vaults.domain.actors import Actor
from vaults.domain.maintenance.verification import verify

PASSAGES = 1000
MEMORIES = 60
MOST_BYTES = 10 * 1024

WORDS = [f"{first}{second}" for first in "bcdfgklmnprst" for second in ("anor", "elim", "isk", "otan", "uvel", "yra")]


def sentence(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=14)).capitalize() + "."


class LoggedOpening:
    """Opens a vault with a log in memory."""

    def __init__(self, data: Path, apart: Path) -> None:
        self._data, self._apart = data, apart
        self.log = MemoryLog()
        self.lost: list[BaseException] = []
        self.path: Path | None = None

    def __call__(self, path: Path, settings: Any, observer: Any = None, log: Any = None) -> Database:
        if log is None or not path.is_relative_to(self._data):  # a server of its own lays out what all tests begin with
            return Database(path, settings, observer)
        self.path = path
        start = restore(self.log, VAULT, self._apart / "v.db", self.log.held.head)
        pages = PageLog(path, settings, HeldVault(self.log.held, self.log, endless_lease()), start, self.lost.append)
        return Database(path, settings, observer, pages)


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> LoggedOpening:
    opening = LoggedOpening(tmp_path, tmp_path_factory.mktemp("apart"))
    monkeypatch.setattr("vaults.vault.Database", opening)
    return opening


async def test_a_memory_takes_little_room_and_the_restored_vault_agrees(
    opening: Opening, logged: LoggedOpening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(5)
    lines = tmp_path / "lines.jsonl"
    lines.write_text(
        "".join(json.dumps({"content": sentence(chance), "external_id": str(n)}) + "\n" for n in range(PASSAGES))
    )
    kept = [sentence(chance) for _ in range(MEMORIES)]
    wide = lambda: HashEmbedder(384)  # noqa: E731  as wide as the bundled model's
    async with opening(load_model=wide) as services:
        ask = asker(services)
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            await import_jsonl(vault, Actor("owner", "owner"), lines)
            before = sum(len(each.payload) for each in logged.log.stored)
            for each in kept:
                assert (await ask("remember", content=each)).ok
            await vault.activity_log.flush()
            taken = sum(len(each.payload) for each in logged.log.stored) - before
            assert taken / MEMORIES <= MOST_BYTES
            first = (await ask("memory_list", order="oldest")).content["memories"][0]["id"]
            assert (await ask("memory_forget", ids=[first], purge=True)).ok
    assert not logged.lost

    assert logged.path is not None
    monkeypatch.setattr("vaults.vault.Database", Database)
    restore(logged.log, VAULT, logged.path, logged.log.held.head, refuse_unsound)
    async with opening(load_model=wide) as services:
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            report = await verify(vault)
        assert report.findings == []
        assert report.agrees
        assert report.memories == PASSAGES + MEMORIES - 1
        found = await asker(services)("recall", query=kept[7])
        assert kept[7] in str(found.content)
