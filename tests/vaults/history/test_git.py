"""A vault's own history: what goes in comes out.

Covers vaults.history.commit_objects, vaults.history.object_store, vaults.history.trees.
"""

from __future__ import annotations

import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from vaults.errors import InvalidArgument, TooLarge
from vaults.history import git as git_module
from vaults.history.git import open_history


def test_a_commit_is_read_back_as_it_was_given(vault) -> None:
    history = vault.open()
    oddities = {"crlf.md": b"a\r\nb\r", "binary.md": bytes(range(256)), "empty.md": b""}
    commit = history.commit(oddities, "[strongroom:note_create] Oddities", "ann", 1_700_000_000)
    assert {path: history.content(commit, path) for path in oddities} == oddities
    assert vault.open().tip() == commit


def test_a_commit_changes_only_what_it_names(vault) -> None:
    history = vault.open()
    first = history.commit({"a.md": b"1", "x/b.md": b"2", "x/y/c.md": b"3"}, "First", "ann", 1)
    second = history.commit({"x/b.md": None, "a.md": b"1+"}, "Second", "ann", 2)
    assert [history.content(second, path) for path in ("a.md", "x/b.md", "x/y/c.md")] == [b"1+", None, b"3"]
    assert [history.content(first, path) for path in ("a.md", "x/b.md", "x/y/c.md")] == [b"1", b"2", b"3"]


def test_nothing_is_committed_when_nothing_differs(vault) -> None:
    history = vault.open()
    first = history.commit({"a.md": b"1"}, "First", "ann", 1)
    assert history.commit({"a.md": b"1", "never.md": None}, "Same", "ann", 2) == first


def test_a_note_and_a_folder_may_change_places(vault) -> None:
    history = vault.open()
    history.commit({"a": b"note", "b/c.md": b"in folder"}, "First", "ann", 1)
    commit = history.commit({"a": None, "a/x.md": b"x", "b/c.md": None, "b": b"note"}, "Swap", "ann", 2)
    assert [history.content(commit, path) for path in ("a", "a/x.md", "b/c.md", "b")] == [None, b"x", None, b"note"]
    with pytest.raises(InvalidArgument, match="both a note and a folder"):
        history.commit({"q": b"1", "q/r.md": b"2"}, "Both", "ann", 3)


def test_what_gives_way_need_not_be_named(vault, git_at: Callable[[Path], Callable[..., str]]) -> None:
    history = vault.open()
    history.commit({"a": b"note", "b/c.md": b"in folder"}, "First", "ann", 1)
    commit = history.commit({"a/x.md": b"x", "b": b"note"}, "Swap", "ann", 2)
    git = git_at(vault.state / "history.git")
    assert git("ls-tree", "-r", "--name-only", commit) == "a/x.md\nb\n"
    git("fsck", "--strict")


def test_the_log_names_only_what_changed(vault) -> None:
    history = vault.open()
    history.commit({"a.md": b"1", "b.md": b"1"}, "First", "ann", 1)
    history.commit({"a.md": b"1", "b.md": b"2", "c.md": None}, "Second", "ann", 2)
    assert [entry.paths for entry in history.log(None, 5).commits] == [("b.md",), ("a.md", "b.md")]


def test_the_last_note_may_go(vault) -> None:
    history = vault.open()
    history.commit({"x/y/a.md": b"1"}, "First", "ann", 1)
    commit = history.commit({"x/y/a.md": None}, "Gone", "ann", 2)
    assert history.content(commit, "x/y/a.md") is None
    assert history.log("x/y/a.md", 10).commits[0].id == commit


LITERAL = [
    "-rf.md",
    "--help/x.md",
    ":(glob)**.md",
    "*.md",
    "a\\b.md",
    "Ünïcode ☃/日本.md",
    "sp ace/ x.md",
    "a%2e%2e.md",
]


def test_paths_are_taken_literally(vault, git_at: Callable[[Path], Callable[..., str]]) -> None:
    history = vault.open()
    commit = history.commit({path: path.encode() for path in LITERAL}, "Names", "ann", 1)
    assert all(history.content(commit, path) == path.encode() for path in LITERAL)
    listed = git_at(vault.state / "history.git")("ls-tree", "-r", "-z", "--name-only", commit)
    assert sorted(listed.strip("\0").split("\0")) == sorted(LITERAL)
    assert set(history.log(None, 1).commits[0].paths) == set(LITERAL)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/a",
        "a/",
        "a//b",
        "../a",
        "a/../b",
        ".",
        "a\0b",
        ".git/config",
        "x/.GIT/hooks/a",
        "git~1/a.md",
        ".g\u200cit/a",
        ".git /a",
        "a\\.git\\b",
        "\ud800.md",
        "/".join("d" * 101),
    ],
)
def test_paths_git_cannot_hold_are_refused(vault, path: str) -> None:
    history = vault.open()
    with pytest.raises(InvalidArgument, match="cannot be kept"):
        history.commit({path: b"1"}, "No", "ann", 1)
    with pytest.raises(InvalidArgument):
        history.content("0" * 40, path)
    assert history.tip() is None


def test_the_log_lists_newest_first_and_continues_where_it_ended(vault) -> None:
    history = vault.open()
    made = [
        history.commit({f"{number % 2}.md": b"%d" % number}, f"Change {number}", "ann", 1000 + number)
        for number in range(10)
    ]
    assert [commit.id for commit in history.log(None, 100).commits] == made[::-1]
    odd = history.log("1.md", 2)
    assert [commit.message for commit in odd.commits] == ["Change 9", "Change 7"]
    rest = history.log("1.md", 100, before=odd.commits[-1].id[:10])
    assert [commit.message for commit in rest.commits] == ["Change 5", "Change 3", "Change 1"]
    last = rest.commits[0]
    assert (last.at, last.author, last.paths, last.source, last.parent) == (1005, "ann", ("1.md",), "history", made[4])
    assert rest.complete
    assert history.log("never.md", 5).commits == []


def test_the_order_survives_a_clock_set_back(vault) -> None:
    history = vault.open()
    made = [history.commit({"a.md": b"%d" % when}, "x", "ann", when) for when in (500, 100, 100, 900, -5)]
    assert [commit.id for commit in history.log("a.md", 9).commits] == [made[4], made[3], made[1], made[0]]


def test_a_large_commit_is_found_by_each_of_its_paths(vault) -> None:
    history = vault.open()
    base = history.commit({f"{number}.md": b"x" for number in range(1500)}, "Vault as found", "ann", 1)
    history.commit({"7.md": b"y"}, "Later", "ann", 2)
    assert [commit.id for commit in history.log("1499.md", 9).commits] == [base]
    assert len(history.log(None, 9).commits[1].paths) == 1000


def test_authors_and_messages_cannot_forge_fields(vault, git_at: Callable[[Path], Callable[..., str]]) -> None:
    history = vault.open()
    author = "Eve <eve@x> 1 +0000\ncommitter Root <r@x>\0\ud800"
    commit = history.commit({"a.md": b"1"}, "Subject\0\n\nparent 0000\nBody \ud800", author, 1)
    assert history.commit({"a.md": b"2"}, "", "<>\n", 2)
    git = git_at(vault.state / "history.git")
    shown = git("log", "-1", "--format=%an|%ae|%cn|%P|%s", commit)
    name = "Eve eve@x 1 +0000 committer Root r@x"
    assert shown == f"{name}|Eve-eve-x-1-+0000-committer-Root-r-x@strongroom.invalid|{name}||Subject\n"
    assert history.log(None, 9).commits[0].author == "unknown"
    git("fsck", "--strict")


@pytest.mark.parametrize(
    "ref", ["HEAD", "main", "HEAD~1", ":/x", "@{u}", "abc", "g" * 40, "0" * 41, "refs/heads/x", ""]
)
def test_only_hexadecimal_refs_are_looked_up(vault, ref: str) -> None:
    history = vault.open()
    with pytest.raises(InvalidArgument, match="hexadecimal"):
        history.content(ref, "a.md")
    with pytest.raises(InvalidArgument, match="hexadecimal"):
        history.log(None, 1, before=ref)


def test_a_ref_may_be_short_but_must_be_a_commit_of_the_history(vault) -> None:
    history = vault.open()
    commit = history.commit({"a.md": b"1"}, "First", "ann", 1)
    assert history.content(commit[:7].upper(), "a.md") == b"1"
    dangling = history._kept.objects.write("commit", history._kept.objects.get(commit, "commit") + b"dangling")
    assert history.content(dangling, "a.md") is None
    blob = history._kept.trees.note(
        git_module.commit_objects.decode(history._kept.objects.get(commit, "commit")).tree, "a.md"
    )
    assert blob is not None
    assert history.content(blob, "a.md") is None


def test_very_large_versions_are_refused_before_they_are_read(vault, monkeypatch: pytest.MonkeyPatch) -> None:
    history = vault.open()
    commit = history.commit({"a.md": b"x" * 1001}, "Large", "ann", 1)
    monkeypatch.setattr(git_module, "_LARGEST_NOTE", 1000)
    with pytest.raises(TooLarge):
        history.content(commit, "a.md")
    history.pack()
    with pytest.raises(TooLarge):
        history.content(commit, "a.md")


def test_a_diff_shows_what_changed_since(vault) -> None:
    history = vault.open()
    commit = history.commit({"a.md": b"one\ntwo\n"}, "First", "ann", 1)
    assert history.diff("a.md", commit, b"one\n2\n") == "--- a/a.md\n+++ b/a.md\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    assert history.diff("new.md", commit, b"x\n") == "--- a/new.md\n+++ b/new.md\n@@ -0,0 +1 @@\n+x\n"


def test_the_own_repository_is_private_and_beside_the_notes(vault) -> None:
    vault.open().commit({"a.md": b"1"}, "First", "ann", 1)
    folder = vault.state / "history.git"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(vault.root.iterdir()) == []
    assert not (folder / "hooks").exists()


@pytest.mark.parametrize("name", ["", "a/b", "..", "a..b", "x.lock", "-x", "a b", "ä", "x" * 129])
def test_names_git_takes_for_no_reference_are_refused(vault, name: str) -> None:
    with pytest.raises(InvalidArgument, match="ref_name"):
        open_history(vault.root, vault.state, name)


def test_pygit2_waits_for_its_first_use() -> None:
    code = "import sys, vaults.history.git; sys.exit('pygit2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
