"""Files below a folder that is read in: what ignore files leave out, links, and what cannot be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vaults.errors import TooLarge
from vaults.files import folder_files
from vaults.files.folder_files import FolderFiles, FolderPlace, find_files, read_whole
from vaults.settings import IngestSettings


def lay(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")


def find(root: Path) -> FolderFiles:
    return find_files(FolderPlace(root, ()))


@pytest.mark.parametrize("name", folder_files.IGNORE_FILES)
def test_each_ignore_file_holds_for_its_folder_and_what_is_below(tmp_path: Path, name: str) -> None:
    lay(tmp_path, "a.md", "b.log", "sub/c.md", "sub/d.tmp", "sub/deep/e.tmp", "f.tmp", "out/g.md")
    (tmp_path / name).write_text("*.log\nout/\n[broken\n")
    (tmp_path / "sub" / name).write_text("*.tmp\n")
    assert find(tmp_path).paths == ["a.md", "f.tmp", "sub/c.md"]


def test_links_in_a_circle_are_passed_over_and_the_walk_ends(tmp_path: Path) -> None:
    lay(tmp_path, "a.md", "sub/b.md")
    (tmp_path / "sub" / "up").symlink_to(tmp_path)
    (tmp_path / "itself").symlink_to("itself")
    found = find(tmp_path)
    assert found.paths == ["a.md", "sub/b.md"]
    assert found.passed_over == ["itself", "sub/up"]


def test_an_ignore_file_that_cannot_be_read_hides_its_folder_and_is_named(tmp_path: Path) -> None:
    lay(tmp_path, "a.md", "sub/secret.md", "sub/deep/secret.md")
    (tmp_path / "sub" / ".gitignore").write_bytes(b"#" * 300_000)
    found = find(tmp_path)
    assert (found.paths, found.passed_over) == (["a.md"], ["sub/.gitignore"])
    (tmp_path / ".mempackignore").write_bytes(b"#" * 300_000)
    assert find(tmp_path).paths == []


def test_a_folder_that_may_not_be_listed_is_named_and_the_others_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(tmp_path, "a.md", "closed/b.md")
    scandir, closed = os.scandir, (tmp_path / "closed").stat().st_ino

    def refusing(folder: int) -> object:
        if os.fstat(folder).st_ino == closed:
            raise PermissionError(13, "Permission denied")
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refusing)
    found = find(tmp_path)
    assert (found.paths, found.passed_over) == (["a.md"], ["closed"])


def test_a_file_that_changes_while_it_is_read_is_read_again_as_one_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").write_text("old" * 1000)
    read, changes = os.read, ["new" * 1000]

    def reading(descriptor: int, length: int) -> bytes:
        data = read(descriptor, length)
        if changes:
            (tmp_path / "a.md").write_text(changes.pop())
        return data

    monkeypatch.setattr(os, "read", reading)
    assert read_whole(FolderPlace(tmp_path, ("a.md",)), 10_000).data == b"new" * 1000


def test_a_csv_of_a_gigabyte_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").touch()
    os.truncate(tmp_path / "a.csv", 2**30)

    def reading(descriptor: int, length: int) -> bytes:
        raise AssertionError("read")

    monkeypatch.setattr(os, "read", reading)
    with pytest.raises(TooLarge):
        read_whole(FolderPlace(tmp_path, ("a.csv",)), IngestSettings().max_file)
