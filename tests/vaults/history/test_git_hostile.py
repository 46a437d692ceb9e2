"""Repositories set up to make us run, read or write something.

Covers vaults.history.errors, vaults.history.git_config.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from vaults.history.errors import HistoryUnavailable

HOOKS = ["pre-commit", "post-commit", "commit-msg", "reference-transaction", "post-index-change", "post-checkout"]


def test_nothing_a_repository_asks_for_is_run(vault, repository) -> None:
    work, ran = vault.root.parent, vault.root.parent.parent / "ran"
    for hook in HOOKS:
        (work / ".git/hooks" / hook).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (work / ".git/hooks" / hook).chmod(0o755)
    touch = f"touch {ran}; cat"
    for key in ("core.fsmonitor", "core.editor", "core.sshCommand", "filter.x.clean", "filter.x.smudge", "gpg.program"):
        repository("config", key, touch)
    repository("config", "filter.x.required", "true")
    repository("config", "commit.gpgsign", "true")
    repository("config", "core.autocrlf", "input")
    (work / ".gitattributes").write_text("*.md filter=x text eol=crlf working-tree-encoding=UTF-16\n")
    history = vault.open()
    commit = history.commit({"a.md": b"a\r\nb\n", ".gitattributes": b"*.md filter=x\n"}, "Edit", "ann", 1_800_000_000)
    assert history.content(commit, "a.md") == b"a\r\nb\n"
    assert len(history.log("a.md", 5).commits) == 2
    assert history.diff("a.md", commit, b"c\n")
    assert history.pack() > 0
    assert not ran.exists()


def test_configuration_is_not_followed_elsewhere(vault, repository) -> None:
    config = vault.root.parent / ".git/config"
    os.mkfifo(vault.root.parent / "fifo")  # whoever opens it waits for ever
    config.write_text(config.read_text() + f"[include]\n\tpath = {vault.root.parent / 'fifo'}\n")
    assert vault.open().commit({"a.md": b"1"}, "First", "ann", 1)


def test_a_worktree_elsewhere_is_not_this_vaults(vault, repository) -> None:
    repository("config", "core.worktree", "/etc")
    vault.open().commit({"a.md": b"1"}, "First", "ann", 1)
    assert (vault.state / "history.git/HEAD").exists()
    assert not (vault.root.parent / ".git/refs/strongroom").exists()


def test_borrowed_objects_are_out_of_reach(vault, repository, git_at: Callable[[Path], Callable[..., str]]) -> None:
    other = vault.root.parent.parent / "other"
    (other / "notes").mkdir(parents=True)
    git = git_at(other)
    git("init", "-q")
    (other / "notes/a.md").write_bytes(b"another tenant's\n")
    git("add", ".")
    git("commit", "-q", "-m", "Secret")
    theirs = git("rev-parse", "HEAD").strip()
    (vault.root.parent / ".git/objects/info/alternates").write_text(f"{other}/.git/objects\n")
    (vault.root.parent / ".git/refs/heads/main").write_text(theirs + "\n")
    assert repository("show", "HEAD:notes/a.md") == "another tenant's\n"
    history = vault.open()
    assert history.content(theirs, "a.md") is None
    assert history.log("a.md", 5).commits == []
    assert history.commit({"a.md": b"1"}, "First", "ann", 1)


def _named_by_file(work: Path, other: Path) -> None:
    (work / ".git").write_text(f"gitdir: {other}\n")


def _linked(work: Path, other: Path) -> None:
    (work / ".git").symlink_to(other)


def _objects_linked(work: Path, other: Path) -> None:
    (work / ".git").mkdir()
    (work / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (work / ".git/refs").mkdir()
    (work / ".git/objects").symlink_to(other / "objects")


def _head_linked(work: Path, other: Path) -> None:
    (work / ".git/objects").mkdir(parents=True)
    (work / ".git/refs").mkdir()
    (work / ".git/HEAD").symlink_to(other / "HEAD")


def _fake_worktree(work: Path, other: Path) -> None:
    fake = work / "fake"
    fake.mkdir()
    (fake / "HEAD").write_text("ref: refs/heads/main\n")
    (fake / "commondir").write_text(f"{other}\n")
    (fake / "gitdir").write_text(f"{work}/.git\n")
    (work / ".git").write_text(f"gitdir: {fake}\n")


def _fifo(work: Path, other: Path) -> None:
    os.mkfifo(work / ".git")


def _fifo_config(work: Path, other: Path) -> None:
    (work / ".git/objects").mkdir(parents=True)
    (work / ".git/refs").mkdir()
    (work / ".git/HEAD").write_text("ref: refs/heads/main\n")
    os.mkfifo(work / ".git/config")


def _empty(work: Path, other: Path) -> None:
    (work / ".git").mkdir()


@pytest.mark.parametrize(
    "trick", [_named_by_file, _linked, _objects_linked, _head_linked, _fake_worktree, _fifo, _fifo_config, _empty]
)
def test_a_git_folder_that_is_not_the_vaults_is_refused(vault, git_at, trick: Callable[[Path, Path], None]) -> None:
    other = vault.root.parent.parent / "other"
    other.mkdir()
    git_at(other)("init", "-q")
    trick(vault.root.parent, other / ".git")
    with pytest.raises(HistoryUnavailable) as failure:
        vault.open()
    assert str(vault.root.parent.parent) not in failure.value.message


@pytest.mark.parametrize(
    "head",
    ["ref: ../../other/secret", "ref: refs/../../x", "ref: HEAD", "garbage", "", "ref: refs/heads/loop", "x" * 9999],
)
def test_a_head_that_leads_astray_is_not_followed(vault, repository, head: str) -> None:
    folder = vault.root.parent / ".git"
    history = vault.open()
    (folder / "refs/heads/loop").write_text("ref: refs/heads/loop\n")
    (folder / "HEAD").write_text(head)
    with pytest.raises(HistoryUnavailable):
        history.log("a.md", 5)


def test_references_are_not_kept_in_another_repository(vault, repository) -> None:
    outside = vault.root.parent.parent / "outside"
    outside.mkdir()
    (vault.root.parent / ".git/refs/strongroom").symlink_to(outside)
    with pytest.raises(HistoryUnavailable):
        vault.open().commit({"a.md": b"1"}, "First", "ann", 1)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("where", ["loose", "pack", "ref"])
def test_a_fifo_where_a_file_should_be_is_not_waited_for(vault, repository, where: str) -> None:
    folder, history = vault.root.parent / ".git", vault.open()
    first = history.commit({"a.md": b"1"}, "First", "ann", 1_800_000_000)
    fifo = {
        "loose": folder / "objects" / first[:2] / first[2:],
        "pack": folder / "objects/pack/pack-x.idx",
        "ref": folder / "refs/strongroom/vault-1",
    }[where]
    fifo.unlink(missing_ok=True)
    os.mkfifo(fifo)
    with pytest.raises(HistoryUnavailable):
        vault.open().content(first, "a.md") if where != "pack" else vault.open().pack()
