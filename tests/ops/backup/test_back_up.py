"""One archive from its turn to its record: at most one at a time, and each failure leaves what was there.

Covers ops.backup.turns, ops.backup.backup_runs, ops.backup.control_archive.
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from auth.keys import open_key_ring
from ops.audit.chain_files import list_chains
from ops.backup import back_up, backup_runs
from ops.backup.archive_reader import Opener, open_archive
from ops.backup.archive_writer import Seal
from ops.backup.back_up import ArchiveOrder, back_up_control, back_up_vault, default_target
from ops.backup.backup_runs import BackupRun
from ops.backup.pace import Pace
from ops.backup.staging import StagedBackup
from ops.backup.subject import BackupSubject
from ops.backup.turns import turn
from server.services import Services
from tests.conftest import Asking, Opening
from tests.ops.backup.material import installation
from vaults.db.database_copy import open_copy
from vaults.errors import Cancelled, Conflict, InvalidArgument, VaultQuarantined, VaultUnavailable
from vaults.files.scratch_folders import scratch_folder


async def made(services: Services, order: ArchiveOrder) -> BackupRun:
    return (await back_up_vault(installation(services), services.registry_cache.entry("main"), order)).run


@pytest.fixture
def order(services: Services) -> ArchiveOrder:
    return ArchiveOrder(default_target(services.data))


async def runs(services: Services, vault_id: str | None = None) -> list[BackupRun]:
    wanted = services.registry_cache.entry("main").vault_id if vault_id is None else vault_id
    return await services.control.read(lambda tx: backup_runs.list_runs(tx, wanted))


async def test_an_archive_is_written_and_recorded(services: Services, ask: Asking, order: ArchiveOrder) -> None:
    await ask("remember", content="x")
    run = await made(services, order)
    manifest = open_archive(Path(run.target)).verify()
    assert Path(run.target).parent == services.data / "backups"
    assert (services.data / "backups").stat().st_mode & 0o777 == 0o700
    assert (run.size, run.moved, run.position) == (
        manifest.size, Path(run.target).stat().st_size, manifest.position
    )  # fmt: skip
    assert await runs(services) == [run]
    assert not list((services.data / "backup-scratch").glob("scratch-*"))


async def test_a_second_one_of_a_vault_is_refused_while_the_first_is_made(
    services: Services, order: ArchiveOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    really, inside, go_on = back_up.stage, threading.Event(), threading.Event()

    def stage(subject: BackupSubject, scratch: Path, pace: Pace, *_: object) -> StagedBackup:
        inside.set()
        go_on.wait()
        return really(subject, scratch, pace)

    monkeypatch.setattr(back_up, "stage", stage)
    first = asyncio.create_task(made(services, order))
    await asyncio.to_thread(inside.wait)
    with pytest.raises(Conflict):
        await made(services, order)
    go_on.set()
    run = await first
    assert await runs(services) == [run]
    assert await made(services, order)


async def test_a_caller_that_goes_stops_it_and_nothing_is_published(
    services: Services, order: ArchiveOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, ended = threading.Event(), list[bool]()

    def stage(_: BackupSubject, scratch: Path, pace: Pace, *_then: object) -> StagedBackup:
        inside.set()
        while not pace.stopped():
            threading.Event().wait(0.001)
        ended.append(scratch.exists())
        raise Cancelled("stopped")

    monkeypatch.setattr(back_up, "stage", stage)
    working = asyncio.create_task(made(services, order))
    await asyncio.to_thread(inside.wait)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert ended == [True]
    assert list(order.to.iterdir()) == []


async def test_a_failure_is_recorded_and_older_archives_stay(
    services: Services, order: ArchiveOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = await made(services, order)

    def stage(*_: object) -> StagedBackup:
        raise VaultQuarantined("damaged", reason="damaged")

    monkeypatch.setattr(back_up, "stage", stage)
    with pytest.raises(VaultQuarantined):
        await made(services, order)
    assert [each.outcome for each in await runs(services)] == ["vault_quarantined", "ok"]
    assert await services.control.read(lambda tx: backup_runs.newest(tx, good.vault_id)) == good
    assert [each.name for each in order.to.iterdir()] == [Path(good.target).name]


async def test_a_place_that_is_not_mounted_is_not_made(services: Services, order: ArchiveOrder, tmp_path: Path) -> None:
    with pytest.raises(VaultUnavailable) as refused:
        await made(services, replace(order, to=tmp_path / "mnt" / "backups"))
    assert refused.value.details["reason"] == "target"
    assert not (tmp_path / "mnt").exists()


async def test_leftovers_of_a_killed_one_go_with_the_next(services: Services, order: ArchiveOrder) -> None:
    parent = services.data / "backup-scratch"
    (parent / "scratch-0123").mkdir(parents=True)
    (parent / "scratch-0123" / "vault.db").write_bytes(b"half")
    (parent / "scratch-0123.lock").touch()
    (order.to / ".main-x.tar.zst.00000000.partial").write_bytes(b"half")
    run = await made(services, order)
    assert [each.name for each in order.to.iterdir()] == [Path(run.target).name]
    assert {each.name for each in parent.iterdir()} == {f"turn-{run.vault_id}"}


async def test_what_a_killed_one_left_goes_with_the_next_start_too(opening: Opening, tmp_path: Path) -> None:
    """It may hold what is purged later."""
    left = tmp_path / "backup-scratch" / "scratch-0123"
    left.mkdir(parents=True)
    (left / "vault.db").write_bytes(b"half")
    left.with_name("scratch-0123.lock").touch()
    async with opening():
        assert not left.exists()


def test_scratch_of_the_living_stays(tmp_path: Path) -> None:
    with scratch_folder(tmp_path) as one, scratch_folder(tmp_path) as two:
        assert one != two
        assert one.is_dir()
        assert one.stat().st_mode & 0o777 == 0o700
    assert list(tmp_path.iterdir()) == []


def test_turns_of_two_vaults_have_nothing_to_do_with_each_other(tmp_path: Path) -> None:
    with turn(tmp_path, "a"), turn(tmp_path, "b"), pytest.raises(Conflict), turn(tmp_path, "a"):
        pass
    with turn(tmp_path, "a"):
        pass


async def test_the_installation_is_only_backed_up_encrypted(
    services: Services, order: ArchiveOrder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pyrage = pytest.importorskip("pyrage")
    key, stranger = pyrage.x25519.Identity.generate(), tmp_path / "elsewhere.jwt"
    ring = open_key_ring(services.data / "keys")
    (services.data / "keys" / ".new-half").write_bytes(b"half")
    (services.data / "strongroom.toml").write_text("[server]\n")
    stranger.write_text("a licence")
    (services.data / "licence.jwt").symlink_to(stranger)
    with pytest.raises(InvalidArgument, match="keys"):
        await back_up_control(installation(services), order)
    assert list(order.to.iterdir()) == []
    assert await runs(services, "") == []
    sealed = replace(order, seal=Seal((str(key.to_public()),), key=ring.newest))
    run = (await back_up_control(installation(services), sealed)).run
    into = tmp_path / "out"
    into.mkdir()
    manifest = open_archive(Path(run.target), Opener(identities=(str(key),))).extract(into)
    chains = [f"audit/{name}.db" for name in list_chains(services.data)]
    assert "audit/installation.db" in chains
    assert [each.path for each in manifest.members] == [
        "control.db", "keys/0001.pem", *chains, "licence.jwt", "strongroom.toml",
    ]  # fmt: skip
    assert (into / "keys/0001.pem").read_bytes() == (services.data / "keys/0001.pem").read_bytes()
    assert (into / "keys/0001.pem").stat().st_mode & 0o777 == 0o600
    assert (into / "licence.jwt").read_text() == "a licence"
    with open_copy(into / "control.db") as tx:
        assert tx.all("SELECT name FROM vaults") == [("main",)]
    assert (manifest.kind, manifest.counts["vaults"]) == ("control", 1)
    assert await runs(services, "") == [run]
