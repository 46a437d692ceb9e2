"""The folder is laid out from rows: whole, or as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vaults.domain.notes.kept_notes import files_below
from vaults.db.connection import Database
from vaults.db.migration import migrate
from vaults.domain.notes.commit import folder_layout, note_files
from vaults.domain.notes.commit.folder_layout import LaidOutNotes, lay_out_notes
from vaults.errors import VaultQuarantined
from vaults.files.tree import FileContent, FileStamp
from vaults.settings import StorageSettings

SETTINGS = StorageSettings()
FILES = {"a.md": b"one\n", "deep/er/b.md": b"two\n", "deep/c.png": bytes(range(256)), ".hidden/d": b"", "ü.md": b"x"}


@pytest.fixture
async def database(tmp_path: Path) -> Path:
    path = tmp_path / "vault.db"
    db = Database(path, SETTINGS)
    await migrate(db, "vault")
    for place, (name, data) in enumerate(FILES.items()):
        mode = 0o444 if name == "a.md" else None
        packed = note_files.pack_file(name, FileContent(data, FileStamp(len(data), 10**18 + place, 1, 1)), mode)
        await db.write(lambda tx, packed=packed: note_files.store(tx, packed))
    await db.close()
    return path


def test_what_is_not_a_row_is_wiped_and_times_and_modes_are_the_rows(tmp_path: Path, database: Path) -> None:
    root = tmp_path / "notes"
    (root / "deep").mkdir(parents=True)
    (root / "deep" / "stray.md").write_text("stray")
    (root / "a.md").write_text("older")
    assert lay_out_notes(database, root, SETTINGS) == LaidOutNotes(5, sum(map(len, FILES.values())))
    assert files_below(root) == FILES
    assert (root / "a.md").stat().st_mtime_ns == 10**18
    assert (root / "a.md").stat().st_mode & 0o777 == 0o444
    assert sorted(each.name for each in tmp_path.iterdir() if each.name.startswith(".laying")) == []


def test_a_kill_at_any_point_is_laid_out_right_the_next_time(
    tmp_path: Path, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "notes"
    renamed, written = Path.rename, folder_layout._write_file
    left = 0

    def counted(call):  # type: ignore[no-untyped-def]
        def one(*arguments):  # type: ignore[no-untyped-def]
            nonlocal left
            left -= 1
            if not left:
                raise KeyboardInterrupt
            return call(*arguments)

        return one

    monkeypatch.setattr(folder_layout, "_write_file", counted(written))
    monkeypatch.setattr(Path, "rename", counted(renamed))
    for point in range(1, 9):
        left = point
        lay_out = lambda: lay_out_notes(database, root, SETTINGS)  # noqa: E731
        if point <= (6 if point == 1 else 7):  # the first time there is no folder to be put aside
            with pytest.raises(KeyboardInterrupt):
                lay_out()
        left = 0
        lay_out()
        assert files_below(root) == FILES


async def test_a_lost_version_is_damage_and_the_folder_stays(tmp_path: Path, database: Path) -> None:
    root = tmp_path / "notes"
    lay_out_notes(database, root, SETTINGS)
    db = Database(database, SETTINGS)
    await db.write(lambda tx: tx.run("UPDATE note_versions SET data = x'00' WHERE size = 256"))
    await db.close()
    with pytest.raises(VaultQuarantined):
        lay_out_notes(database, root, SETTINGS)
    assert files_below(root) == FILES


@pytest.mark.parametrize("path", ["../out.md", "/out.md", "a//b.md"])
async def test_a_row_that_climbs_is_damage(tmp_path: Path, database: Path, path: str) -> None:
    db = Database(database, SETTINGS)
    await db.write(lambda tx: tx.run("UPDATE note_files SET path = :path WHERE path = 'a.md'", {"path": path}))
    await db.close()
    with pytest.raises(VaultQuarantined):
        lay_out_notes(database, tmp_path / "notes", SETTINGS)
    assert not (tmp_path / "out.md").exists()
