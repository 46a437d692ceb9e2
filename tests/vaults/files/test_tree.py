"""The tree's operations: whole files, one version each, nothing of another program's lost.

Covers vaults.files.file_content, vaults.files.folders, vaults.files.writes.late_writes,
vaults.files.writes.name_changes, vaults.files.writes.prepared_changes, vaults.files.writes.replacement,
vaults.files.writes.temporary_files.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from vaults.errors import AlreadyExists, Conflict, InvalidArgument, NotFound, ReadOnly, TooLarge, VaultUnavailable
from vaults.files.tree import FileStamp, Tree
from vaults.files.writes import replacement
from vaults.files.writes.late_writes import LateWrites

LIMIT = 1_000_000


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


@pytest.fixture
def tree(vault: Path) -> Tree:
    return Tree(vault)


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def open_descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"))  # noqa: PTH112, PTH208


def test_a_note_is_created_with_its_folders_read_replaced_moved_and_removed(tree: Tree, vault: Path) -> None:
    before = open_descriptors()
    first = tree.create("a/b/note.md", b"one")
    assert tree.read("a/b/note.md", LIMIT).data == b"one"
    assert tree.stamp("a/b/note.md") == first == tree.read("a/b/note.md", LIMIT).stamp
    second = tree.replace("a/b/note.md", b"two\r\n", first)
    assert everything(vault) == {"a/b/note.md": b"two\r\n"}
    assert tree.stamp("a/b/note.md") == second
    third = tree.move("a/b/note.md", "c/other.md", second)
    assert everything(vault) == {"c/other.md": b"two\r\n"}
    assert tree.stamp("c/other.md") == third
    tree.remove("c/other.md", third)
    assert everything(vault) == {}
    assert tree.stamp("c/other.md") is None
    assert open_descriptors() == before


def test_creating_never_overwrites(tree: Tree, vault: Path) -> None:
    (vault / "note.md").write_bytes(b"theirs")
    with pytest.raises(AlreadyExists):
        tree.create("note.md", b"ours")
    prepared = tree.prepare_create("other.md", b"ours")
    (vault / "other.md").write_bytes(b"theirs")
    with pytest.raises(AlreadyExists):
        prepared.publish()
    assert everything(vault) == {"note.md": b"theirs", "other.md": b"theirs"}


def test_a_move_never_overwrites(tree: Tree, vault: Path) -> None:
    stamp = tree.create("a.md", b"a")
    tree.create("b.md", b"b")
    with pytest.raises(AlreadyExists):
        tree.move("a.md", "b.md", stamp)
    assert everything(vault) == {"a.md": b"a", "b.md": b"b"}


@pytest.mark.parametrize("operation", ["replace", "remove", "move"])
def test_another_version_than_expected_is_a_conflict_and_stays(tree: Tree, vault: Path, operation: str) -> None:
    stamp = tree.create("note.md", b"ours")
    (vault / "note.md").write_bytes(b"theirs, later")
    with pytest.raises(Conflict):
        {
            "replace": lambda: tree.replace("note.md", b"new", stamp),
            "remove": lambda: tree.remove("note.md", stamp),
            "move": lambda: tree.move("note.md", "to.md", stamp),
        }[operation]()
    assert everything(vault) == {"note.md": b"theirs, later"}


@pytest.mark.parametrize("operation", ["replace", "remove", "move"])
def test_a_save_between_preparing_and_publishing_is_a_conflict_and_stays(
    tree: Tree, vault: Path, operation: str
) -> None:
    stamp = tree.create("note.md", b"ours")
    prepared = {
        "replace": lambda: tree.prepare("note.md", b"new", stamp),
        "remove": lambda: tree.prepare_remove("note.md", stamp),
        "move": lambda: tree.prepare_move("note.md", "new/to.md", stamp),
    }[operation]()
    saved = vault / "saved"
    saved.write_bytes(b"theirs")
    saved.replace(vault / "note.md")
    with pytest.raises(Conflict):
        prepared.publish()
    assert everything(vault) == {"note.md": b"theirs"}
    assert not (vault / "new").exists()


def test_a_note_removed_before_publishing_stays_removed(tree: Tree, vault: Path) -> None:
    stamp = tree.create("note.md", b"ours")
    prepared = tree.prepare("note.md", b"new", stamp)
    (vault / "note.md").unlink()
    with pytest.raises(Conflict):
        prepared.publish()
    assert everything(vault) == {}


def test_two_saves_during_the_exchange_are_both_kept(tree: Tree, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stamp = tree.create("note.md", b"ours")
    prepared = tree.prepare("note.md", b"new", stamp)
    real, calls = replacement.exchange, 0

    def exchange(one: replacement.FolderEntry, other: replacement.FolderEntry) -> bool:
        nonlocal calls
        calls += 1
        if calls <= 2:
            (vault / "saved").write_bytes(b"save %d" % calls)
            (vault / "saved").replace(vault / "note.md")
        return real(one, other)

    monkeypatch.setattr(replacement, "exchange", exchange)
    with pytest.raises(Conflict) as caught:
        prepared.publish()
    kept = caught.value.details["kept"]
    assert everything(vault) == {"note.md": b"save 2", kept: b"save 1"}
    assert kept.startswith("note.conflict-")
    assert kept.endswith(".md")


def test_without_an_exchange_in_the_system_the_look_comes_before_the_rename(
    tree: Tree, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replacement, "exchange", lambda one, other: False)
    stamp = tree.create("note.md", b"one")
    stamp = tree.replace("note.md", b"two", stamp)
    prepared = tree.prepare("note.md", b"three", stamp)
    (vault / "note.md").write_bytes(b"theirs")
    with pytest.raises(Conflict):
        prepared.publish()
    assert everything(vault) == {"note.md": b"theirs"}


def test_what_is_discarded_leaves_nothing(tree: Tree, vault: Path) -> None:
    stamp = tree.create("note.md", b"one")
    before = open_descriptors()
    with tree.prepare("note.md", b"two", stamp), tree.prepare_create("x/y/z.md", b"new"):
        assert len(everything(vault)) == 3
    assert everything(vault) == {"note.md": b"one"}
    assert [path.name for path in vault.iterdir()] == ["note.md"]
    assert open_descriptors() == before


def test_a_prepared_change_is_published_once(tree: Tree) -> None:
    prepared = tree.prepare_create("note.md", b"one")
    prepared.publish()
    with pytest.raises(RuntimeError):
        prepared.publish()
    prepared.discard()
    assert tree.read("note.md", LIMIT).data == b"one"


def test_many_changes_share_their_folder_and_are_synced_together(tree: Tree) -> None:
    before = len(open_descriptors())
    prepared = [tree.prepare_create(f"many/{number}.md", b"x") for number in range(200)]
    assert len(open_descriptors()) - before <= 2
    for change in prepared:
        change.publish_unsynced()
    tree.sync(folder for change in prepared for folder in change.folders)
    tree.sync(["many", "", "gone"])
    assert len(tree.walk().found) == 200


def test_permissions_and_attributes_of_the_old_file_stay(tree: Tree, vault: Path) -> None:
    note = vault / "note.md"
    tree.create("note.md", b"one")
    note.chmod(0o640)
    if hasattr(os, "setxattr"):
        os.setxattr(note, "user.colour", b"red")
    if os.geteuid() == 0:
        os.chown(note, 1234, 4321)
    tree.replace("note.md", b"two", tree.read("note.md", LIMIT).stamp)
    status = note.stat()
    assert stat.S_IMODE(status.st_mode) == 0o640
    if hasattr(os, "getxattr"):
        assert os.getxattr(note, "user.colour") == b"red"
    if os.geteuid() == 0:
        assert (status.st_uid, status.st_gid) == (1234, 4321)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_new_notes_belong_to_whom_the_folder_belongs(tree: Tree, vault: Path) -> None:
    os.chown(vault, 1234, 4321)
    tree.create("a/note.md", b"one")
    owners = {(path.stat().st_uid, path.stat().st_gid) for path in (vault / "a", vault / "a/note.md")}
    assert owners == {(1234, 4321)}


def test_a_note_marked_read_only_is_not_replaced(tree: Tree, vault: Path) -> None:
    stamp = tree.create("note.md", b"one")
    (vault / "note.md").chmod(0o444)
    with pytest.raises(ReadOnly):
        tree.replace("note.md", b"two", stamp)
    assert everything(vault) == {"note.md": b"one"}


def test_without_permission_the_path_is_named_and_nothing_below_taken_for_gone(tree: Tree, vault: Path) -> None:
    stamp = tree.create("closed/note.md", b"one")
    tree.create("open.md", b"")
    closed = vault / "closed"
    closed.chmod(0o000)
    try:
        if os.access(closed, os.R_OK):
            pytest.skip("root may do everything")
        for operation in (
            lambda: tree.create("closed/new.md", b"one"),
            lambda: tree.read("closed/note.md", LIMIT),
            lambda: tree.stamp("closed/note.md"),
            lambda: tree.replace("closed/note.md", b"two", stamp),
        ):
            with pytest.raises(ReadOnly, match=r"closed/n.*\.md"):
                operation()
        for walk in (tree.walk(), tree.walk_folder("closed")):
            assert walk.unread == ["closed"]
        closed.chmod(0o400)  # can be listed, but nothing in it looked at
        assert tree.walk().unread == ["closed"]
        vault.chmod(0o500)
        with pytest.raises(ReadOnly, match="open"):
            tree.replace("open.md", b"two", tree.read("open.md", LIMIT).stamp)
    finally:
        vault.chmod(0o700)
        closed.chmod(0o700)


def test_a_file_over_the_limit_is_too_large(tree: Tree) -> None:
    tree.create("note.md", b"12345")
    assert tree.read("note.md", 5).data == b"12345"
    with pytest.raises(TooLarge):
        tree.read("note.md", 4)


def test_what_is_not_there_is_not_found(tree: Tree) -> None:
    tree.create("note.md", b"")
    for path in ("other.md", "no/folder.md", "note.md/below.md"):
        with pytest.raises(NotFound):
            tree.read(path, LIMIT)
        assert tree.stamp(path) is None
    with pytest.raises(InvalidArgument):
        tree.read("", LIMIT)


def test_a_root_that_is_gone_or_another_makes_the_vault_unavailable(tree: Tree, vault: Path) -> None:
    stamp = tree.create("note.md", b"one")
    vault.rename(vault.with_name("away"))
    actions = (
        lambda: tree.read("note.md", LIMIT),
        lambda: tree.stamp("note.md"),
        lambda: tree.create("new.md", b""),
        lambda: tree.replace("note.md", b"", stamp),
        lambda: tree.remove("note.md", stamp),
        lambda: tree.collision("new.md"),
        tree.walk,
        tree.sweep,
    )
    for action in actions:
        with pytest.raises(VaultUnavailable):
            action()
    vault.mkdir()
    for action in actions:
        with pytest.raises(VaultUnavailable):
            action()
    assert list(vault.iterdir()) == []


def test_a_late_write_through_an_old_descriptor_is_reported(vault: Path) -> None:
    now = [0.0]
    late = LateWrites(clock=lambda: now[0])
    tree = Tree(vault, late=late)
    stamp = tree.create("note.md", b"one")
    with (vault / "note.md").open("r+b") as editor:
        stamp = tree.replace("note.md", b"two", stamp)
        editor.truncate()
        editor.write(b"typed by hand")
    assert late.due(1.9) == []
    (found,) = late.due(2.0)
    assert (found.path, found.data) == ("note.md", b"typed by hand")
    tree.remove("note.md", stamp)
    assert late.close() == []
    assert len(late) == 0


def test_only_so_many_taken_files_are_kept_open(vault: Path) -> None:
    late = LateWrites(limit=3, clock=lambda: 0.0)
    tree = Tree(vault, late=late)
    stamp = tree.create("note.md", b"0")
    with (vault / "note.md").open("r+b") as editor:
        for number in range(10):
            stamp = tree.replace("note.md", b"%d" % number, stamp)
            if not number:
                editor.write(b"late")
                editor.flush()
    assert len(late) == 4  # the late one has been looked at already
    assert [found.data for found in late.due(0.0)] == [b"late"]
    late.close()


def test_a_stamp_survives_a_remount() -> None:
    assert FileStamp(1, 2, 3, 4).same(FileStamp(1, 2, 3, 5))
    assert not FileStamp(1, 2, 3, 4).same(FileStamp(1, 3, 3, 4))
