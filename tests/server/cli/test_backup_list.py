"""``strongroom backup list``: what there is, what went, and what others left in the store.

Covers server.cli.backup_list, server.cli.backups.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ops.backup.folder_store import FolderStore
from ops.backup.snapshot_writer import write_snapshot
from ops.backup.snapshots import folder_key, snapshot_key
from tests.blanks import lay_out
from tests.ops.backup.staged import VAULT_ID, staged
from tests.server.cli.command import Strongroom


@pytest.fixture
def strongroom(tmp_path: Path) -> Strongroom:
    (tmp_path / "to").mkdir()
    command = Strongroom(tmp_path / "data")
    lay_out(command.data, ("main",))
    assert command("vault", "create", "main").code == 0
    return command


def log_run(data: Path, target: str, outcome: str = "ok") -> str:
    """Write down a run of vault main; returns its id."""
    with closing(sqlite3.connect(data / "control.db")) as control:
        (vault_id,) = control.execute("SELECT vault_id FROM vaults WHERE name = 'main'").fetchone()
        row = (vault_id, "main", "2026-11-25T10:00:00.000Z", 1.5, 4096, 1024, target, 7, outcome)
        control.execute(
            "INSERT INTO backups (vault_id, vault, began_at, seconds, size, moved, target, position, outcome)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        control.commit()
    return str(vault_id)


def test_without_any_backup_it_says_so(strongroom: Strongroom) -> None:
    assert strongroom("backup", "list").out == "no backup was made yet\n"
    assert strongroom("backup", "list", "--json").json == {"to": None, "backups": []}


def test_runs_are_listed_with_what_became_of_them(strongroom: Strongroom, tmp_path: Path) -> None:
    to = str(tmp_path / "to")
    log_run(strongroom.data, f"{to}/vaults/x/snapshots/00000001-20261125T100000Z.snapshot")
    log_run(strongroom.data, to, "storage_full")
    found = strongroom("backup", "list", "--json", STRONGROOM_BACKUP__TO=to).json["backups"]
    assert [(each["outcome"], each["there"]) for each in found] == [("storage_full", None), ("ok", False)]
    said = strongroom("backup", "list", STRONGROOM_BACKUP__TO=to).out
    assert "gone: rotated" in said
    assert "4,096" in said
    assert strongroom("backup", "list", "--vault", "other").code == 1


def test_runs_of_the_installation_and_of_a_vault_that_was_deleted_are_listed(
    strongroom: Strongroom, tmp_path: Path
) -> None:
    vault_id = log_run(strongroom.data, "/mnt/main.tar.zst")
    with closing(sqlite3.connect(strongroom.data / "control.db")) as control:
        control.execute("UPDATE backups SET vault_id = 'gone', vault = 'old'")
        control.execute(
            "INSERT INTO backups (vault_id, vault, began_at, seconds, size, moved, target, position, outcome)"
            " SELECT '', '', began_at, seconds, size, moved, '/mnt/_control.age', position, outcome FROM backups"
        )
        control.commit()
    said = strongroom("backup", "list", STRONGROOM_BACKUP__TO=str(tmp_path / "to")).out
    assert "(installation)" in said
    assert "/mnt/_control.age" in said
    assert "old" in said
    assert vault_id not in said
    assert "/mnt" not in strongroom("backup", "list", "--vault", "main").out


def test_what_another_installation_left_in_the_store_is_listed(strongroom: Strongroom, tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "to")
    with store.hold(folder_key(VAULT_ID)):
        written = write_snapshot(store, VAULT_ID, staged(tmp_path / "s", {"vault.db": b"x"}))
    ran = strongroom("backup", "list", "--json", STRONGROOM_BACKUP__TO=str(tmp_path / "to"))
    (found,) = ran.json["backups"]
    assert found["target"] == f"{store.name}/{snapshot_key(VAULT_ID, written.name)}"
    assert (found["vault_id"], found["vault"], found["there"]) == (VAULT_ID, "", True)
    assert found["began_at"] == "2026-11-25T21:00:00.000Z"


def test_a_target_that_is_gone_is_said(strongroom: Strongroom, tmp_path: Path) -> None:
    ran = strongroom("backup", "list", STRONGROOM_BACKUP__TO=str(tmp_path / "none"))
    assert ran.code == 1
    assert "does not answer" in ran.err
