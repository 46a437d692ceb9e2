"""Vault folders and git's own command line, which judges what we wrote."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.work import PATIENCE_S
from vaults.history.git import GitHistory, open_history

GIT = shutil.which("git")


@dataclass(frozen=True, slots=True)
class Git:
    """``git`` in one folder, with nobody's configuration."""

    folder: Path

    def __call__(self, *arguments: str) -> str:
        assert GIT is not None
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ann",
            "GIT_AUTHOR_EMAIL": "ann@example.org",
            "GIT_COMMITTER_NAME": "Ann",
            "GIT_COMMITTER_EMAIL": "ann@example.org",
            "GIT_AUTHOR_DATE": "1700000000 +0000",
            "GIT_COMMITTER_DATE": "1700000000 +0000",
        }
        done = subprocess.run(
            [GIT, *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@dataclass(frozen=True, slots=True)
class Place:
    root: Path
    state: Path

    def open(self) -> GitHistory:
        return open_history(self.root, self.state, "vault-1")


@pytest.fixture
def vault(tmp_path: Path) -> Place:
    """Notes without a repository around them."""
    (tmp_path / "work" / "notes").mkdir(parents=True)
    (tmp_path / "state").mkdir()
    return Place(tmp_path / "work" / "notes", tmp_path / "state")


@pytest.fixture
def git_at() -> Callable[[Path], Git]:
    if GIT is None:
        pytest.skip("git is not installed")
    return Git


@pytest.fixture
def repository(vault: Place, git_at: Callable[[Path], Git]) -> Git:
    """A repository around the notes, with one commit of the owner's."""
    git = git_at(vault.root.parent)
    git("init", "-q", "-b", "main")
    (vault.root / "a.md").write_bytes(b"one\n")
    (vault.root.parent / "secret.txt").write_bytes(b"outside the vault\n")
    git("add", ".")
    git("commit", "-q", "-m", "Start")
    return git
