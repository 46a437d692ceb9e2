"""The log of backups: what is kept of it, and which one is the last good one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from ops.backup.backup_runs import KEPT, BackupRun, list_archives, list_runs, newest, newest_at, record
from vaults.db.connection import Database
from vaults.db.migration import migrate
from vaults.settings import StorageSettings


@pytest.fixture
async def control(tmp_path: Path) -> AsyncIterator[Database]:
    database = Database(tmp_path / "control.db", StorageSettings())
    await migrate(database, "control")
    yield database
    await database.close()


def run(number: int, outcome: str = "ok", vault_id: str = "v") -> BackupRun:
    return BackupRun(vault_id, "main", "2026-11-25T10:00:00.000Z", 1.0, number, 1, "t", number, outcome)


async def test_the_last_good_one_is_the_last_written_and_outlives_any_number_of_failures(control: Database) -> None:
    def write(tx):
        record(tx, run(1))
        record(tx, run(2))
        record(tx, run(3, vault_id="other"))
        record(tx, replace(run(4), target="/to/vaults/v/snapshots/1"))
        record(tx, replace(run(5), target="/to2/vaults/v/snapshots/1"))
        for number in range(KEPT + 20):
            record(tx, run(10 + number, "storage_full"))

    await control.write(write)
    assert (await control.read(lambda tx: newest(tx, "v"))).position == 5
    for place, position in (("/to", 4), ("/to2", 5)):
        assert (await control.read(lambda tx, place=place: newest_at(tx, "v", place))).position == position
    assert await control.read(lambda tx: newest_at(tx, "v", "/t")) is None
    kept = await control.read(lambda tx: list_runs(tx, "v"))
    assert [each.position for each in kept[-5:]] == [31, 30, 5, 4, 2]
    assert len(kept) == KEPT + 3
    assert await control.read(lambda tx: newest(tx, "other")) == run(3, vault_id="other")
    assert await control.read(lambda tx: newest(tx, "none")) is None


async def test_archives_that_went_anywhere_are_known_by_their_paths(control: Database) -> None:
    def write(tx):
        for number, target in enumerate(
            ("/a/x.tar.zst", "/b/x.tar.zst.age", "/a/x.tar.zst", "/to/vaults/v/snapshots/1")
        ):
            record(tx, replace(run(number), target=target))
        record(tx, replace(run(9, "storage_full"), target="/c/x.tar.zst"))

    await control.write(write)
    found = await control.read(lambda tx: list_archives(tx, "v"))
    assert found == (Path("/a/x.tar.zst"), Path("/b/x.tar.zst.age"))
