"""Each check says what is wrong, in words that help, and only looks.

Covers ops.doctor.background, ops.doctor.machine, ops.doctor.notes, ops.doctor.vaults.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ops.doctor import machine as machine_checks
from ops.doctor import notes as note_checks
from ops.doctor.check import DoctorCheck, is_well
from ops.doctor.machine import Machine, examine_machine
from ops.doctor.repairs import repair
from ops.doctor.vaults import VAULT, examine_vault
from server import background_jobs
from server.services import Services
from tests.conftest import Opening, asker
from tests.noted import folder, indexed, put
from tests.work import PATIENCE_S
from vaults.background_defects import TaskName
from vaults.pool import VaultPool
from vaults.settings import EmbeddingSettings, StorageSettings
from vaults.vault import BackgroundJob, Vault, VaultTask

ORPHAN = ".strongroom-new-0123abcd.tmp"


def machine(data: Path, reserve_mb: int = 0, engine: str = "off") -> Machine:
    embedding = EmbeddingSettings.model_validate({"engine": engine})
    return Machine(data, StorageSettings(reserve_mb=reserve_mb), embedding)


def found(checks: list[DoctorCheck], name: str) -> DoctorCheck:
    return next(each for each in checks if each.name == name)


def test_a_folder_that_is_not_there_yet_is_no_trouble(tmp_path: Path) -> None:
    checks = examine_machine(machine(tmp_path / "new" / "data"))
    assert is_well(checks)
    assert found(checks, "data_folder").status == "notice"
    assert found(checks, "control_db").status == "notice"
    assert not (tmp_path / "new").exists()


def test_the_disk_is_held_against_the_reserve(tmp_path: Path) -> None:
    free = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize // 2**20
    assert machine_checks.disk_space(machine(tmp_path, 0)).status == "ok"
    assert machine_checks.disk_space(machine(tmp_path, free // 2)).status == "warning"
    assert machine_checks.disk_space(machine(tmp_path, free * 2)).status == "error"


def test_an_old_sqlite_and_a_network_disk_are_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_checks, "is_safe", lambda: False)
    monkeypatch.setattr(machine_checks, "find_network_disk", lambda _folder: "nfs")
    checks = examine_machine(machine(tmp_path))
    assert found(checks, "sqlite").status == "warning"
    assert "nfs" in found(checks, "data_folder").message
    assert not is_well(checks)


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert machine_checks.data_folder(machine(tmp_path)).status == "error"


def test_a_damaged_control_database_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "control.db"
    path.write_bytes(b"no database at all, but long enough to be read as one" * 100)
    assert machine_checks.control_database(machine(tmp_path)).status == "error"
    path.unlink()
    with sqlite3.connect(path) as raw:
        raw.execute("CREATE TABLE vaults (name TEXT)")
    raw.close()
    check = machine_checks.control_database(machine(tmp_path))
    assert (check.status, "delete" in check.message) == ("warning", True)


def test_a_model_that_is_not_here_is_an_error(tmp_path: Path) -> None:
    embedding = EmbeddingSettings(model="nobody/has-this", models_dir=str(tmp_path))
    check = machine_checks.model(Machine(tmp_path, StorageSettings(), embedding))
    assert (check.status, check.todo) == ("error", "run: strongroom model prepare")
    assert machine_checks.model(machine(tmp_path)).status == "notice"


@pytest.fixture
async def vault(services: Services, tmp_path: Path) -> AsyncIterator[Vault]:
    root = folder(tmp_path)
    put(root, {"a.md": "# A\n", "bad.md": "---\na: [\n---\n", "a.conflict-20261121T224348Z.md": "other"})
    (root / "latin.md").write_bytes(b"caf\xe9")
    (root / "link.md").symlink_to("a.md")
    async with services.pool.lease(services.registry_cache.entry("main")) as held:
        await indexed(services, 3)
        yield held


async def looked(vault: Vault) -> dict[str, DoctorCheck]:
    checks = [await check(vault) for check in VAULT]
    return {each.name: each for each in checks}


async def test_a_vault_with_odd_files_is_well_and_each_is_named(vault: Vault) -> None:
    checks = await looked(vault)
    assert is_well(checks.values())
    left_out = checks["notes_left_out"]
    assert (left_out.status, len(left_out.details)) == ("notice", 2)
    assert left_out.details[0].startswith("latin.md: not UTF-8")
    assert left_out.details[1] == "link.md: symbolic link"
    assert [line.split(":")[0] for line in checks["frontmatter"].details] == ["bad.md"]
    assert checks["conflict_copies"].details == ["a.conflict-20261121T224348Z.md"]
    assert checks["notes_folder"].status == checks["watching"].status == checks["history"].status == "ok"
    assert "3 notes" in checks["holds"].message


async def test_what_killed_writers_leave_is_found_and_repaired(
    opening: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = folder(tmp_path)
    async with opening({"notes.watch": "off"}) as services:
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            assert await vault.notes.wait_for_index(PATIENCE_S)
            put(root, {f"deep/{ORPHAN}": "x"})
            assert (await looked(vault))["temporaries"].status == "ok"  # it may be a living writer's
            monkeypatch.setattr(note_checks, "AGE_S", -5.0)
            assert (await asker(services)("note_write", path="b.md", content="b")).ok
            await vault.db.write(lambda tx: tx.run("UPDATE note_changes SET state = 'pending'"))
            checks = await looked(vault)
            assert (checks["temporaries"].status, checks["temporaries"].details) == ("notice", [f"deep/{ORPHAN}"])
            assert checks["changes"].status == "error"
            done = await repair(vault)
            assert done[:2] == ["1 interrupted changes were ended", "1 temporary files were removed"]
            checks = await looked(vault)
            assert checks["temporaries"].status == checks["changes"].status == "ok"
            assert not (root / "deep" / ORPHAN).exists()
            assert (root / "b.md").read_text() == "b\n"


async def test_vectors_that_are_owed_are_made_by_a_repair(vault: Vault) -> None:
    async def paid() -> None:
        while vault.background.is_busy or not vault.lease.held:
            await vault.background.due_work  # type: ignore[misc]

    vault.start_background_work()
    await paid()
    await vault.db.write(lambda tx: tx.run("INSERT INTO embedding_queue (passage) SELECT seq FROM passages"))
    assert (await looked(vault))["vectors"].status == "notice"
    assert await repair(vault) == ["3 vectors were made"]
    assert (await looked(vault))["vectors"].status == "ok"
    await vault.db.write(
        lambda tx: tx.run("INSERT INTO embedding_queue (passage, attempts) SELECT seq, 99 FROM passages")
    )
    assert (await looked(vault))["vectors"].status == "warning"


async def test_a_job_with_a_defect_is_named_and_keeps_no_other_from_being_done(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    due: list[str] = []  # of the vault looked at alone: others may be opened before it

    async def broken(_vault: Vault) -> None:
        raise ZeroDivisionError

    async def whole(vault: Vault) -> None:
        ran.append(vault.name)

    def job(name: TaskName, run: VaultTask) -> BackgroundJob:
        return BackgroundJob(name, lambda _: bool(due) and not ran, run)

    monkeypatch.setattr(background_jobs, "BACKGROUND_JOBS", (job("retention", broken), job("rechunk", whole)))
    async with opening({}) as services, services.pool.lease(services.registry_cache.entry("main")) as vault:
        due.append(vault.name)
        vault.start_background_work()
        await vault.background.wait(PATIENCE_S)
        assert ran == ["main"]
        check = (await looked(vault))["background"]
        assert check.status == "warning"
        assert check.details[0].startswith("retention: ZeroDivisionError (1), last at ")


async def test_a_notes_folder_that_is_away_is_an_error(vault: Vault) -> None:
    root = vault.notes.root
    root.rename(root.with_name("away"))
    checks = await looked(vault)
    assert checks["notes_folder"].status == "error"
    assert "no note is lost" in checks["notes_folder"].todo
    root.with_name("away").rename(root)


async def test_how_changes_are_noticed_is_said(
    opening: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for watch, status in (("off", "notice"), ("poll", "ok"), ("auto", "ok")):
        async with opening({"notes.watch": watch}) as services:
            async with services.pool.lease(services.registry_cache.entry("main")) as vault:
                assert (await note_checks.watching(vault)).status == status, watch
                if watch == "auto":
                    monkeypatch.setattr(note_checks, "_watch_limit", lambda: 0)
                    check = await note_checks.watching(vault)
                    assert (check.status, check.todo) == ("warning", "raise fs.inotify.max_user_watches")
                    monkeypatch.setattr(note_checks, "find_network_disk", lambda _folder: "cifs")
                    assert "cifs" in (await note_checks.watching(vault)).message


async def test_a_history_that_cannot_be_used_is_warned_of(opening: Opening, tmp_path: Path) -> None:
    async with opening({"notes.history": "auto"}) as services:
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            assert (await note_checks.history(vault)).status == "ok"
            (folder(tmp_path) / ".git").write_text("no repository")
            assert (await note_checks.history(vault)).status == "warning"


async def test_a_history_whose_objects_are_lost_is_warned_of(opening: Opening) -> None:
    async with opening({"notes.history": "auto"}) as services:
        ask = asker(services)
        assert (await ask("note_write", path="a.md", content="x", commit=True)).ok
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            assert (await note_checks.history(vault)).status == "ok"
            objects = vault.folder / "history.git" / "objects"
            objects.rename(objects.with_name("lost"))
            objects.mkdir()
            vault.history.close()
            check = await note_checks.history(vault)
            assert (check.status, is_well([check])) == ("warning", False)
            assert check.message == "the Git history is unavailable: objects of the history are missing"


async def test_onlookers_leave_a_vault_as_it_is(opening: Opening, tmp_path: Path) -> None:
    async with opening() as services:
        assert (await asker(services)("remember", content="x")).ok
        await services.pool.close()
        put(folder(tmp_path), {"new.md": "unread\n", "latin.md": b"caf\xe9", ORPHAN: "x"})
        before = time.time_ns()
        pool: VaultPool = services.pool.without_background_work()
        checks = await examine_vault(pool, services.registry_cache.entry("main"))
        await pool.close()
        assert is_well(checks)
        assert {each.vault for each in checks} == {"main"}
        assert found(checks, "notes_left_out").details == ["latin.md: not UTF-8 at byte 3"]
        assert "1 are not read yet" in found(checks, "notes_left_out").message
        assert "0 notes" in found(checks, "holds").message
        assert (folder(tmp_path) / ORPHAN).stat().st_ctime_ns < before


async def test_a_vault_that_is_shut_out_says_why(opening: Opening, tmp_path: Path) -> None:
    async with opening() as services:
        await services.pool.close()
        (tmp_path / "vaults" / "main" / "vault.db").write_bytes(b"")
        pool = services.pool.without_background_work()
        checks = await examine_vault(pool, services.registry_cache.entry("main"))
        await pool.close()
        assert [(each.name, each.status) for each in checks] == [("opens", "error")]
        assert "damaged" in checks[0].message
