"""Deleting a vault: asked for twice, backed up, then nothing of it is left, even after a kill in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from ops.vault_life import deletion, folder_moves
from server import vault_admin
from tests.ops.vault_life.life import Killed, control_of, entry_of, give, moves_of, names_in
from vaults.errors import ConfirmationRequired, InvalidArgument, NotFound, StorageFull, VaultQuarantined
from vaults.registry import VaultEntry, folder_of
from vaults.settings import StorageSettings
from vaults.transcripts.harvest_state import state_folder

GONE = {"registry": ["other"], "grants": ["other"], "plans": [], "tokens": ["other"]}


async def test_a_deleted_vault_leaves_nothing_but_its_backup(tmp_path: Path) -> None:
    async with control_of(tmp_path, "main", "other") as control:
        token = await give(control, tmp_path, "alice", "main", "other")
        harvested = state_folder(tmp_path, "main")
        harvested.mkdir(parents=True)
        (harvested / "memories.db").write_bytes(b"what was said")
        folder, seen = folder_of(tmp_path, "main", None), []

        async def back_up(entry: VaultEntry) -> Path:
            seen.append((entry.name, (folder / "vault.db").exists()))
            return tmp_path / "last.tar.zst"

        gone = await deletion.delete(control, tmp_path, "main", confirm="main", last_backup=back_up)
        assert gone.backup == tmp_path / "last.tar.zst"
        assert seen == [("main", True)]
        assert await control.read(names_in) == GONE
        assert [path.name for path in (tmp_path / "vaults").iterdir()] == ["other"]
        assert not harvested.exists()
        assert not await moves_of(control)
        # A new vault of that name is another one, and the old token does not open it.
        await vault_admin.register(control, tmp_path, StorageSettings(), "main")
        lists = await control.read(lambda tx: tx.all("SELECT vaults FROM tokens WHERE id = :id", {"id": token}))
        assert lists == [('["other"]',)]


@pytest.mark.parametrize("confirm", [None, "", "Main", "other"])
async def test_the_name_must_be_said_again(tmp_path: Path, confirm: str | None) -> None:
    async with control_of(tmp_path, "main", "other") as control:
        with pytest.raises(ConfirmationRequired):
            await deletion.delete(control, tmp_path, "main", confirm=confirm, last_backup=None)
        assert (folder_of(tmp_path, "main", None) / "vault.db").exists()
        with pytest.raises(NotFound):
            await deletion.delete(control, tmp_path, "none", confirm="none", last_backup=None)


async def test_a_vault_that_cannot_be_backed_up_is_not_deleted(tmp_path: Path) -> None:
    async def fail(_entry: VaultEntry) -> Path:
        raise StorageFull("no room for the backup")

    async with control_of(tmp_path, "main") as control:
        with pytest.raises(StorageFull):
            await deletion.delete(control, tmp_path, "main", confirm="main", last_backup=fail)
        assert (await control.read(names_in))["registry"] == ["main"]
        (folder_of(tmp_path, "main", None)).rename(tmp_path / "away")
        with pytest.raises(VaultQuarantined, match="nothing to back up"):
            await deletion.delete(control, tmp_path, "main", confirm="main", last_backup=fail)
        await deletion.delete(control, tmp_path, "main", confirm="main", last_backup=None)
        assert (await control.read(names_in))["registry"] == []


async def test_of_a_folder_served_in_place_only_what_is_ours_goes(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    (notes / "sub").mkdir(parents=True)
    (notes / "sub" / "a.md").write_text("the user's own\n")
    data = tmp_path / "data"
    async with control_of(data) as control:
        await vault_admin.register(control, data, StorageSettings(), "mine", notes)
        await deletion.delete(control, data, "mine", confirm="mine", last_backup=None)
    assert [path.name for path in notes.iterdir()] == ["sub"]
    assert (notes / "sub" / "a.md").read_text() == "the user's own\n"


async def test_a_project_s_own_vault_is_deleted_by_removing_its_folder(tmp_path: Path) -> None:
    data = tmp_path / ".strongroom"
    async with control_of(data) as control:
        await control.write(lambda tx: tx.run(
            "INSERT INTO vaults (name, vault_id, path, created_at) VALUES ('own', 'id', :path, 'now')",
            {"path": str(tmp_path)},
        ))  # fmt: skip
        with pytest.raises(InvalidArgument, match="the only vault of its folder"):
            await deletion.delete(control, data, "own", confirm="own", last_backup=None)
    assert (data / "control.db").exists()


@pytest.mark.parametrize("aside", [False, True], ids=["not yet aside", "half erased"])
async def test_the_next_process_erases_what_a_kill_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, aside: bool
) -> None:
    async def die(*_: object) -> None:
        raise Killed

    async with control_of(tmp_path, "main", "other") as control:
        folder, entry = folder_of(tmp_path, "main", None), await entry_of(control, "main")
        monkeypatch.setattr(folder_moves, "carry_out", die)
        with pytest.raises(Killed):
            await deletion.delete(control, tmp_path, "main", confirm="main", last_backup=None)
        monkeypatch.undo()
        if aside:
            folder.rename(folder.with_name(f".erasing-{entry.vault_id}"))
        await folder_moves.finish_all(control, tmp_path)
        assert [path.name for path in (tmp_path / "vaults").iterdir()] == ["other"]
        assert not await moves_of(control)
