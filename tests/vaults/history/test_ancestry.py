"""Which commits a state goes back to: told from objects alone, and never guessed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pygit2
import pytest

from tests.vaults.history.conftest import Git, Place
from vaults.history import ancestry
from vaults.history.ancestry import Repository, open_repository
from vaults.history.errors import HistoryUnavailable

NOBODY = "0123456789" * 4


class Work:
    """A repository made commit by commit, with the times its committers' clocks showed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._repository = pygit2.init_repository(str(folder), initial_head="main")
        self._tree = self._repository.TreeBuilder().write()

    def commit(self, *parents: str, at: int = 1_700_000_000, ref: str | None = None) -> str:
        who = pygit2.Signature("Ann 42 1700009999", "ann@example.org", at)
        made = self._repository.create_commit(ref, who, who, f"at {at}", self._tree, list(parents))
        return str(made)

    def branch(self, name: str, commit: str) -> None:
        self._repository.references.create(f"refs/heads/{name}", commit, force=True)

    def opened(self) -> Repository:
        found = open_repository(self.folder)
        assert found is not None
        return found


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path)


def test_commits_a_state_does_not_go_back_to_are_outside(work: Work) -> None:
    root = work.commit()
    main = work.commit(root, at=1_700_000_100)
    dropped = work.commit(root, at=1_700_000_200)
    merged = work.commit(root, at=1_700_000_300)
    head = work.commit(main, merged, at=1_700_000_400)
    found = work.opened().outside([root, main, merged, head, dropped, NOBODY, "f" * 64], head)
    assert found == {dropped, NOBODY, "f" * 64}
    assert work.opened().outside([root, main, head], main) == {head}


def test_a_head_nobody_knows_tells_nothing(work: Work) -> None:
    root = work.commit()
    assert work.opened().outside([root], NOBODY) is None
    assert work.opened().outside([root], "HEAD") is None


def test_the_present_commit_is_found_on_a_branch_and_without_one(work: Work) -> None:
    assert work.opened().head() is None
    root = work.commit()
    work.branch("main", root)
    opened = work.opened()
    assert opened.head() == root
    second = work.commit(root)
    work.branch("main", second)
    assert opened.head() == second
    (work.folder / ".git" / "HEAD").write_text(f"{root}\n")
    assert opened.head() == root


def test_the_walk_ends_where_everything_asked_is_newer(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    day, commit = 86_400, work.commit()
    chain = [commit]
    for number in range(1, 60):
        chain.append(work.commit(chain[-1], at=1_700_000_000 + number * day))
    dropped = work.commit(chain[-4], at=1_700_000_007 + 57 * day)
    monkeypatch.setattr(ancestry, "BOUNDS", replace(ancestry.BOUNDS, commits=20))
    assert work.opened().outside([chain[-3], dropped], chain[-1]) == {dropped}


def test_a_clock_that_was_an_hour_ahead_hides_nobody(work: Work) -> None:
    ahead = work.commit(at=1_700_003_600)
    child = work.commit(ahead, at=1_700_000_000)
    head = work.commit(child, at=1_700_000_001)
    assert work.opened().outside([ahead], head) == frozenset()


def test_what_lies_beyond_the_bounds_is_not_called_outside(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    chain = [work.commit()]
    for number in range(1, 40):
        chain.append(work.commit(chain[-1], at=1_700_000_000 + number))
    dropped = work.commit(chain[0], at=1_700_000_100)
    monkeypatch.setattr(ancestry, "BOUNDS", replace(ancestry.BOUNDS, commits=5))
    repository = work.opened()
    assert repository.outside([chain[0], dropped], chain[-1]) == frozenset()
    monkeypatch.setattr(ancestry, "BOUNDS", replace(ancestry.BOUNDS, commits=100))
    assert repository.outside([chain[0], dropped], chain[-1]) == {dropped}


def test_a_shallow_clone_calls_nobody_outside_it_cannot_know(work: Work) -> None:
    old = work.commit()
    middle = work.commit(old, at=1_700_000_001)
    head = work.commit(middle, at=1_700_000_002)
    (work.folder / ".git" / "shallow").write_text(f"{middle}\n")
    path = work.folder / ".git" / "objects" / old[:2] / old[2:]
    path.unlink()
    assert work.opened().outside([old, NOBODY, middle], head) == frozenset()


def test_answers_are_kept_and_a_new_head_is_asked_anew(work: Work) -> None:
    root = work.commit()
    side = work.commit(root, at=1_700_000_100)
    head = work.commit(root, at=1_700_000_200)
    repository = work.opened()
    assert repository.outside([side], head) == {side}
    merged = work.commit(head, side, at=1_700_000_300)
    assert repository.outside([side], merged) == frozenset()
    assert repository.outside([side], head) == {side}


def test_packed_commits_are_walked_too(vault: Place, repository: Git) -> None:
    for number in range(30):
        repository("commit", "-q", "--allow-empty", "-m", str(number))
    chain = repository("rev-list", "HEAD").split()
    repository("checkout", "-q", "-b", "side", chain[-1])
    repository("commit", "-q", "--allow-empty", "-m", "side")
    side = repository("rev-parse", "HEAD").strip()
    repository("gc", "-q")
    opened = open_repository(vault.root)
    assert opened is not None
    assert opened.head() == side
    assert opened.outside([*chain, side], chain[0]) == {side}


def test_no_repository_is_none_and_a_damaged_one_says_so(vault: Place, git_at: Callable[[Path], Git]) -> None:
    assert open_repository(vault.root) is None
    git_at(vault.root)("init", "-q")
    shutil.rmtree(vault.root / ".git" / "objects")
    with pytest.raises(HistoryUnavailable):
        open_repository(vault.root)


def test_a_planted_fifo_is_refused_not_awaited(work: Work) -> None:
    import os

    root = work.commit()
    path = work.folder / ".git" / "objects" / root[:2] / root[2:]
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(HistoryUnavailable):
        work.opened().outside([root], root)
