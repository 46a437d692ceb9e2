"""Erasing a folder: nothing of it stays, and nothing outside of it is touched."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from ops.vault_life import erasure
from vaults.errors import ReadOnly


def _lay_out(folder: Path) -> None:
    (folder / "notes" / "deep").mkdir(parents=True)
    (folder / "vault.db").write_bytes(b"secret" * 1000)
    (folder / "notes" / "deep" / "a.md").write_bytes(b"private")
    (folder / "empty").touch()
    (folder / "packed").write_bytes(b"an object of Git")
    (folder / "packed").chmod(0o400)


def test_every_file_is_overwritten_before_its_name_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erasure, "BLOCK", 16)
    folder = tmp_path / "vault"
    _lay_out(folder)
    kept = {path.name: path.open("rb") for path in folder.rglob("*") if path.is_file()}
    erasure.erase_folder(folder)
    assert not folder.exists()
    assert {name: set(file.read()) for name, file in kept.items()} == {
        "vault.db": {0}, "a.md": {0}, "packed": {0}, "empty": set(),
    }  # fmt: skip
    for file in kept.values():
        file.close()


def test_links_are_removed_and_what_has_another_name_keeps_its_content(tmp_path: Path) -> None:
    folder, outside = tmp_path / "vault", tmp_path / "outside"
    outside.mkdir()
    (outside / "mine.md").write_bytes(b"mine")
    _lay_out(folder)
    (folder / "notes" / "link").symlink_to(outside)
    (folder / "file-link").symlink_to(outside / "mine.md")
    (folder / "hard").hardlink_to(outside / "mine.md")
    os.mkfifo(folder / "pipe")
    erasure.erase_folder(folder)
    assert not folder.exists()
    assert (outside / "mine.md").read_bytes() == b"mine"


def test_a_vault_on_another_disk_is_erased_there(tmp_path: Path) -> None:
    _lay_out(tmp_path / "elsewhere")
    (tmp_path / "vault").symlink_to(tmp_path / "elsewhere")
    erasure.erase_folder(tmp_path / "vault")
    assert [path.name for path in tmp_path.iterdir()] == ["elsewhere"]
    assert not list((tmp_path / "elsewhere").iterdir())


def test_what_may_not_be_written_is_said_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _lay_out(tmp_path / "vault")

    def refuse(_descriptor: int, _size: int) -> None:
        raise PermissionError(13, "no")

    monkeypatch.setattr(erasure, "_overwrite", refuse)
    with pytest.raises(ReadOnly, match="not every file"):
        erasure.erase_folder(tmp_path / "vault")
    assert (tmp_path / "vault").exists()


def test_a_folder_that_is_gone_is_erased(tmp_path: Path) -> None:
    erasure.erase_folder(tmp_path / "none")


def test_what_another_process_erases_meanwhile_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "vault"
    _lay_out(folder)
    overwrite = erasure._overwrite

    def beside(descriptor: int, size: int) -> None:
        monkeypatch.setattr(erasure, "_overwrite", overwrite)
        erasure.erase_folder(folder)
        overwrite(descriptor, size)

    monkeypatch.setattr(erasure, "_overwrite", beside)
    erasure.erase_folder(folder)
    assert not folder.exists()


def test_holes_are_not_written_over(tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    folder.mkdir()
    with (folder / "sparse").open("wb") as file:
        file.write(b"secret")
        file.seek(1 << 30)
        file.write(b"secret")
        file.truncate(1 << 42)
    with (folder / "sparse").open("rb") as kept:
        erasure.erase_folder(folder)
        assert kept.read(6) == bytes(6)
        kept.seek(1 << 30)
        assert kept.read(6) == bytes(6)
        assert os.fstat(kept.fileno()).st_blocks * 512 < 1 << 20


@pytest.mark.parametrize("failure", [errno.EINVAL, errno.ENOTSUP])
def test_a_file_system_that_knows_no_holes_has_all_of_a_file_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: int
) -> None:
    seek = os.lseek

    def refuse(descriptor: int, where: int, how: int) -> int:
        if how == os.SEEK_DATA:
            raise OSError(failure, "unknown")
        return seek(descriptor, where, how)

    monkeypatch.setattr(erasure.os, "lseek", refuse)
    _lay_out(tmp_path / "vault")
    with (tmp_path / "vault" / "vault.db").open("rb") as kept:
        erasure.erase_folder(tmp_path / "vault")
        assert set(kept.read()) == {0}


def test_who_waits_to_have_the_folder_alone_does_not_keep_it_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "vault"
    _lay_out(folder)
    erase_below = erasure._erase_below

    def lock_after(descriptor: int) -> None:
        monkeypatch.setattr(erasure, "_erase_below", erase_below)
        erase_below(descriptor)
        (folder / ".gate").touch()

    monkeypatch.setattr(erasure, "_erase_below", lock_after)
    erasure.erase_folder(folder)
    assert not folder.exists()
