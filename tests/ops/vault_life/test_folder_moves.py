"""What is left to be done to a folder is done to that vault's folder alone, however late, often and by whom."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ops.backup import restored_registration
from ops.vault_life import copies, deletion, folder_moves, renames
from ops.vault_life.copies import CopySettings
from ops.vault_life.folder_moves import FolderMove
from server import vault_admin
from tests.ops.vault_life.life import Killed, control_of, entry_of, moves_of, names_in
from vaults.db.connection import Database
from vaults.errors import InvalidArgument, ReadOnly, VaultUnavailable
from vaults.registry import folder_of
from vaults.settings import NotesSettings, StorageSettings
from vaults.vault_gate import VaultGate, hold_exclusively


async def _killed_after_the_commit(monkeypatch: pytest.MonkeyPatch, work: Any) -> None:
    async def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(folder_moves, "carry_out", die)
        with pytest.raises(Killed):
            await work


def _database(data: Path, name: str) -> Path:
    return folder_of(data, name, None) / "vault.db"


@pytest.mark.parametrize("kind", ["rename", "erase"])
async def test_what_another_process_did_meanwhile_is_not_done_to_the_vault_that_has_the_name_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    async with control_of(tmp_path, "old") as control:
        work = (
            renames.rename(control, tmp_path, "old", "new")
            if kind == "rename"
            else deletion.delete(control, tmp_path, "old", confirm="old", last_backup=None)
        )
        await _killed_after_the_commit(monkeypatch, work)
        (seen,) = await moves_of(control)  # by a process that is slow
        await folder_moves.finish_all(control, tmp_path)
        again = await vault_admin.register(control, tmp_path, StorageSettings(), "old")
        await folder_moves._finish(control, tmp_path, seen)
        assert _database(tmp_path, "old").exists()
        assert (await entry_of(control, "old")).vault_id == again.vault_id


@pytest.mark.parametrize("kind", ["rename", "erase"])
async def test_a_row_of_long_ago_leaves_the_folder_of_another_vault_alone(tmp_path: Path, kind: Any) -> None:
    """As a control.db that was restored from a backup may hold one."""
    async with control_of(tmp_path, "main") as control:
        to_name = "new" if kind == "rename" else None
        await control.write(lambda tx: folder_moves.record(tx, FolderMove("other-id", kind, "main", to_name)))
        await folder_moves.finish_all(control, tmp_path)
        assert _database(tmp_path, "main").exists()


async def test_what_concerns_no_folder_here_is_struck_out_and_the_rest_is_kept(tmp_path: Path) -> None:
    async with control_of(tmp_path, "main") as control:
        main, half = (await entry_of(control, "main")).vault_id, "half-erased"
        folder_of(tmp_path, f".erasing-{half}", None).mkdir()
        for move in (FolderMove("a", "rename", "gone", "new"), FolderMove("b", "erase", "lost"),
                     FolderMove(main, "rename", "main", "there"), FolderMove(half, "erase", "x")):  # fmt: skip
            await control.write(lambda tx, move=move: folder_moves.record(tx, move))
        await folder_moves.forget_absent(control, tmp_path)
        assert {move.vault_id for move in await moves_of(control)} == {main, half}


async def test_a_folder_that_is_in_neither_place_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with control_of(tmp_path, "old") as control:
        await _killed_after_the_commit(monkeypatch, renames.rename(control, tmp_path, "old", "new"))
        away = tmp_path / "away"
        (tmp_path / "vaults").rename(away)  # its disk is not mounted
        (tmp_path / "vaults").mkdir()
        await folder_moves.finish_all(control, tmp_path)
        assert len(await moves_of(control)) == 1
        with pytest.raises(VaultUnavailable, match="not there"):
            await folder_moves.find_folder(control, tmp_path, await entry_of(control, "new"))
        (tmp_path / "vaults").rmdir()
        away.rename(tmp_path / "vaults")
        await folder_moves.finish_all(control, tmp_path)
        assert _database(tmp_path, "new").exists()
        assert not await moves_of(control)


async def test_a_vault_whose_folder_was_lost_while_it_was_renamed_can_be_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with control_of(tmp_path, "old") as control:
        await _killed_after_the_commit(monkeypatch, renames.rename(control, tmp_path, "old", "new"))
        folder_of(tmp_path, "old", None).rename(tmp_path / "lost")
        await deletion.delete(control, tmp_path, "new", confirm="new", last_backup=None)
        assert (await control.read(names_in))["registry"] == []
        assert not await moves_of(control)


async def test_a_vault_whose_folder_still_has_its_old_name_is_not_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_moves, "FINISH_WAIT_S", 0)
    async with control_of(tmp_path, "old") as control:
        await _killed_after_the_commit(monkeypatch, renames.rename(control, tmp_path, "old", "new"))
        gate = VaultGate(folder_of(tmp_path, "old", None))
        gate.enter()
        with pytest.raises(VaultUnavailable, match="not in their place"):
            await deletion.delete(control, tmp_path, "new", confirm="new", last_backup=None)
        gate.leave()
        assert (await control.read(names_in))["registry"] == ["new"]


async def _erasing(control: Database, data: Path, name: str, path: Path | None) -> VaultGate:
    """A vault that is deleted while somebody still has its folder open."""
    entry = await entry_of(control, name)
    await control.write(lambda tx: folder_moves.record(tx, FolderMove(entry.vault_id, "erase", name, path=path)))
    await control.write(lambda tx: tx.run("DELETE FROM vaults WHERE name = :name", {"name": name}))
    gate = VaultGate(folder_of(data, name, path))
    gate.enter()
    return gate


async def test_a_folder_served_in_place_is_not_given_away_before_it_is_erased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_moves, "FINISH_WAIT_S", 0)
    notes, data = tmp_path / "notes", tmp_path / "data"
    notes.mkdir()
    async with control_of(data) as control:
        await vault_admin.register(control, data, StorageSettings(), "mine", notes)
        gate = await _erasing(control, data, "mine", notes)
        with pytest.raises(VaultUnavailable, match="still in place"):
            await vault_admin.register(control, data, StorageSettings(), "another", notes)
        gate.leave()
        again = await vault_admin.register(control, data, StorageSettings(), "another", notes)
        await folder_moves.finish_all(control, data)
        assert (folder_of(data, "another", again.path) / "vault.db").exists()


async def test_nothing_is_restored_into_a_place_that_is_to_be_erased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with control_of(tmp_path, "main") as control:
        manifest = cast("Any", SimpleNamespace(vault_id="another", vault="main"))
        (await _erasing(control, tmp_path, "main", None)).leave()
        with pytest.raises(VaultUnavailable, match="still in place"):
            await restored_registration.choose_target(control, tmp_path, manifest, "main", None)
        await folder_moves.finish_all(control, tmp_path)
        target = await restored_registration.choose_target(control, tmp_path, manifest, "main", None)
        assert target.is_new


async def test_nobody_moves_a_copy_that_is_being_put_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in_place, tried = folder_moves.carry_out, []

    async def look(control: Database, data: Path, move: FolderMove) -> None:
        with pytest.raises(VaultUnavailable):
            async with hold_exclusively(folder_of(data, move.from_name, None), 0):
                pass
        tried.append(move.to_name)
        await put_in_place(control, data, move)

    monkeypatch.setattr(folder_moves, "carry_out", look)
    settings = CopySettings("0", StorageSettings(), NotesSettings())
    async with control_of(tmp_path, "main") as control:
        await copies.copy(control, tmp_path, "main", "second", settings)
    assert tried == ["second"]
    assert _database(tmp_path, "second").exists()


async def test_another_installation_that_lies_in_the_folder_is_not_deleted_along(tmp_path: Path) -> None:
    notes, data = tmp_path / "notes", tmp_path / "data"
    notes.mkdir()
    async with control_of(data) as control:
        await vault_admin.register(control, data, StorageSettings(), "mine", notes)
        (notes / ".strongroom" / "control.db").write_bytes(b"of a project")
        with pytest.raises(InvalidArgument, match="another installation"):
            await deletion.delete(control, data, "mine", confirm="mine", last_backup=None)
    assert (notes / ".strongroom" / "vault.db").exists()


async def test_a_folder_that_may_not_be_opened_is_said_and_keeps_nobody_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(13, "no")

    async with control_of(tmp_path, "old") as control:
        await _killed_after_the_commit(monkeypatch, renames.rename(control, tmp_path, "old", "new"))
        with monkeypatch.context() as patched:
            patched.setattr("vaults.vault_gate.os.open", refuse)
            with pytest.raises(ReadOnly):
                async with hold_exclusively(folder_of(tmp_path, "old", None), 0):
                    pass
        assert len(await moves_of(control)) == 1


async def test_a_vault_whose_folder_was_lost_while_it_was_renamed_can_be_restored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with control_of(tmp_path, "old") as control:
        await _killed_after_the_commit(monkeypatch, renames.rename(control, tmp_path, "old", "new"))
        renamed = await entry_of(control, "new")
        manifest = cast("Any", SimpleNamespace(vault_id=renamed.vault_id, vault="old"))
        with pytest.raises(VaultUnavailable, match="still in place"):
            await restored_registration.choose_target(control, tmp_path, manifest, None, None)
        folder_of(tmp_path, "old", None).rename(tmp_path / "lost")
        target = await restored_registration.choose_target(control, tmp_path, manifest, None, None)
        assert target.entry == renamed
