"""Notes in a repository that somebody has prepared: its history is kept, and nothing it says is run."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Opening
from tests.vaults.domain.notes.notes_desk import desk_in
from vaults.domain.notes.commit import git_commits

HOOKS = ("pre-commit", "post-commit", "commit-msg", "reference-transaction", "post-index-change", "post-checkout")
NAMES = ("--upload-pack=touch x.md", "-rf.md", ":(glob)star.md", ":!not.md", "a*b.md")


def _git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _planted(root: Path, mark: Path) -> None:
    """A repository whose every hook, filter, helper and monitor leaves a mark."""
    _git(root, "init", "-q", "-b", "main")
    (root / "first.md").write_text("first\n")
    who = ("-c", "user.name=me", "-c", "user.email=me@example.org")
    _git(root, *who, "add", ".")
    _git(root, *who, "commit", "-qm", "first")
    script = f"#!/bin/sh\ntouch {mark}\n"
    for name in HOOKS:
        hook = root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(script)
        hook.chmod(0o755)
    run = root / ".git" / "run"
    run.write_text(script)
    run.chmod(0o755)
    (root / ".gitattributes").write_text("*.md filter=evil diff=evil merge=evil\n")
    with (root / ".git" / "config").open("a") as config:
        config.write(
            f"[core]\n\tfsmonitor = {run}\n\tsshCommand = {run}\n\teditor = {run}\n[gpg]\n\tprogram = {run}\n"
            f'[commit]\n\tgpgsign = true\n[filter "evil"]\n\tclean = {run}\n\tsmudge = {run}\n\trequired = true\n'
            f'[diff "evil"]\n\ttextconv = {run}\n\texternal = {run}\n[merge "evil"]\n\tdriver = {run}\n'
        )


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
async def test_a_planted_repository_runs_nothing_and_odd_names_are_kept(opening: Opening, tmp_path: Path) -> None:
    mark = tmp_path / "marked"
    async with desk_in(opening, {"notes.history": "auto"}) as desk:
        await asyncio.to_thread(_planted, desk.root, mark)
        await desk.put(dict.fromkeys(NAMES, "oddword\n"))
        for path in (*NAMES, "first.md"):
            await desk.done("note_edit", path=path, content="words")
        await desk.done("note_move", path="first.md", to="second.md")
        await desk.done("note_delete", path="a*b.md", confirm=True)
        await git_commits.commit_all_pending(desk.vault)
        assert desk.vault.history.problem is None
        listed = await desk.done("history", action="log")
        assert all(each.get("git") for each in listed["changes"])
        tip = listed["changes"][0]["git"]
        held = (await asyncio.to_thread(_git, desk.root, "ls-tree", "-z", "--name-only", tip)).split("\0")
        assert set(held) - {""} >= {*NAMES[:-1], "second.md"}
        assert "a*b.md" not in held
        assert await asyncio.to_thread(_git, desk.root, "rev-list", "--count", "main") == "1\n"
        for path in NAMES:
            assert (await desk.ask("note_write", path=f"new/{path}", content="x")).code == "invalid_argument"
    assert not mark.exists(), "something of the repository was run"
