"""The walk: every note, nothing outside, and a reason for what was passed over.

Covers vaults.files.ignore_rules.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from vaults.errors import InvalidArgument
from vaults.files import note_walk
from vaults.files.paths import normalize_path
from vaults.files.tree import SkipReason, Tree, WalkResult


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


def plant(vault: Path, *paths: str) -> None:
    for path in paths:
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_bytes(path.encode())


def found(walk: WalkResult) -> set[str]:
    return {note.path for note in walk.found}


def skipped(walk: WalkResult) -> dict[str, str]:
    return {entry.path: entry.reason for entry in walk.skipped}


def test_notes_are_found_in_every_folder_and_other_files_are_not(vault: Path) -> None:
    notes = {"a.md", "B.MD", "c.markdown", "deep/er/d.md", "ünï/é 日本.md", "x.conflict-20261121T224348Z.md"}
    plant(vault, *notes, "image.png", "md", "deep/text.txt")
    walk = Tree(vault).walk()
    assert found(walk) == notes
    assert (walk.skipped, walk.unread) == ([], [])
    for note in walk.found:
        assert note.stamp == Tree(vault).stamp(note.path)
        assert normalize_path(note.path) == note.path


def test_hidden_names_and_folders_of_programs_are_left_out(vault: Path) -> None:
    plant(vault, "a.md", ".hidden.md", ".git/b.md", "node_modules/c.md", "x/__pycache__/d.md", "venv/e.md")
    plant(vault, ".strongroom-new-0123abcd.tmp", ".obsidian/f.md")
    assert found(Tree(vault).walk()) == {"a.md"}


def test_excluded_patterns_and_the_ignore_file_are_gitignores(vault: Path) -> None:
    plant(vault, "a.md", "drafts/b.md", "x/drafts/c.md", "x/d.md", "private.md", "kept/private.md", "kept/e.md")
    (vault / ".strongroomignore").write_text("# mine\nprivate.md\n!kept/private.md\n!\n")
    tree = Tree(vault, exclude=["drafts/"])
    walk = tree.walk()
    assert found(walk) == {"a.md", "x/d.md", "kept/private.md", "kept/e.md"}
    assert skipped(walk) == {".strongroomignore": SkipReason.BAD_PATTERN}
    for path, covered in (
        ("a.md", True),
        ("private.md", False),
        ("drafts/new.md", False),
        ("x/drafts/y/new.md", False),
        ("a.png", False),
        (".git/a.md", False),
        ("x/.a.md", False),
    ):
        assert tree.covers(path) is covered
        plant(vault, path)
        assert (path in found(tree.walk_folder(path))) is covered
    (vault / ".strongroomignore").unlink()
    assert "private.md" in found(tree.walk())


def test_a_pattern_that_is_none_is_refused_at_once(vault: Path) -> None:
    with pytest.raises(InvalidArgument, match="exclude"):
        Tree(vault, exclude=["!"])


def test_an_ignore_file_that_is_a_link_is_not_followed(vault: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("*.md")
    (vault / ".strongroomignore").symlink_to(tmp_path / "outside")
    with pytest.raises(InvalidArgument):
        Tree(vault).walk()


def test_odd_files_are_passed_over_with_a_reason(vault: Path, tmp_path: Path) -> None:
    plant(vault, "a.md", "folder.md/b.md")
    plant(tmp_path / "outside", "secret.md")
    (vault / "link.md").symlink_to(tmp_path / "outside/secret.md")
    (vault / "broken.md").symlink_to("nowhere")
    (vault / "linked").symlink_to(tmp_path / "outside")
    (vault / "loop").symlink_to(".")
    os.mkfifo(vault / "pipe.md")
    (vault / "back\\slash.md").write_bytes(b"")
    (vault / "new\nline.md").write_bytes(b"")
    plant(vault, "~folder/c.md", "%2e%2e/d.md")
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(vault)  # the name of a socket must be short
        try:
            server.bind("socket.md")
        finally:
            os.chdir(here)
    walk = Tree(vault).walk()
    assert found(walk) == {"a.md", "folder.md/b.md"}
    assert skipped(walk) == {
        "link.md": "symbolic link",
        "broken.md": "symbolic link",
        "linked": "symbolic link",
        "loop": "symbolic link",
        "pipe.md": "not a regular file",
        "socket.md": "not a regular file",
        "back\\slash.md": SkipReason.UNUSABLE,
        "new\nline.md": SkipReason.UNUSABLE,
        "~folder": SkipReason.UNUSABLE,
        "%2e%2e": SkipReason.UNUSABLE,
    }


def test_names_that_are_not_utf8_are_passed_over_and_can_be_shown(vault: Path) -> None:
    try:
        os.mkdir(os.fsencode(vault) + b"/f\xff")  # noqa: PTH102
    except OSError:
        pytest.skip("this file system takes Unicode only")
    Path(os.fsdecode(os.fsencode(vault) + b"/caf\xe9.md")).write_bytes(b"")
    walk = Tree(vault).walk()
    assert found(walk) == set()
    assert skipped(walk) == {"caf\ufffd.md": SkipReason.NOT_UTF8, "f\ufffd": SkipReason.NOT_UTF8}


def test_depth_has_an_end(vault: Path) -> None:
    deep, just = "/".join("d" * 64), "/".join("d" * 63)
    wide = "/".join(["w" * 203] * 5)
    plant(vault, f"{deep}/far.md", f"{just}/near.md", f"{wide}/far.md", f"{wide}/n.md")
    walk = Tree(vault).walk()
    assert found(walk) == {f"{just}/near.md", f"{wide}/n.md"}
    assert skipped(walk) == {deep: "too deep", f"{wide}/far.md": "too deep"}


def test_one_folder_one_note_or_nothing_can_be_walked(vault: Path, tmp_path: Path) -> None:
    plant(vault, "a/b/c.md", "a/d.md", "e.md", "f.png")
    (vault / "link").symlink_to(tmp_path)
    tree = Tree(vault)
    assert found(tree.walk_folder("a")) == {"a/b/c.md", "a/d.md"}
    assert found(tree.walk_folder("a/b")) == {"a/b/c.md"}
    assert found(tree.walk_folder("a/d.md")) == {"a/d.md"}
    for nothing in ("f.png", "gone", "gone/x.md", "e.md/x.md", ".git", "a/.git"):
        walk = tree.walk_folder(nothing)
        assert (walk.found, walk.skipped, walk.unread) == ([], [], [])
    assert skipped(tree.walk_folder("link")) == {"link": "symbolic link"}
    assert found(tree.walk_folder("link/vault")) == set()
    with pytest.raises(InvalidArgument):
        tree.walk_folder("../vault")


def test_a_folder_that_cannot_be_listed_is_unread_and_the_others_are_found(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(vault, "a/x.md", "b/y.md", "c/z.md")
    real = note_walk.open_subfolder

    def enter(folder: int, name: str) -> int:
        if name == "b":
            raise PermissionError(13, "no")
        return real(folder, name)

    monkeypatch.setattr(note_walk, "open_subfolder", enter)
    walk = Tree(vault).walk()
    assert found(walk) == {"a/x.md", "c/z.md"}
    assert walk.unread == ["b"]
    assert skipped(walk) == {"b": "folder cannot be read"}


def test_a_walk_leaks_no_descriptors_and_holds_few(vault: Path) -> None:
    plant(vault, *(f"{number}/{number}/a.md" for number in range(50)))
    before = os.listdir("/dev/fd")  # noqa: PTH208
    tree = Tree(vault)
    assert len(tree.walk().found) == 50
    assert os.listdir("/dev/fd") == before  # noqa: PTH208
