"""History in a repository that belongs to the owner: nothing of theirs moves.

Covers vaults.history.commit_walk, vaults.history.locations.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from vaults.errors import InvalidArgument
from vaults.history.commit_walk import WalkBounds
from vaults.history.errors import HistoryUnavailable
from vaults.history.git import GitHistory

REF = "refs/strongroom/vault-1"


def _state_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file of a repository but its objects and our own reference."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "objects" not in path.parts and "strongroom" not in path.parts
    }


def test_a_commit_moves_nothing_of_the_owners(vault, repository) -> None:
    work = vault.root.parent
    (work / "staged.md").write_bytes(b"staged")
    repository("add", "staged.md")
    (vault.root / "a.md").write_bytes(b"changed, not staged\n")
    status = repository("status", "--porcelain=v2", "--branch")
    before = _state_of(work)
    commit = vault.open().commit({"a.md": b"two\n"}, "Edit", "ann", 1_700_000_100)
    assert _state_of(work) == before
    assert repository("status", "--porcelain=v2", "--branch") == status
    assert repository("rev-parse", REF).strip() == commit
    assert repository("show", f"{REF}:notes/a.md") == "two\n"
    assert repository("ls-tree", "-r", "--name-only", REF) == "notes/a.md\n"
    assert not (vault.state / "history.git").exists()
    repository("fsck", "--strict")


def test_the_log_joins_the_branch(vault, repository) -> None:
    history = vault.open()
    ours = history.commit({"a.md": b"two\n"}, "Edit", "ann", 1_700_000_100)
    start = repository("rev-parse", "HEAD").strip()
    log = history.log("a.md", 10)
    assert [(commit.id, commit.source, commit.message) for commit in log.commits] == [
        (ours, "history", "Edit"),
        (start, "branch", "Start"),
    ]
    assert log.complete
    assert log.commits[1].paths == ("a.md",)
    assert [commit.id for commit in history.log("a.md", 10, before=ours).commits] == [start]
    assert [commit.source for commit in history.log(None, 10).commits] == ["history"]
    assert history.content(start[:7], "a.md") == b"one\n"


def test_branch_commits_that_do_not_touch_the_note_are_left_out(vault, repository) -> None:
    work = vault.root.parent
    repository("checkout", "-q", "-b", "side")
    (vault.root / "b.md").write_bytes(b"side\n")
    repository("add", ".")
    repository("commit", "-q", "-m", "Side adds b")
    repository("checkout", "-q", "main")
    (work / "other.txt").write_bytes(b"x")
    repository("add", ".")
    repository("commit", "-q", "-m", "Elsewhere")
    repository("merge", "-q", "--no-edit", "side")
    history = vault.open()
    assert [commit.message for commit in history.log("a.md", 10).commits] == ["Start"]
    assert [commit.message for commit in history.log("b.md", 10).commits] == ["Side adds b"]


def test_only_the_vault_and_only_reachable_commits_can_be_read(vault, repository) -> None:
    history = vault.open()
    head = repository("rev-parse", "HEAD").strip()
    for path in ("../secret.txt", "secret.txt", "../work/secret.txt"):
        try:
            assert history.content(head, path) is None
        except InvalidArgument:
            assert ".." in path
    repository("checkout", "-q", "--orphan", "elsewhere")
    repository("commit", "-q", "-m", "Other branch")
    other = repository("rev-parse", "HEAD").strip()
    repository("checkout", "-q", "main")
    assert history.content(other, "a.md") is None
    assert history.content(head, "a.md") == b"one\n"


def test_links_and_submodules_in_a_tree_are_no_notes(vault, repository) -> None:
    (vault.root / "link.md").symlink_to("/etc/passwd")
    repository("add", ".")
    head = repository("rev-parse", "HEAD").strip()
    repository("update-index", "--add", "--cacheinfo", f"160000,{head},notes/sub.md")
    repository("commit", "-q", "-m", "Odd entries")
    head = repository("rev-parse", "HEAD").strip()
    history = vault.open()
    assert [history.content(head, path) for path in ("link.md", "sub.md", "a.md")] == [None, None, b"one\n"]


def _detached(work: Path, git: Callable[..., str]) -> None:
    git("checkout", "-q", "--detach")


def _merging(work: Path, git: Callable[..., str]) -> None:
    git("checkout", "-q", "-b", "other")
    (work / "notes/a.md").write_bytes(b"theirs\n")
    git("commit", "-qam", "Theirs")
    git("checkout", "-q", "main")
    (work / "notes/a.md").write_bytes(b"ours\n")
    git("commit", "-qam", "Ours")
    with pytest.raises(AssertionError):
        git("merge", "other")


def _packed(work: Path, git: Callable[..., str]) -> None:
    git("gc", "-q")


def _index_locked(work: Path, git: Callable[..., str]) -> None:
    (work / ".git/index.lock").touch()


def _garbage_in_index(work: Path, git: Callable[..., str]) -> None:
    (work / ".git/index").write_bytes(b"garbage")


@pytest.mark.parametrize("situation", [_detached, _merging, _packed, _index_locked, _garbage_in_index])
def test_the_owners_business_does_not_matter(vault, repository, situation: Callable[..., None]) -> None:
    situation(vault.root.parent, repository)
    before = _state_of(vault.root.parent)
    history = vault.open()
    first = history.commit({"a.md": b"1"}, "First", "ann", 1_800_000_000)
    second = history.commit({"a.md": b"2"}, "Second", "ann", 1_800_000_001)
    assert [commit.id for commit in history.log("a.md", 2).commits] == [second, first]
    assert "Start" in [commit.message for commit in history.log("a.md", 10).commits]
    assert _state_of(vault.root.parent) == before


def test_an_owners_gc_between_two_commits_is_survived(vault, repository) -> None:
    history = vault.open()
    first = history.commit({"a.md": b"1"}, "First", "ann", 1_800_000_000)
    repository("gc", "-q", "--prune=now")
    assert not (vault.root.parent / ".git" / REF).exists(), "the reference is packed now"
    second = history.commit({"b.md": b"2"}, "Second", "ann", 1_800_000_001)
    assert history.content(second, "a.md") == b"1"
    assert vault.open().log(None, 5).commits[1].id == first
    repository("fsck", "--strict")


def test_a_repository_without_commits_will_do(vault, git_at) -> None:
    git = git_at(vault.root)
    git("init", "-q")
    history = vault.open()
    commit = history.commit({"a.md": b"1"}, "First", "ann", 1)
    assert [entry.id for entry in history.log("a.md", 5).commits] == [commit]
    assert git("ls-tree", "-r", "--name-only", REF) == "a.md\n"


def test_a_linked_worktree_shares_the_repository(vault, repository, git_at) -> None:
    repository("worktree", "add", "-q", "-b", "desk", str(vault.root.parent.parent / "desk"))
    desk = vault.root.parent.parent / "desk"
    history = type(vault)(desk / "notes", vault.state).open()
    commit = history.commit({"a.md": b"1"}, "Desk", "ann", 1_800_000_000)
    assert repository("rev-parse", REF).strip() == commit
    git_at(desk)("commit", "-q", "--allow-empty", "-m", "Only at the desk")
    assert [entry.message for entry in history.log("a.md", 5).commits] == ["Desk", "Start"]


def test_a_submodule_keeps_its_own_history(vault, repository, git_at) -> None:
    origin = vault.root.parent.parent / "origin"
    origin.mkdir()
    git = git_at(origin)
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "Origin")
    repository("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(origin), "notes/sub")
    history = type(vault)(vault.root / "sub", vault.state).open()
    commit = history.commit({"a.md": b"1"}, "Sub", "ann", 1)
    assert git_at(vault.root / "sub")("rev-parse", REF).strip() == commit


def test_a_shallow_clone_ends_where_it_ends(vault, repository, git_at) -> None:
    (vault.root / "a.md").write_bytes(b"two\n")
    repository("commit", "-qam", "Second")
    clone = vault.root.parent.parent / "clone"
    repository("clone", "-q", "--depth=1", f"file://{vault.root.parent}", str(clone))
    history = type(vault)(clone / "notes", vault.state).open()
    commit = history.commit({"a.md": b"3"}, "Ours", "ann", 1_800_000_000)
    log = history.log("a.md", 10)
    assert [entry.id for entry in log.commits] == [commit]
    assert not log.complete


def test_a_bare_repository_above_is_none(vault, git_at) -> None:
    git_at(vault.root.parent)("init", "-q", "--bare", ".git")
    vault.open().commit({"a.md": b"1"}, "First", "ann", 1)
    assert (vault.state / "history.git/HEAD").exists()


def test_a_vault_keeps_the_history_it_has_when_a_repository_appears(vault, git_at) -> None:
    first = vault.open().commit({"a.md": b"1"}, "First", "ann", 1)
    git = git_at(vault.root)
    git("init", "-q")
    (vault.root / "a.md").write_bytes(b"1")
    git("add", ".")
    git("commit", "-q", "-m", "Start")
    history = vault.open()
    assert [entry.source for entry in history.log("a.md", 5).commits] == ["branch", "history"]
    assert history.commit({"a.md": b"2"}, "Second", "ann", 2) != first
    with pytest.raises(AssertionError):
        git("rev-parse", "--verify", REF)


def test_the_walk_ends_when_its_bounds_do(vault, repository) -> None:
    history = vault.open()
    for number in range(5):
        history.commit({"b.md": b"%d" % number}, "b", "ann", 1_800_000_000 + number)
    bounded = GitHistory(history._kept, history._branch, history._ref, WalkBounds(commits=3))
    log = bounded.log("a.md", 10)
    assert (log.commits, log.complete) == ([], False)
    assert bounded.content(repository("rev-parse", "HEAD").strip(), "a.md") is None


@pytest.mark.parametrize("options", [["--object-format=sha256"], ["--ref-format=reftable"]])
def test_formats_not_supported_are_said_so(vault, git_at, options: list[str]) -> None:
    try:
        git_at(vault.root)("init", "-q", *options)
    except AssertionError:
        pytest.skip("this git does not know the format")
    with pytest.raises(HistoryUnavailable, match="format that is not supported"):
        vault.open()


def test_the_search_ends_at_the_file_systems_edge(vault, repository, monkeypatch: pytest.MonkeyPatch) -> None:
    stat, beyond = Path.stat, vault.root.parent.resolve()

    def mounted(self: Path, **options: bool) -> os.stat_result | SimpleNamespace:
        status = stat(self, **options)
        return SimpleNamespace(st_dev=-1, st_mode=status.st_mode) if self == beyond else status

    with monkeypatch.context() as patched:
        patched.setattr(Path, "stat", mounted)
        vault.open()
    assert (vault.state / "history.git/HEAD").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_strangers_repository_above_gets_no_notes(vault, repository) -> None:
    git_folder = vault.root.parent / ".git"
    os.chown(git_folder, 12345, 12345)
    with pytest.raises(HistoryUnavailable, match="another user"):
        vault.open()
    os.chown(vault.root, 12345, 12345)  # as in a container: notes and repository are both the host user's
    assert vault.open().commit({"a.md": b"1"}, "First", "ann", 1)
