"""Restoring a vault: proven before anything is replaced, replaced in one step.

Covers ops.backup.source, ops.backup.restored_registration, ops.backup.restored_vault, vaults.files.disk_sync.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from auth.grants import follow_groups, list_grants, set_grant
from auth.roles import Role
from ops.backup import restore, restore_places, restored_vault
from ops.backup.restore import RestoreRequest
from ops.vault_life import deletion, folder_moves
from ops.vault_life.folder_moves import FolderMove
from server import vault_admin
from server.services import Services
from tests.conftest import Asking, Opening, asker
from tests.ops.backup.restoring import Staged, as_owner_of, back_up, contents_of, installation
from tests.work import PATIENCE_S
from vaults.domain.notes.index.reconciliation import ReconcileOutcome
from vaults.errors import (
    AlreadyExists,
    Conflict,
    InvalidArgument,
    StorageFull,
    StrongroomError,
    VaultQuarantined,
    VaultUnavailable,
)
from vaults.files import disk_sync


def _left_over(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir() if each.name.startswith((".restoring", ".replaced"))]


async def _remember_two_moments(ask: Asking, services: Services, to: Path) -> Any:
    """A backup, and a vault that has changed since."""
    await ask("remember", content="the harbour closes at nine")
    await ask("note_write", path="plan.md", content="# Plan\n\nbuild the quay\n")
    backup = await back_up(services, to)
    await ask("remember", content="came later")
    await ask("note_write", path="plan.md", content="other\n", mode="overwrite")
    return backup


async def test_a_vault_is_again_as_it_was_backed_up(services: Services, ask: Asking, tmp_path: Path) -> None:
    backup = await _remember_two_moments(ask, services, tmp_path / "backup")
    report = await restore.restore(installation(services), backup, RestoreRequest())
    assert (report.vault, report.replaced, report.is_new) == ("main", True, False)
    assert await contents_of(ask) == {"the harbour closes at nine"}
    assert "build the quay" in (await ask("note_read", path="plan.md")).content["text"]
    assert [hit["content"] for hit in (await ask("recall", query="harbour")).content["hits"]]
    log = (await ask("history", path="plan.md")).content["changes"]
    assert [each["tool"] for each in log] == ["note_write"]
    assert not _left_over(tmp_path / "vaults")
    assert (await ask("remember", content="and it goes on")).ok


async def test_notes_keep_the_time_of_their_last_change(services: Services, ask: Asking, tmp_path: Path) -> None:
    backup = await _remember_two_moments(ask, services, tmp_path / "backup")
    (backup.folder / "notes" / "plan.md").touch()  # members of an archive have no time
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        before = vault.notes.root / "plan.md"
        wrote = before.stat().st_mtime_ns
    await restore.restore(installation(services), backup, RestoreRequest())
    assert before.stat().st_mtime_ns <= wrote


async def test_calls_in_flight_are_turned_away_and_then_meet_the_restored_vault(
    services: Services, ask: Asking, tmp_path: Path
) -> None:
    backup = await _remember_two_moments(ask, services, tmp_path / "backup")
    restoring = asyncio.create_task(restore.restore(installation(services), backup, RestoreRequest()))
    codes = []
    while not restoring.done():
        codes.append((await ask("memory_list")).code)
        await asyncio.sleep(0)
    await restoring
    assert codes[0] is None, "what stood there answers while the backup is proven"
    assert set(codes) <= {None, "vault_unavailable"}
    assert await contents_of(ask) == {"the harbour closes at nine"}


async def test_an_empty_installation_gets_the_vault_with_its_id_rules_and_grants(
    services: Services, ask: Asking, opening: Opening, tmp_path: Path
) -> None:
    await ask("remember", content="the harbour closes at nine")
    await services.control.write(lambda tx: set_grant(tx, "ann", "local", "main", Role.WRITER))
    # What follows somebody's groups at a provider is given anew there, if it still is.
    await services.control.write(lambda tx: follow_groups(tx, "ben@keycloak", "keycloak", {"main": Role.ADMIN}))
    backup = await back_up(services, tmp_path / "backup")
    fresh = tmp_path / "fresh"
    async with opening(vaults=(), data=fresh) as others:
        report = await restore.restore(installation(others), backup, RestoreRequest())
        assert report.is_new
        assert report.grants == ["ann writer"]
        await others.registry_cache.refresh()
        entry = others.registry_cache.entry("main")
        assert entry.vault_id == services.registry_cache.entry("main").vault_id
        assert await contents_of(asker(others)) == {"the harbour closes at nine"}


async def test_a_copy_under_another_name_is_a_vault_of_its_own(services: Services, ask: Asking, tmp_path: Path) -> None:
    backup = await _remember_two_moments(ask, services, tmp_path / "backup")
    await restore.restore(installation(services), backup, RestoreRequest(as_new="copy"))
    await services.registry_cache.refresh()
    copy, main = (services.registry_cache.entry(name) for name in ("copy", "main"))
    assert copy.vault_id != main.vault_id
    assert await contents_of(as_owner_of(services, "copy")) == {"the harbour closes at nine"}
    assert await contents_of(ask) == {"the harbour closes at nine", "came later"}


async def test_grants_of_a_vault_that_is_there_stay_unless_asked_for(
    services: Services, ask: Asking, tmp_path: Path
) -> None:
    await services.control.write(lambda tx: set_grant(tx, "ann", "local", "main", Role.ADMIN))
    backup = await back_up(services, tmp_path / "backup")
    await services.control.write(lambda tx: set_grant(tx, "ann", "local", "main", Role.READER))
    await restore.restore(installation(services), backup, RestoreRequest())
    (grant,) = await services.control.read(list_grants)
    assert grant.role == Role.READER
    report = await restore.restore(installation(services), backup, RestoreRequest(grants=True))
    assert report.grants == ["ann admin"]


async def test_a_dry_run_proves_the_backup_and_changes_nothing(services: Services, ask: Asking, tmp_path: Path) -> None:
    backup = await _remember_two_moments(ask, services, tmp_path / "backup")
    report = await restore.restore(installation(services), backup, RestoreRequest(dry_run=True))
    assert report.verified.agrees
    assert await contents_of(ask) == {"the harbour closes at nine", "came later"}
    assert not _left_over(tmp_path / "vaults")


async def test_a_vault_that_was_renamed_since_is_found_by_its_id(opening: Opening, tmp_path: Path) -> None:
    async with opening() as services:
        await asker(services)("remember", content="the harbour closes at nine")
        backup = await back_up(services, tmp_path / "backup")
        report = await restore.restore(
            installation(services), backup.saying(vault="earlier"), RestoreRequest(dry_run=True)
        )
        assert report.vault == "main"


REFUSED: tuple[tuple[dict[str, Any], RestoreRequest, type[StrongroomError]], ...] = (
    ({"kind": "control"}, RestoreRequest(), InvalidArgument),
    ({"vault_id": "../../etc"}, RestoreRequest(), InvalidArgument),
    ({"ids_digest": "0" * 64}, RestoreRequest(), InvalidArgument),
    ({"counts": {"memories": 7}}, RestoreRequest(), InvalidArgument),
    ({"vault": "../x", "vault_id": "01900000-0000-7000-8000-000000000000"}, RestoreRequest(), InvalidArgument),
    ({"vault_id": "01900000-0000-7000-8000-000000000000"}, RestoreRequest(), AlreadyExists),
    ({}, RestoreRequest(as_new="main"), AlreadyExists),
    ({}, RestoreRequest(as_new="left"), AlreadyExists),
    ({}, RestoreRequest(as_new="../x"), InvalidArgument),
)
"""What a backup says, how it is to be restored, and how that is refused."""


async def test_what_is_not_a_backup_of_this_vault_is_refused_and_nothing_changes(
    services: Services, ask: Asking, tmp_path: Path
) -> None:
    backup = await _remember_two_moments(ask, services, tmp_path / "backup")
    (tmp_path / "vaults" / "left").mkdir()  # files of a vault that is not registered
    for said, request, error in REFUSED:
        with pytest.raises(error):
            await restore.restore(installation(services), backup.saying(**said), request)
        assert await contents_of(ask) == {"the harbour closes at nine", "came later"}, said
        assert not _left_over(tmp_path / "vaults"), said


async def test_a_newer_schema_is_refused_by_name(services: Services, ask: Asking, tmp_path: Path) -> None:
    backup = await back_up(services, tmp_path / "backup")
    with pytest.raises(VaultQuarantined, match="newer strongroom") as refused:
        await restore.restore(installation(services), backup.saying(schema_steps=999), RestoreRequest())
    assert refused.value.details["reason"] == "future"


async def test_a_full_disk_is_noticed_before_anything_is_written(
    services: Services, ask: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup = await back_up(services, tmp_path / "backup")
    monkeypatch.setattr(restored_vault, "free_bytes", lambda _: 1_000)
    monkeypatch.setattr(backup, "extract", None)
    with pytest.raises(StorageFull):
        await restore.restore(installation(services), backup, RestoreRequest())


async def test_a_backup_whose_derived_rows_disagree_is_built_anew(
    services: Services, ask: Asking, tmp_path: Path
) -> None:
    await ask("remember", content="the harbour closes at nine", title="Hours")
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await vault.db.write(lambda tx: tx.run("DELETE FROM item_tags"))
        await vault.db.write(lambda tx: tx.run("UPDATE passages SET body = 'nothing of the kind'"))
    backup = await back_up(services, tmp_path / "backup")
    report = await restore.restore(installation(services), backup, RestoreRequest())
    assert report.verified.agrees
    assert (await ask("recall", query="harbour", mode="keyword")).content["hits"]


async def test_a_backup_that_cannot_agree_replaces_nothing(
    services: Services, ask: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup = await _remember_two_moments(ask, services, tmp_path / "backup")

    async def rebuild_nothing(*_: object) -> None: ...

    monkeypatch.setattr(restored_vault.reindexing, "rebuild", rebuild_nothing)
    (backup.folder / "notes" / "plan.md").write_text("---\nother: text\n---\n")

    async def reads_nothing(*_: object, **__: object) -> ReconcileOutcome:
        return ReconcileOutcome([], [], owed=False)

    monkeypatch.setattr(restored_vault.reconciliation, "reconcile_all", reads_nothing)
    with pytest.raises(VaultQuarantined, match="does not agree"):
        await restore.restore(installation(services), backup, RestoreRequest())
    assert await contents_of(ask) == {"the harbour closes at nine", "came later"}


async def test_a_restored_vault_that_does_not_open_in_its_place_gives_way_to_the_old_one(
    services: Services, ask: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup = await _remember_two_moments(ask, services, tmp_path / "backup")
    put = restore_places.put_in_place

    def put_and_break(place: restore_places.RestorePlace) -> bool:
        stood = put(place)
        (place.target / "vault.db").write_bytes(b"")
        return stood

    monkeypatch.setattr(restore_places, "put_in_place", put_and_break)
    with pytest.raises(VaultQuarantined):
        await restore.restore(installation(services), backup, RestoreRequest())
    assert await contents_of(ask) == {"the harbour closes at nine", "came later"}
    assert not _left_over(tmp_path / "vaults")


def _meanwhile(backup: Staged, change: Callable[[], Awaitable[object]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have something else happen while the backup is being extracted."""
    extract, loop = backup.extract, asyncio.get_running_loop()

    def extract_and_change(*args: Any) -> Any:
        asyncio.run_coroutine_threadsafe(_await(change), loop).result(PATIENCE_S)
        return extract(*args)

    async def _await(work: Callable[[], Awaitable[object]]) -> None:
        await work()

    monkeypatch.setattr(backup, "extract", extract_and_change)


@pytest.mark.parametrize("change", ["rename", "delete"])
async def test_a_vault_that_is_moved_away_meanwhile_is_not_said_to_be_restored(
    services: Services, ask: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    backup = await _remember_two_moments(ask, services, tmp_path / "backup")
    act = (
        partial(vault_admin.rename, services, "main", "away")
        if change == "rename"
        else partial(deletion.delete, services.control, services.data, "main", confirm="main", last_backup=None)
    )
    _meanwhile(backup, act, monkeypatch)
    monkeypatch.setattr(restore_places, "put_in_place", None)  # nothing changes places for it
    with pytest.raises(Conflict, match="renamed, moved or deleted"):
        await restore.restore(installation(services), backup, RestoreRequest())
    assert [each.name for each in (tmp_path / "vaults").iterdir()] == (["away"] if change == "rename" else [])
    if change == "rename":
        assert await contents_of(as_owner_of(services, "away")) == {"the harbour closes at nine", "came later"}


@pytest.mark.parametrize("grants", [True, False])
async def test_a_vault_that_is_unregistered_at_the_last_moment_gets_its_folder_back(
    services: Services, ask: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grants: bool
) -> None:
    backup = await _remember_two_moments(ask, services, tmp_path / "backup")
    put, loop = restore_places.put_in_place, asyncio.get_running_loop()

    def put_and_unregister(place: restore_places.RestorePlace) -> bool:
        removed = services.control.write(lambda tx: tx.run("UPDATE vaults SET name = 'away' WHERE name = 'main'"))
        asyncio.run_coroutine_threadsafe(removed, loop).result(PATIENCE_S)
        return put(place)

    monkeypatch.setattr(restore_places, "put_in_place", put_and_unregister)
    with pytest.raises(Conflict, match="renamed, moved or deleted"):
        await restore.restore(installation(services), backup, RestoreRequest(grants=grants))
    await services.control.write(lambda tx: tx.run("UPDATE vaults SET name = 'main' WHERE name = 'away'"))
    await services.registry_cache.refresh()
    assert await contents_of(ask) == {"the harbour closes at nine", "came later"}


async def test_a_name_whose_files_are_still_to_be_erased_is_not_restored_under(
    services: Services, ask: Asking, tmp_path: Path
) -> None:
    backup = await _remember_two_moments(ask, services, tmp_path / "backup")
    await services.control.write(lambda tx: folder_moves.record(tx, FolderMove("another", "erase", "gone")))
    for request in (RestoreRequest(as_new="gone"), RestoreRequest(vault="gone")):
        with pytest.raises(VaultUnavailable, match="still in place"):
            await restore.restore(installation(services), backup, request)
    assert not (tmp_path / "vaults" / "gone").exists()


async def test_under_a_name_that_was_deleted_the_vault_comes_back_with_the_grants_of_the_backup_alone(
    services: Services, ask: Asking, tmp_path: Path
) -> None:
    await services.control.write(lambda tx: set_grant(tx, "ann", "local", "main", Role.READER))
    backup = await _remember_two_moments(ask, services, tmp_path / "backup")
    vault_id = services.registry_cache.entry("main").vault_id
    await services.control.write(lambda tx: set_grant(tx, "ben", "local", "main", Role.ADMIN))
    await deletion.delete(services.control, services.data, "main", confirm="main", last_backup=None)
    report = await restore.restore(installation(services), backup, RestoreRequest())
    assert (report.is_new, report.vault, report.vault_id, report.grants) == (True, "main", vault_id, ["ann reader"])
    await services.registry_cache.refresh()
    assert [each.subject for each in await services.control.read(list_grants)] == ["ann"]
    assert await contents_of(ask) == {"the harbour closes at nine"}


async def test_a_vault_of_the_same_name_that_another_installation_made_is_replaced_only_by_name(
    services: Services, ask: Asking, opening: Opening, tmp_path: Path
) -> None:
    async with opening(data=tmp_path / "elsewhere") as others:
        await asker(others)("remember", content="said elsewhere")
        await others.control.write(lambda tx: set_grant(tx, "eve", "local", "main", Role.ADMIN))
        backup = await back_up(others, tmp_path / "backup")
    await ask("remember", content="said here")
    with pytest.raises(AlreadyExists, match="another one"):
        await restore.restore(installation(services), backup, RestoreRequest())
    assert await contents_of(ask) == {"said here"}
    mine = services.registry_cache.entry("main").vault_id
    report = await restore.restore(installation(services), backup, RestoreRequest(vault="main"))
    assert (report.vault_id, report.grants) == (mine, ())
    assert await contents_of(ask) == {"said elsewhere"}
    assert await services.control.read(list_grants) == [], "nobody of there has a right here"


async def test_who_had_which_grant_does_not_stay_in_the_vaults_folder(
    services: Services, ask: Asking, tmp_path: Path
) -> None:
    backup = await _remember_two_moments(ask, services, tmp_path / "backup")
    await restore.restore(installation(services), backup, RestoreRequest())
    assert not (tmp_path / "vaults" / "main" / "settings.json").exists()


async def test_content_that_was_damaged_when_it_was_backed_up_is_restored_as_it_was_and_told(
    services: Services, ask: Asking, tmp_path: Path
) -> None:
    await ask("remember", content="the harbour closes at nine")
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await vault.db.write(lambda tx: tx.run("UPDATE memories SET content_hash = 'another'"))
    backup = await back_up(services, tmp_path / "backup")
    report = await restore.restore(installation(services), backup, RestoreRequest())
    assert "source_changed" in [each.code for each in report.verified.findings]
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        kept = await vault.db.read(lambda tx: tx.value("SELECT content_hash FROM memories"))
    assert kept == "another", "nobody has vouched for what it says"


@pytest.mark.parametrize("one_call", [True, False])
def test_a_folder_is_made_durable_with_and_without_a_call_for_the_disk(
    tmp_path: Path, one_call: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "note.md").write_text("x")
    synced: list[int] = []
    monkeypatch.setattr(disk_sync, "_sync_disk_call", lambda: synced.append if one_call else None)
    monkeypatch.setattr(disk_sync.os, "fsync", synced.append)
    disk_sync.sync_tree(tmp_path)
    assert len(synced) == (1 if one_call else 4)
