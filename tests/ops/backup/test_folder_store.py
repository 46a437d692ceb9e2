"""A folder as a store: whole objects, one backup at a time, and every way in which it may be gone."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.backup.folder_store import FolderStore
from vaults.errors import AlreadyExists, Conflict, Forbidden, NotFound, ReadOnly, StorageFull, VaultUnavailable


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path)


def test_objects_are_kept_listed_replaced_and_removed(store: FolderStore) -> None:
    with store.hold("vaults/v"):
        store.put("vaults/v/a/one", b"1")
        store.put("vaults/v/a/one", b"11")
        store.create("vaults/v/b/two", b"2")
        assert {each.key: each.size for each in store.list_objects("vaults/v")} == {
            "vaults/v/a/one": 2,
            "vaults/v/b/two": 1,
        }
        assert store.get("vaults/v/a/one") == b"11"
        with pytest.raises(AlreadyExists):
            store.create("vaults/v/b/two", b"3")
        assert store.get("vaults/v/b/two") == b"2"
        store.delete(["vaults/v/a/one", "vaults/v/a/none"])
    assert store.find("vaults/v/a/one") is None
    with pytest.raises(NotFound):
        store.get("vaults/v/a/one")
    assert list(store.list_objects("vaults/w")) == []


def test_a_file_is_stored_as_it_is_and_never_over_another(store: FolderStore, tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(bytes(range(256)) * 10_000)
    with store.hold("control"):
        store.create_file("control/one", large)
        with pytest.raises(AlreadyExists):
            store.create_file("control/one", large)
    assert store.get("control/one") == large.read_bytes()
    assert store.digest("control/one") == hashlib.sha256(large.read_bytes()).digest()
    with pytest.raises(NotFound):
        store.digest("control/two")


def test_what_another_deletes_while_it_is_listed_is_left_out(
    store: FolderStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.hold("vaults/v"):
        for name in ("kept", "rotated"):
            store.put(f"vaults/v/a/{name}", b"1")
    scan = os.scandir

    def scan_and_lose(folder: Path) -> Iterator[os.DirEntry[str]]:
        found = list(scan(folder))
        (tmp_path / "vaults/v/a/rotated").unlink(missing_ok=True)
        return iter(found)

    monkeypatch.setattr(os, "scandir", scan_and_lose)
    assert [each.key for each in store.list_objects("vaults/v/a")] == ["vaults/v/a/kept"]


def test_one_backup_at_a_time_has_a_vault(store: FolderStore, tmp_path: Path) -> None:
    with store.hold("vaults/v"):
        with pytest.raises(Conflict), FolderStore(tmp_path).hold("vaults/v"):
            pass
        with FolderStore(tmp_path).hold("vaults/other"):
            pass
    with store.hold("vaults/v"):
        pass


def test_what_a_killed_backup_left_half_written_is_cleared_and_never_listed(store: FolderStore, tmp_path: Path) -> None:
    with store.hold("vaults/v"):
        store.put("vaults/v/a/one", b"1")
    left = tmp_path / "vaults/v/a/.two.1234abcd.partial"
    left.write_bytes(b"half")
    assert [each.key for each in store.list_objects("vaults/v")] == ["vaults/v/a/one"]
    with store.hold("vaults/v"):
        assert not left.exists()


def test_what_another_holder_is_writing_within_is_left_alone(store: FolderStore, tmp_path: Path) -> None:
    with store.hold("vaults/v/log"):
        writing = tmp_path / "vaults/v/log/.seg.1234abcd.partial"
        writing.write_bytes(b"half")
        with FolderStore(tmp_path).hold("vaults/v"):
            assert writing.exists()
    with store.hold("vaults/v/log"):
        assert not writing.exists()


def test_folders_that_are_made_for_a_holder_are_synced_with_what_is_put(
    store: FolderStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr("ops.backup.folder_store.sync_folder", synced.append)
    with store.hold("vaults/v/log"):
        store.put("vaults/v/log/one", b"1")
        store.settle()
    assert set(synced) == {tmp_path / each for each in ("", "vaults", "vaults/v", "vaults/v/log")}


def test_a_folder_that_is_missing_is_not_made(tmp_path: Path) -> None:
    gone = FolderStore(tmp_path / "not-mounted")
    with pytest.raises(VaultUnavailable), gone.hold("vaults/v"):
        pass
    for ask in (
        lambda: gone.get("vaults/v/x"),
        lambda: list(gone.list_objects("vaults/v")),
        lambda: gone.find("vaults/v/x"),
    ):
        with pytest.raises(VaultUnavailable) as raised:
            ask()
        assert raised.value.details["reason"] == "target"
    assert not (tmp_path / "not-mounted").exists()


def test_a_target_that_goes_away_while_held_gets_nothing_more(store: FolderStore, tmp_path: Path) -> None:
    with store.hold("vaults/v"):
        (tmp_path / "vaults").rename(tmp_path / "elsewhere")  # as an unmounted disk leaves an empty folder
        with pytest.raises(VaultUnavailable):
            store.put("vaults/v/chunks/ab/abc", b"1")
    assert not (tmp_path / "vaults").exists()


def test_the_folder_itself_is_not_made_again(tmp_path: Path) -> None:
    (tmp_path / "to").mkdir()
    store = FolderStore(tmp_path / "to")
    with store.hold("control"):
        (tmp_path / "to").rename(tmp_path / "elsewhere")
        with pytest.raises(VaultUnavailable):
            store.put("control/one", b"1")
    assert not (tmp_path / "to").exists()


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (errno.ENOSPC, StorageFull),
        (errno.EDQUOT, StorageFull),
        (errno.EROFS, ReadOnly),
        (errno.EACCES, Forbidden),
        (errno.EIO, VaultUnavailable),
        (errno.ESTALE, VaultUnavailable),
    ],
)
def test_what_the_disk_says_is_said_as_ours_and_leaves_no_half_file(
    store: FolderStore, tmp_path: Path, monkeypatch, number: int, error: type[Exception]
) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    with store.hold("vaults/v"):
        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(error):
            store.put("vaults/v/a/one", b"1")
    assert not list((tmp_path / "vaults/v/a").iterdir())


def test_every_folder_that_is_made_is_synced_in_the_one_above(store: FolderStore, tmp_path: Path, monkeypatch) -> None:
    synced = list[Path]()
    monkeypatch.setattr("ops.backup.folder_store.sync_folder", synced.append)
    with store.hold("vaults/v"):
        store.create("vaults/v/a/one", b"1")
    assert {tmp_path, tmp_path / "vaults", tmp_path / "vaults/v", tmp_path / "vaults/v/a"} == set(synced)
    assert (tmp_path / "vaults").stat().st_mode & 0o777 == 0o700


def test_links_in_the_folder_are_not_followed(store: FolderStore, tmp_path: Path) -> None:
    with store.hold("vaults/v"):
        store.put("vaults/v/a/one", b"1")
    (tmp_path / "vaults/v/a/two").symlink_to("/etc/passwd")
    assert [each.key for each in store.list_objects("vaults/v")] == ["vaults/v/a/one"]
    assert store.find("vaults/v/a/two") is None
