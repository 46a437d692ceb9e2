"""Fault 87: another spelling of an existing name is a conflict on every level, never a second file."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vaults.errors import AlreadyExists, Conflict
from vaults.files import collisions
from vaults.files.tree import Tree


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize(
    ("existing", "new", "blocking"),
    [
        ("Note.md", "note.md", "Note.md"),
        ("Notes/a.md", "notes/b.md", "Notes"),
        ("x/Notes/a.md", "x/NOTES/deep/b.md", "x/Notes"),
        ("caf\u00e9.md", "cafe\u0301.md", "caf\u00e9.md"),
        ("cafe\u0301/a.md", "caf\u00e9/b.md", "cafe\u0301"),
        ("\u0130.md", "i\u0307.md", "\u0130.md"),
        ("stra\u00dfe.md", "STRASSE.md", "stra\u00dfe.md"),
        ("a.md", "a.md/b.md", "a.md"),
    ],
)
def test_another_spelling_is_named_and_nothing_is_made(tmp_path: Path, existing: str, new: str, blocking: str) -> None:
    tree = Tree(tmp_path)
    tree.create(existing, b"theirs")
    tree.create("other.md", b"x")
    before = names(tmp_path)
    assert tree.collision(new) == blocking
    with pytest.raises(Conflict) as caught:
        tree.create(new, b"ours")
    assert caught.value.details["existing"] == blocking
    with pytest.raises(Conflict):
        tree.move("other.md", new, tree.read("other.md", 10).stamp)
    assert names(tmp_path) == before


def test_a_free_path_and_the_path_itself(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.create("a/note.md", b"")
    assert tree.collision("a/other.md") is None
    assert tree.collision("b/other.md") is None
    assert tree.collision("a/note.md") == "a/note.md"
    assert tree.collision("a") == "a"


def test_a_link_in_the_way_is_a_collision(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault/link").symlink_to(tmp_path)
    tree = Tree(tmp_path / "vault")
    assert tree.collision("link/note.md") == "link"
    with pytest.raises(Conflict):
        tree.create("link/note.md", b"")
    assert names(tmp_path) == ["vault", "vault/link"]


def test_a_note_may_change_its_own_spelling(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    stamp = tree.create("a/note.md", b"one")
    stamp = tree.move("a/note.md", "a/Note.md", stamp)
    assert names(tmp_path) == ["a", "a/Note.md"]
    with pytest.raises(Conflict):
        tree.move("a/Note.md", "A/note.md", stamp)
    with pytest.raises(AlreadyExists):
        tree.move("a/Note.md", "a/Note.md", stamp)


def test_two_spellings_created_at_once_become_one(tmp_path: Path) -> None:
    tree = Tree(tmp_path)

    def create(name: str) -> bool:
        try:
            tree.create(name, name.encode())
        except (Conflict, AlreadyExists):
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        for number in range(20):
            spellings = [f"Note{number}.md", f"note{number}.md", f"NOTE{number}.md", f"nOTE{number}.md"]
            assert sum(pool.map(create, spellings)) == 1
    assert len(names(tmp_path)) == 20


def test_a_file_system_that_ignores_case_is_asked_for_the_real_spelling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = Tree(tmp_path)
    tree.create("Notes/a.md", b"")

    def status_at(folder: int, name: str) -> os.stat_result:
        for entry in os.listdir(folder):
            if entry.lower() == name.lower():
                return os.stat(entry, dir_fd=folder, follow_symlinks=False)
        raise FileNotFoundError(name)

    monkeypatch.setattr(collisions, "status_at", status_at)
    assert tree.collision("notes/b.md") == "Notes"
    assert tree.collision("Notes/A.md") == "Notes/a.md"
    assert tree.collision("Notes/a.md") == "Notes/a.md"
    assert tree.collision("Notes/b.md") is None
