"""Whether a vault can be restored where it lies."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import NoReturn

import pytest

from ops.backup import place_checks
from ops.backup.place_checks import refuse_unfit
from ops.backup.restore_places import hold_place, put_in_place
from vaults.errors import Conflict, VaultUnavailable
from vaults.files.writes import renames
from vaults.registry import VaultEntry
from vaults.vault_gate import VaultGate


def _entry(path: Path | None = None) -> VaultEntry:
    return VaultEntry("main", "id", path, "active", "agent", "auto", "2026-11-25T00:00:00Z")


def _refused(folder: Path, path: Path | None = None, *, registered: bool = True) -> str | None:
    """Why it is refused."""
    try:
        refuse_unfit(_entry(path), folder, registered=registered)
    except (Conflict, VaultUnavailable) as failure:
        return str(failure.details["reason"])
    return None


def test_a_folder_with_a_vault_and_one_that_is_gone_are_fit(tmp_path: Path) -> None:
    assert _refused(tmp_path / "main") is None
    (tmp_path / "main").mkdir()
    (tmp_path / "main" / "vault.db").touch()
    assert _refused(tmp_path / "main") is None


def test_a_link_is_not_exchanged_for_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "main").symlink_to(tmp_path / "disk")
    assert _refused(tmp_path / "main") == "fixed_place"
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    assert _refused(tmp_path / "gone", registered=False) == "fixed_place"


def test_what_is_mounted_from_the_same_disk_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts, folder = tmp_path / "mountinfo", tmp_path / "a vault"
    folder.mkdir()
    (folder / "vault.db").touch()
    said = str(folder).replace(" ", "\\040")
    mounts.write_text(f"35 25 254:1 /elsewhere {said} rw,relatime shared:1 - ext4 /dev/vdb rw\n")
    assert _refused(folder) is None
    monkeypatch.setattr(place_checks, "MOUNTS", mounts)
    assert _refused(folder) == "fixed_place"


def test_the_empty_place_of_a_disk_is_refused_also_once_somebody_asked_for_the_vault(tmp_path: Path) -> None:
    (tmp_path / "main").mkdir()
    assert _refused(tmp_path / "main") == "empty_place"
    VaultGate(tmp_path / "main").enter()
    assert _refused(tmp_path / "main") == "empty_place"
    assert _refused(tmp_path / "main", registered=False) is None


def test_a_folder_of_the_owner_must_be_there_or_be_asked_for(tmp_path: Path) -> None:
    own = tmp_path / "own"
    state = own / ".strongroom"
    assert _refused(state, own) == "empty_place"
    own.mkdir()
    assert _refused(state, own) == "empty_place"
    (own / "note.md").touch()
    assert _refused(state, own) is None
    (own / "note.md").unlink()
    state.mkdir()
    assert _refused(state, own) is None


def test_a_folder_that_the_system_will_not_move_is_named_and_nothing_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> NoReturn:
        raise OSError(errno.EBUSY, "mounted")

    monkeypatch.setattr(renames, "exchange", refuse)
    (tmp_path / "main").mkdir()
    (tmp_path / "main" / "vault.db").write_text("old")
    with hold_place(tmp_path / "main") as place, pytest.raises(Conflict, match="a disk is mounted"):
        put_in_place(place)
    assert [each.name for each in tmp_path.iterdir()] == ["main"]
    assert (tmp_path / "main" / "vault.db").read_text() == "old"
