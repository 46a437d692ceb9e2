"""The walk over a folder somebody named: ignore files at every level as Git has it, nothing outside, all counted."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.work import examples
from vaults.errors import VaultUnavailable
from vaults.files.file_walk import EXCLUDED, IGNORED, FileRules, FileWalk, walk_files
from vaults.files.folders import VaultRoot

ALL = FileRules(lambda _: None, ignore_files=(".gitignore",))


def lay(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")


def found(root: Path, rules: FileRules = ALL, below: str = "") -> list[str]:
    return sorted(each.path for each in walk_files(VaultRoot(root), rules, below).found)


def counted(root: Path, rules: FileRules = ALL) -> dict[str, int]:
    return dict(walk_files(VaultRoot(root), rules).left_out)


def test_a_deeper_ignore_file_wins_over_those_above(tmp_path: Path) -> None:
    lay(tmp_path, "a.log", "keep.log", "sub/b.log", "sub/c.log", "sub/deep/d.log", "out/x.py", "sub/out/y.py")
    (tmp_path / ".gitignore").write_text("*.log\n!keep.log\n/out/\n")
    (tmp_path / "sub" / ".gitignore").write_text("!c.log\n")
    assert found(tmp_path) == ["keep.log", "sub/c.log", "sub/out/y.py"]
    assert counted(tmp_path) == {IGNORED: 4}


def test_all_in_a_folder_is_not_the_folder_itself(tmp_path: Path) -> None:
    lay(tmp_path, "c/a.py", "c/b.py", "c/d/a.py")
    (tmp_path / ".gitignore").write_text("c/**\n!a.py\n")
    assert found(tmp_path) == ["c/a.py"]


def test_what_the_owner_excludes_no_ignore_file_brings_back(tmp_path: Path) -> None:
    lay(tmp_path, "a.md", "drafts/b.md")
    (tmp_path / ".gitignore").write_text("!drafts/\n")
    rules = FileRules(lambda _: None, exclude=("drafts/",), ignore_files=(".gitignore",))
    assert found(tmp_path, rules) == ["a.md"]
    assert counted(tmp_path, rules) == {EXCLUDED: 1}


def test_links_and_what_is_hidden_are_not_entered(tmp_path: Path) -> None:
    lay(tmp_path, "root/a.md", "root/.git/b.md", "root/.hidden.md", "outside/c.md")
    (tmp_path / "root" / "loop").symlink_to(tmp_path / "root")
    (tmp_path / "root" / "out").symlink_to(tmp_path / "outside")
    (tmp_path / "root" / "c.md").symlink_to(tmp_path / "outside" / "c.md")
    os.mkfifo(tmp_path / "root" / "pipe")
    assert found(tmp_path / "root") == ["a.md"]
    assert counted(tmp_path / "root") == {"symbolic link": 3, "not a regular file": 1}


def test_reasons_by_path_are_counted_and_folders_are_not_entered(tmp_path: Path) -> None:
    lay(tmp_path, "a.py", "b.png", "node_modules/x/c.py", "lib/node_modules/d.py")
    reasons = {"node_modules/": "dependencies", "lib/node_modules/": "dependencies", "b.png": "of another kind"}
    rules = FileRules(reasons.get)
    assert found(tmp_path, rules) == ["a.py"]
    assert counted(tmp_path, rules) == {"dependencies": 2, "of another kind": 1}


def test_one_file_or_folder_alone_obeys_the_rules_above_it(tmp_path: Path) -> None:
    lay(tmp_path, "a.md", "sub/b.md", "sub/deep/c.md", "sub/deep/d.log", "gone/e.md")
    (tmp_path / ".gitignore").write_text("*.log\ngone/\n")
    assert found(tmp_path, below="sub") == ["sub/b.md", "sub/deep/c.md"]
    assert found(tmp_path, below="sub/b.md") == ["sub/b.md"]
    assert found(tmp_path, below="sub/deep/d.log") == found(tmp_path, below="gone/e.md") == []
    assert found(tmp_path, below="nothing/here.md") == []


def test_a_folder_that_cannot_be_listed_is_said_to_be_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(tmp_path, "a.md", "closed/b.md")
    scandir = os.scandir
    closed = (tmp_path / "closed").stat().st_ino

    def refusing(folder: int) -> object:
        if os.fstat(folder).st_ino == closed:
            raise PermissionError(13, "Permission denied")
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refusing)
    walk = walk_files(VaultRoot(tmp_path), ALL)
    assert ([each.path for each in walk.found], walk.unread) == (["a.md"], ["closed"])


def test_an_ignore_file_that_cannot_be_read_hides_its_folder(tmp_path: Path) -> None:
    lay(tmp_path, "a.md", "sub/secret.md")
    (tmp_path / "sub" / ".gitignore").write_bytes(b"#" * 300_000)
    walk = walk_files(VaultRoot(tmp_path), ALL)
    assert ([each.path for each in walk.found], walk.unread) == (["a.md"], ["sub"])


def test_a_missing_root_is_no_empty_one(tmp_path: Path) -> None:
    with pytest.raises(VaultUnavailable):
        walk_files(VaultRoot(tmp_path / "nothing"), ALL)


LINES = st.sampled_from(
    [
        "*.py",
        "!a.py",
        "/a.py",
        "b/",
        "!b/",
        "b/*",
        "**/c.py",
        "c/**",
        "a*",
        "!c.py",
        "/b/c.py",
        "#a.py",
        "a.py ",
        "",
        "?.py",
        "**",
        "!**/a.py",
        "b/**/c.py",
        "/b/",
    ]
)
PATHS = ["a.py", "c.py", "b/a.py", "b/c.py", "b/b/c.py", "c/a.py", "c/b/a.py"]


@pytest.mark.skipif(shutil.which("git") is None, reason="no git to compare with")
@settings(max_examples=examples(20))
@given(top=st.lists(LINES, max_size=4), deeper=st.lists(LINES, max_size=3))
@example(top=["b/*"], deeper=["!b/"])
@example(top=["b/**"], deeper=["!b/"])
def test_what_is_ignored_is_what_git_ignores(
    tmp_path_factory: pytest.TempPathFactory, top: list[str], deeper: list[str]
) -> None:
    root = tmp_path_factory.mktemp("repository")
    lay(root, *PATHS)
    (root / ".gitignore").write_text("\n".join(top) + "\n")
    (root / "b" / ".gitignore").write_text("\n".join(deeper) + "\n")
    for command in (["git", "init", "-q"], ["git", "add", "-A", "--force", ".gitignore", "b/.gitignore"]):
        subprocess.run(command, cwd=root, check=True, env={"PATH": os.environ["PATH"], "HOME": str(root)})
    listed = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard"], cwd=root, check=True, capture_output=True, text=True
    ).stdout.split()
    assert found(root) == sorted(each for each in listed if not each.endswith(".gitignore"))


def test_an_empty_walk_has_nothing() -> None:
    assert FileWalk().found == []
