"""Backups a server makes unasked: what is due, what fails, what stays.

Covers ops.backup.schedule, ops.backup.snapshot_run, ops.backup.control_run, ops.backup.run_reports,
ops.backup.disk_probe.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from auth.keys import open_key_ring
from ops.backup import backup_runs, snapshot_run
from ops.backup import schedule as schedules
from ops.backup.archive_reader import Opener, open_archive
from ops.backup.backup_runs import BackupRun
from ops.backup.control_run import control_key, list_control_backups
from ops.backup.disk_probe import DiskProbe
from ops.backup.folder_store import FolderStore
from ops.backup.signature import trusted_keys
from ops.backup.snapshots import folder_key, list_snapshots, open_snapshot
from ops.metrics import Metrics
from server import vault_admin
from server.backup_schedule import _names_secret, keep_backups, make_schedule
from server.services import Services
from tests.conftest import Opening
from tests.noted import put
from tests.ops.backup.staged import contents
from tests.work import PATIENCE_S
from vaults import clock
from vaults.errors import InvalidArgument, StorageFull, VaultQuarantined

DAY = 86_400


def config_of(services: Services) -> Path:
    """A settings file of another name."""
    return services.data / "elsewhere.toml"


class Counting:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.outcomes: list[str] = []
        self.moved: list[int] = []
        self.states: list[tuple[float, float, int]] = []
        self._told = asyncio.Event()

    async def told(self) -> None:
        """Until it is told of something."""
        self._told.clear()
        await self._told.wait()

    def on_backup(self, outcome: str, seconds: float, moved: int) -> None:
        self.outcomes.append(outcome)
        self.moved.append(moved)
        self._told.set()

    def on_backup_state(self, age_s: float, interval_s: float, size: int) -> None:
        self.states.append((age_s, interval_s, size))
        self._told.set()


@pytest.fixture
def flags(tmp_path: Path) -> dict[str, object]:
    (tmp_path / "to").mkdir()
    return {"backup.every": "1d", "backup.to": str(tmp_path / "to")}


@pytest.fixture
async def scheduled(opening: Opening, flags: dict[str, object]):
    async with opening(flags, vaults=("main", "other")) as services:
        observer = Counting()
        schedule = make_schedule(services, observer, config_of(services))
        yield services, schedule, observer
        await schedule.close()


async def runs(services: Services, vault: str) -> list[BackupRun]:
    vault_id = services.registry_cache.entry(vault).vault_id
    return await services.control.read(lambda tx: backup_runs.list_runs(tx, vault_id, 9))


def snapshots(tmp_path: Path, services: Services, vault: str) -> list[int]:
    there = list_snapshots(FolderStore(tmp_path / "to"), services.registry_cache.entry(vault).vault_id)
    return [each.number for each in there]


async def age(services: Services, by: timedelta) -> None:
    """Make every run older; younger for less than nothing."""
    began = clock.to_text(datetime.now(UTC) - by)
    await services.control.write(lambda tx: tx.run("UPDATE backups SET began_at = :began", {"began": began}))


def break_staging(monkeypatch, failure: Exception) -> None:
    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(snapshot_run, "stage", fail)


async def test_what_is_due_is_backed_up_once_and_can_be_read(scheduled, tmp_path: Path) -> None:
    services, schedule, observer = scheduled
    assert await schedule.look() == 2
    assert await schedule.look() == 0
    assert observer.outcomes == ["ok", "ok"]
    assert observer.states[-1][0] < DAY
    assert observer.states[-1][1:] == (DAY, sum([(await runs(services, each))[0].size for each in ("main", "other")]))
    entry = services.registry_cache.entry("main")
    manifest = open_snapshot(FolderStore(tmp_path / "to"), entry.vault_id, "latest").extract(tmp_path / "out")
    assert manifest.vault == "main"
    with closing(sqlite3.connect(tmp_path / "out/vault.db")) as restored:
        assert restored.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_after_a_restart_nothing_is_due_that_was_done_before(
    opening: Opening, flags, scheduled, tmp_path: Path
) -> None:
    services, schedule, _ = scheduled
    await schedule.look()
    again = make_schedule(services, Counting(), config_of(services))
    assert await again.look() == 0
    await age(services, timedelta(days=1, seconds=1))
    assert await again.look() == 2
    await again.close()
    assert snapshots(tmp_path, services, "main") == [2, 1]


async def test_two_processes_that_look_at_once_make_one_backup_of_each_vault(scheduled, tmp_path: Path) -> None:
    services, schedule, _ = scheduled
    other = make_schedule(services, Counting(), config_of(services))
    assert sum(await asyncio.gather(schedule.look(), other.look())) == 2
    await other.close()
    assert [len(await runs(services, name)) for name in ("main", "other")] == [1, 1]


async def test_the_second_backup_moves_little(scheduled) -> None:
    services, schedule, observer = scheduled
    await schedule.look()
    await age(services, timedelta(days=2))
    await schedule.look()
    assert observer.outcomes == ["ok"] * 4
    assert max(observer.moved[2:]) < min(observer.moved[:2])


async def test_four_generations_stay_and_a_clock_set_back_takes_none_of_the_new(scheduled, tmp_path: Path) -> None:
    services, schedule, _ = scheduled
    for round_ in range(6):
        await schedule.look()
        await age(services, timedelta(days=2) if round_ % 2 else timedelta(days=-400))  # the clock went back
    assert snapshots(tmp_path, services, "main") == [6, 5, 4, 3]


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (VaultQuarantined("damaged", reason="damaged"), "vault_quarantined"),
        (StorageFull("full"), "storage_full"),
        (ZeroDivisionError(), "internal"),
    ],
)
async def test_what_fails_is_written_down_and_takes_no_good_backup_away(
    scheduled, tmp_path: Path, monkeypatch, failure: Exception, code: str
) -> None:
    services, schedule, observer = scheduled
    await schedule.look()
    before = contents(tmp_path / "to")
    await age(services, timedelta(days=9))
    break_staging(monkeypatch, failure)
    assert await schedule.look() == 0
    assert observer.outcomes[2:] == [code, code]
    assert observer.states[-1][0] >= 9 * DAY
    assert [run.outcome for run in await runs(services, "main")] == [code, "ok"]
    assert contents(tmp_path / "to") == before
    assert await schedule.look() == 0
    assert len(observer.outcomes) == 4, "it is not tried again at once"


async def test_a_damaged_vault_takes_no_good_backup_away(scheduled, tmp_path: Path) -> None:
    services, schedule, observer = scheduled
    await schedule.look()
    before = contents(tmp_path / "to")
    await age(services, timedelta(days=9))
    entry = services.registry_cache.entry("main")
    async with services.pool.lease(entry) as vault:
        await vault.db.checkpoint()
        with (vault.folder / "vault.db").open("r+b") as file:  # pages that opening does not read
            file.seek(100 * 4096)
            file.write(b"\xff" * 40 * 4096)
    assert await schedule.look() == 1
    assert sorted(observer.outcomes[2:]) == ["ok", "vault_quarantined"]
    kept = {path: data for path, data in contents(tmp_path / "to").items() if entry.vault_id in path}
    assert kept == {path: data for path, data in before.items() if entry.vault_id in path}


async def test_an_archived_vault_is_backed_up_once_and_again_when_it_was_changed(scheduled, tmp_path: Path) -> None:
    services, schedule, observer = scheduled
    entry = services.registry_cache.entry("main")
    await vault_admin.archive(services, "main")
    assert await schedule.look() == 2
    await age(services, timedelta(days=3))
    assert observer.states[-1][0] < DAY
    put(services.pool.folder_of(entry) / "notes", {"late.md": "changed since"})
    again = make_schedule(services, observer, config_of(services))
    assert await again.look() == 2
    assert (await again.look(), len(list_snapshots(FolderStore(tmp_path / "to"), entry.vault_id))) == (0, 2)
    await services.control.write(
        lambda tx: tx.run("UPDATE backups SET began_at = :began", {"began": clock.to_text(datetime.now(UTC))})
    )
    schedule.pace = replace(schedule.pace, every_s=0)
    assert await schedule.look() == 1, "nothing changed in the archived one"
    await again.close()
    out = tmp_path / "out"
    open_snapshot(FolderStore(tmp_path / "to"), entry.vault_id, "latest").extract(out)
    assert (out / "notes" / "late.md").read_text() == "changed since"


async def test_a_backup_that_cannot_be_recorded_is_not_made_again_at_every_look(
    scheduled, tmp_path: Path, monkeypatch
) -> None:
    """Else the rotation would soon have taken every older one away."""
    services, schedule, observer = scheduled

    async def fail(_: object) -> None:
        raise StorageFull("full")

    monkeypatch.setattr(type(services.control), "write_uncounted", lambda _, work: fail(work))
    assert await schedule.look() == 2
    assert observer.outcomes == ["ok", "storage_full"] * 2
    assert await schedule.look() == 0
    assert snapshots(tmp_path, services, "main") == [1]


async def test_a_defect_ends_neither_the_looks_nor_what_is_told(scheduled, monkeypatch) -> None:
    _, schedule, observer = scheduled
    monkeypatch.setattr(schedules, "FIRST_LOOK_S", 0)
    monkeypatch.setattr(schedules, "LOOK_S", 0)
    prepare, looks, told, tellings = schedule.prepare, count(), observer.on_backup_state, count()

    def tell_second(*figures: float) -> None:
        if next(tellings) == 0:
            raise ZeroDivisionError
        told(*figures)

    def fail_first() -> object:
        if next(looks) == 0:
            raise PermissionError
        return prepare()

    schedule.prepare = fail_first
    monkeypatch.setattr(observer, "on_backup_state", tell_second)
    running = asyncio.create_task(schedule.run())
    async with asyncio.timeout(PATIENCE_S):
        while observer.outcomes.count("ok") < 2:
            await observer.told()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert observer.outcomes[:2] == ["internal", "internal"]
    assert observer.states


async def test_how_old_backups_are_is_told_while_one_hangs(scheduled, monkeypatch) -> None:
    _, schedule, observer = scheduled
    monkeypatch.setattr(schedules, "FIRST_LOOK_S", 0)
    monkeypatch.setattr(schedules, "LOOK_S", 0)
    inside, go_on = threading.Event(), threading.Event()

    def hang(*_: object) -> None:
        inside.set()
        go_on.wait()
        raise StorageFull("full")

    monkeypatch.setattr(snapshot_run, "stage", hang)
    running = asyncio.create_task(schedule.run())
    await asyncio.to_thread(inside.wait)
    told = len(observer.states)
    async with asyncio.timeout(PATIENCE_S):
        while len(observer.states) < told + 2:
            await observer.told()
    go_on.set()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_one_vault_that_fails_holds_up_no_other(scheduled, monkeypatch, tmp_path: Path) -> None:
    services, schedule, observer = scheduled
    whole = snapshot_run.stage

    def stage(subject, *rest):
        if subject.entry.name == "main":
            raise VaultQuarantined("damaged")
        return whole(subject, *rest)

    monkeypatch.setattr(snapshot_run, "stage", stage)
    assert await schedule.look() == 1
    assert sorted(observer.outcomes) == ["ok", "vault_quarantined"]
    assert snapshots(tmp_path, services, "other") == [1]


async def test_a_target_that_is_gone_is_said_and_made_nowhere_else(scheduled, tmp_path: Path) -> None:
    _, schedule, observer = scheduled
    (tmp_path / "to").rmdir()
    assert await schedule.look() == 0
    assert observer.outcomes == ["vault_unavailable"] * 2
    assert not (tmp_path / "to").exists()


async def test_a_vault_whose_background_work_another_process_does_is_left_to_it(scheduled) -> None:
    services, schedule, observer = scheduled
    from vaults.db.lease import Lease

    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        vault.lease.release()
        other = Lease(Path(vault.lease._lock.lock_file))
        assert other.try_acquire()
        assert await schedule.look() == 1
        other.release()
    assert observer.outcomes == ["ok"]


async def test_a_backup_that_another_is_making_is_no_failure(scheduled, tmp_path: Path) -> None:
    services, schedule, observer = scheduled
    vault_id = services.registry_cache.entry("main").vault_id
    with FolderStore(tmp_path / "to").hold(folder_key(vault_id)):
        assert await schedule.look() == 1
    assert observer.outcomes == ["ok"]
    assert await runs(services, "main") == []
    assert await schedule.look() == 1


async def test_a_disk_that_does_not_answer_gets_no_backup_to_do(scheduled, tmp_path: Path) -> None:
    _, schedule, observer = scheduled
    hanging = threading.Event()
    schedule.probe = DiskProbe(hanging.wait, patience_s=0.01)
    assert await schedule.look() == 0
    assert observer.outcomes == ["vault_unavailable"] * 2
    assert not any(contents(tmp_path / "to").values())
    hanging.set()


async def test_a_disk_that_is_nearly_full_gets_no_copy(scheduled, monkeypatch, tmp_path: Path) -> None:
    _, schedule, observer = scheduled
    monkeypatch.setattr("vaults.disk_reserve.free_bytes", lambda _: 1000)
    assert await schedule.look() == 0
    assert observer.outcomes == ["storage_full"] * 2
    assert not any(contents(tmp_path / "to").values())


async def test_a_server_that_ends_stops_its_backup_and_publishes_nothing_of_it(
    scheduled, monkeypatch, tmp_path
) -> None:
    services, schedule, observer = scheduled
    begun, whole = threading.Event(), snapshot_run.stage

    def stage(subject, scratch, pace):
        begun.set()
        while True:
            pace.spend(0)

    monkeypatch.setattr(snapshot_run, "stage", stage)
    looking = asyncio.create_task(schedule.look())
    await asyncio.to_thread(begun.wait)
    looking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await looking
    assert observer.outcomes == []
    assert not any("snapshots" in path for path in contents(tmp_path / "to"))
    assert list((services.data / "backup-scratch").glob("scratch-*")) == []
    monkeypatch.setattr(snapshot_run, "stage", whole)


async def test_rotation_that_fails_leaves_a_good_backup_good_and_counts_as_a_failure(
    scheduled, monkeypatch, tmp_path: Path
) -> None:
    services, schedule, observer = scheduled

    def fail(*_: object) -> None:
        raise StorageFull("full")

    monkeypatch.setattr(snapshot_run, "rotate", fail)
    assert await schedule.look() == 2
    assert observer.outcomes == ["storage_full", "ok"] * 2
    assert [run.outcome for run in await runs(services, "main")] == ["ok"]
    assert snapshots(tmp_path, services, "main") == [1]


async def test_with_recipients_the_installation_is_backed_up_too_and_only_its_key_opens_it(
    opening: Opening, flags, tmp_path: Path
) -> None:
    age_keys = pytest.importorskip("pyrage").x25519.Identity.generate()
    encrypted = {**flags, "backup.recipients": [str(age_keys.to_public())], "backup.sign": True, "backup.keep": "2"}
    async with opening(encrypted) as services:
        config_of(services).write_text("[server]\n")
        observer = Counting()
        schedule = make_schedule(services, observer, config_of(services))
        for _ in range(3):
            await schedule.look()
            await age(services, timedelta(days=2))
        await schedule.close()
        entry, trusted = services.registry_cache.entry("main"), trusted_keys(open_key_ring(services.data / "keys"))
    assert observer.outcomes == ["ok"] * 6
    store = FolderStore(tmp_path / "to")
    there = list_control_backups(store)
    assert [each.number for each in there] == [3, 2]
    opener = Opener(identities=(str(age_keys),), trusted=trusted, signed_only=True)
    source = open_archive(tmp_path / "to" / control_key(there[0]), opener)
    (tmp_path / "control").mkdir()
    source.extract(tmp_path / "control")
    found = contents(tmp_path / "control")
    assert {"control.db", "keys/backup-names.key"} <= found.keys()
    assert found["strongroom.toml"] == b"[server]\n"
    snapshot = open_snapshot(store, entry.vault_id, "latest", opener)
    assert snapshot.read_manifest().vault == "main"
    assert snapshot.signed_by in trusted
    with pytest.raises(InvalidArgument):
        open_snapshot(store, entry.vault_id, "latest", replace(opener, trusted={})).read_manifest()


async def test_a_backup_that_somebody_made_elsewhere_puts_nothing_off(scheduled, tmp_path: Path) -> None:
    services, schedule, _ = scheduled
    entry = services.registry_cache.entry("main")
    elsewhere = BackupRun(entry.vault_id, "main", clock.now(), 1.0, 1, 1, "/elsewhere/main.tar.zst", 1, "ok")
    await services.control.write(lambda tx: backup_runs.record(tx, elsewhere))
    assert await schedule.look() == 2


async def test_settings_with_which_no_backup_could_be_made_end_the_start(opening: Opening, flags, tmp_path) -> None:
    bad = {
        **flags,
        "backup.to": "s3://bucket/x",
        "backup.access_key": "k",
        "backup.secret_key_file": str(tmp_path / "none"),
    }
    async with opening(bad) as services:
        with pytest.raises(InvalidArgument, match=r"backup\.secret_key_file"):
            async with keep_backups(services, config_of(services)):
                pass


async def test_without_a_schedule_nothing_is_made(opening: Opening) -> None:
    async with opening() as services, keep_backups(services, config_of(services)):
        assert not (services.data / "backup-scratch").exists()


def test_metrics_show_age_interval_size_and_every_outcome() -> None:
    registry = CollectorRegistry()
    metrics = Metrics(registry, tools=[], version="1")
    metrics.on_backup("ok", 2.0, 500)
    metrics.on_backup("storage_full", 1.0, 0)
    metrics.on_backup("no-such-code", 1.0, 0)
    metrics.on_backup_state(10.0, 60.0, 4096)
    value = registry.get_sample_value
    assert value("strongroom_backups_total", {"outcome": "ok"}) == 1
    assert value("strongroom_backups_total", {"outcome": "storage_full"}) == 1
    assert value("strongroom_backups_total", {"outcome": "internal"}) == 1
    assert value("strongroom_backups_total", {"outcome": "vault_unavailable"}) == 0
    assert value("strongroom_backup_moved_bytes_total") == 500
    assert value("strongroom_backup_seconds_count") == 1
    assert value("strongroom_backup_age_seconds") == 10
    assert value("strongroom_backup_interval_seconds") == 60
    assert value("strongroom_backup_bytes") == 4096


def test_other_recipients_reuse_no_piece_that_they_cannot_open() -> None:
    names = [_names_secret(b"secret", each) for each in (["age1a", "age1b"], ["age1b", "age1a"], ["age1a"])]
    assert names[0] == names[1] != names[2]
