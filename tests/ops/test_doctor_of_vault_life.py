"""Doctor says which vaults are not in their place, what is nobody's, and how the keys lie.

Covers ops.doctor.keys, ops.doctor.vault_folders.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from auth.kept_secrets import open_secret
from auth.keys import open_key_ring
from ops.doctor import vault_folders
from ops.doctor.keys import check_keys
from ops.vault_life.folder_moves import FolderMove
from vaults.registry import VaultEntry

WHEN = "2026-11-25T00:00:00Z"


def _entry(name: str, path: Path | None = None) -> VaultEntry:
    return VaultEntry(name, f"id-{name}", path, "active", "agent", "auto", WHEN)


def test_what_was_not_finished_is_told_with_what_helps(tmp_path: Path) -> None:
    assert vault_folders.moves([], tmp_path).status == "ok"
    for name in ("kept-open", ".erasing-c"):
        (tmp_path / "vaults" / name).mkdir(parents=True)
    found = [
        FolderMove("a", "rename", "kept-open", "new"), FolderMove("b", "rename", "lost", "newer"),
        FolderMove("c", "erase", "gone"),
    ]  # fmt: skip
    check = vault_folders.moves(found, tmp_path)
    assert (check.status, bool(check.todo)) == ("warning", True)
    still, lost, erased = check.details
    assert still == f"kept-open is new now: {tmp_path}/vaults/kept-open is still to be moved"
    assert "restore latest --vault newer" in lost
    assert "vault delete newer --no-backup" in lost
    assert erased == f"gone was deleted: {tmp_path}/vaults/.erasing-c is still to be erased"


def test_folders_that_are_nobody_s_are_told_and_those_at_work_are_not(tmp_path: Path) -> None:
    names = (
        "main",
        "archived",
        "moving",
        ".erasing-x",
        ".unclaimed-1",
        ".erasing-y",
        "stray",
        ".copying",
        ".restoring-1",
    )
    for name in names:
        (tmp_path / "vaults" / name).mkdir(parents=True)
    (tmp_path / "vaults" / ".copying-1").mkdir()
    found = [FolderMove("x", "erase", "moving")]
    check = vault_folders.strays([_entry("main"), _entry("archived")], found, tmp_path)
    assert check.status == "notice"
    assert [Path(line.partition(":")[0]).name for line in check.details] == [".erasing-y", ".unclaimed-1", "stray"]
    assert vault_folders.strays([], [], tmp_path / "none").status == "ok"


def test_copies_of_before_an_upgrade_are_told_for_they_hold_what_is_purged(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    entries = [_entry("main"), _entry("mine", notes)]
    assert vault_folders.upgrade_copies(entries, tmp_path).status == "ok"
    kept = [tmp_path / "control.db.before-4", tmp_path / "vaults/main/vault.db.before-14",
            notes / ".strongroom/vault.db.before-14"]  # fmt: skip
    for path in kept:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    check = vault_folders.upgrade_copies(entries, tmp_path)
    assert (check.status, check.details) == ("notice", [str(path) for path in kept])


def _passphrase(file: Path, mode: int = 0o600) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("of the keys")
    file.chmod(mode)
    return str(file)


def test_keys_are_opened_and_their_passphrase_lies_apart(tmp_path: Path) -> None:
    data, file = tmp_path / "data", _passphrase(tmp_path / "elsewhere" / "passphrase")
    assert check_keys(data, None).status == "notice"
    open_key_ring(data / "keys")
    assert check_keys(data, None).status == "ok"
    assert check_keys(data, file).details == ["0001.pem"], "still in the clear"
    open_key_ring(data / "keys", file)
    open_secret(data / "keys", "social.key", None)
    assert check_keys(data, file).details == ["social.key"]
    open_secret(data / "keys", "social.key", file)
    assert check_keys(data, file).status == "ok"
    Path(file).chmod(0o644)
    assert "every user" in check_keys(data, file).message
    assert check_keys(data, _passphrase(data / "passphrase")).status == "warning"


@pytest.mark.parametrize(("text", "said"), [(None, "is needed"), ("wrong", "does not open"), ("", "must hold")])
def test_keys_that_do_not_open_are_an_error_that_names_the_setting(tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "passphrase"
    open_key_ring(tmp_path / "keys", _passphrase(file))
    if text is not None:
        file.write_text(text)
    check = check_keys(tmp_path, None if text is None else str(file))
    assert check.status == "error"
    assert said in check.message
    assert "auth.key_passphrase_file" in check.message
    (tmp_path / "keys" / "0001.pem").write_bytes(b"garbage")
    assert check_keys(tmp_path, None).todo == "restore or remove it"
