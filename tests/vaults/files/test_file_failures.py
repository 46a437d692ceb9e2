"""A full disk, a lost mount, too many files: each has its name, leaves the old file whole, and nothing beside it."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from vaults.errors import (
    InvalidArgument,
    Overloaded,
    ReadOnly,
    StorageFull,
    StrongroomError,
    VaultUnavailable,
)
from vaults.files.tree import Tree
from vaults.files.writes import renames


def left(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (errno.ENOSPC, StorageFull),
        (errno.EDQUOT, StorageFull),
        (errno.EROFS, ReadOnly),
        (errno.EACCES, ReadOnly),
        (errno.EPERM, ReadOnly),
        (errno.EMFILE, Overloaded),
        (errno.ENAMETOOLONG, InvalidArgument),
        (errno.EIO, VaultUnavailable),
    ],
)
@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
def test_failures_are_typed_and_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int, error: type[StrongroomError]
) -> None:
    tree = Tree(tmp_path)
    stamp = tree.create("note.md", b"old")
    descriptors = os.listdir("/dev/fd")  # noqa: PTH208

    def refuse(*_: object, **__: object) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, call, refuse)
    for operation in (
        lambda: tree.replace("note.md", b"new", stamp),
        lambda: tree.create("other/new.md", b"new"),
    ):
        with pytest.raises(error) as caught:
            operation()
        assert str(tmp_path) not in caught.value.message
    monkeypatch.undo()
    assert left(tmp_path) == {"note.md": b"old"}
    assert os.listdir("/dev/fd") == descriptors  # noqa: PTH208


def test_a_refusal_names_the_path_inside_the_vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Tree(tmp_path)
    stamp = tree.create("a/note.md", b"old")

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(ReadOnly, match=r"'a/note\.md'"):
        tree.replace("a/note.md", b"new", stamp)


def test_without_descriptors_the_server_is_overloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Tree(tmp_path)
    tree.create("a/note.md", b"")

    def refuse(*_: object, **__: object) -> int:
        raise OSError(errno.EMFILE, "no")

    monkeypatch.setattr(os, "open", refuse)
    for operation in (lambda: tree.read("a/note.md", 9), tree.walk, lambda: tree.create("b.md", b"")):
        with pytest.raises(Overloaded):
            operation()


def test_the_bytes_are_durable_before_the_exchange_and_the_name_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = Tree(tmp_path)
    steps: list[str] = []
    real_sync, real_rename = os.fsync, renames._rename

    def sync(descriptor: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        real_sync(descriptor)

    def rename(source: renames.FolderEntry, target: renames.FolderEntry, flags: int) -> bool:
        steps.append("rename")
        return real_rename(source, target, flags)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(renames, "_rename", rename)

    def done() -> list[str]:
        taken = steps.copy()
        steps.clear()
        return taken

    stamp = tree.create("note.md", b"one")
    assert done() == ["file", "rename", "folder"]
    stamp = tree.replace("note.md", b"two", stamp)
    assert done() == ["file", "rename", "folder"]
    stamp = tree.move("note.md", "a/b/note.md", stamp)
    assert done() == ["folder", "folder", "rename", "folder", "folder"]  # two made, then where it came from and went to
    tree.remove("a/b/note.md", stamp)
    assert done() == ["rename", "folder"]
    prepared = [tree.prepare_create(f"x{number}.md", b"") for number in range(3)]
    assert done() == ["file"] * 3
    for each in prepared:
        each.publish_unsynced()
    tree.sync(folder for each in prepared for folder in each.folders)
    assert done() == ["rename"] * 3 + ["folder"]


def test_without_renames_that_look_nothing_is_overwritten_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renames, "_rename", lambda *_: False)
    tree = Tree(tmp_path)
    stamp = tree.create("note.md", b"one")
    stamp = tree.replace("note.md", b"two", stamp)
    tree.create("other.md", b"other")
    with pytest.raises(StrongroomError):
        tree.move("note.md", "other.md", stamp)
    with pytest.raises(StrongroomError):
        tree.create("other.md", b"ours")
    stamp = tree.move("note.md", "moved.md", stamp)
    assert left(tmp_path) == {"moved.md": b"two", "other.md": b"other"}
    tree.remove("moved.md", stamp)
    assert left(tmp_path) == {"other.md": b"other"}
