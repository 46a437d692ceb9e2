"""Damage, locks, full disks, kills and company: one typed failure, and a repository that stays whole.

Covers vaults.history.refs.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from vaults.history import refs
from vaults.history.errors import HistoryUnavailable
from vaults.history.git import GitHistory

REPOSITORY = Path(__file__).resolve().parents[3]


def _objects(vault) -> list[Path]:
    return [path for path in (vault.state / "history.git/objects").glob("??/*") if path.is_file()]


def _everything(history: GitHistory, commit: str) -> list[Callable[[], object]]:
    return [
        lambda: history.content(commit, "x/a.md"),
        lambda: history.log("x/a.md", 5),
        lambda: history.diff("x/a.md", commit, b""),
        lambda: history.commit({"x/a.md": b"changed"}, "Next", "ann", 2),
        history.pack,
    ]


def _emptied(path: Path) -> None:
    path.chmod(0o600)
    path.write_bytes(b"")


def _garbled(path: Path) -> None:
    path.chmod(0o600)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + b"\xff\xff" + data[len(data) // 2 + 2 :])


@pytest.mark.parametrize("damage", [Path.unlink, _emptied, _garbled])
def test_damaged_objects_are_one_typed_failure(vault, damage: Callable[[Path], None]) -> None:
    commit = vault.open().commit({"x/a.md": b"one\n"}, "First", "ann", 1)
    for path in _objects(vault):
        damage(path)
    for number in range(5):
        with pytest.raises(HistoryUnavailable) as failure:
            _everything(vault.open(), commit)[number]()
        assert re.search(r"missing|damaged|failed", failure.value.reason)
        assert str(vault.state) not in failure.value.message


def test_an_object_under_anothers_name_is_damage(vault) -> None:
    history = vault.open()
    commit = history.commit({"a.md": b"one"}, "First", "ann", 1)
    wrong, right = (history._kept.objects.loose_path(history._kept.objects.write("blob", x)) for x in (b"two", b"one"))
    wrong.replace(right)
    with pytest.raises(HistoryUnavailable, match="damaged"):
        history.content(commit, "a.md")


@pytest.mark.parametrize("suffix", [".pack", ".idx"])
def test_damaged_packs_are_one_typed_failure(vault, suffix: str) -> None:
    history = vault.open()
    commit = history.commit({"x/a.md": os.urandom(500)}, "First", "ann", 1)
    assert history.pack() == 4
    for path in (vault.state / "history.git/objects/pack").glob(f"*{suffix}"):
        path.chmod(0o600)
        path.write_bytes(path.read_bytes()[:100])
    for number in range(4):
        with pytest.raises(HistoryUnavailable):
            _everything(vault.open(), commit)[number]()


def test_a_repository_that_vanishes_is_a_typed_failure(vault) -> None:
    history = vault.open()
    commit = history.commit({"x/a.md": b"1"}, "First", "ann", 1)
    shutil.rmtree(vault.state / "history.git")
    (vault.state / "history.git").touch()
    for number in (1, 3):
        with pytest.raises(HistoryUnavailable):
            _everything(history, commit)[number]()
    with pytest.raises(HistoryUnavailable):
        vault.open()


def test_a_damaged_commit_of_the_owners_is_a_typed_failure(vault, repository) -> None:
    head = repository("rev-parse", "HEAD").strip()
    _garbled(vault.root.parent / ".git/objects" / head[:2] / head[2:])
    history = vault.open()
    with pytest.raises(HistoryUnavailable):
        history.log("a.md", 5)
    assert history.commit({"a.md": b"1"}, "Ours needs nothing of theirs", "ann", 1)


def test_our_lock_left_by_a_kill_is_cleared_when_old_and_respected_when_new(vault, repository, monkeypatch) -> None:
    monkeypatch.setattr(refs, "_WAIT_S", 0.02)
    history, folder = vault.open(), vault.root.parent / ".git"
    others = [folder / "index.lock", folder / "HEAD.lock", folder / "refs/heads/main.lock"]
    for other in others:
        other.touch()
        os.utime(other, (1, 1))
    lock = folder / "refs/strongroom/vault-1.lock"
    lock.parent.mkdir()
    lock.touch()
    with pytest.raises(HistoryUnavailable, match="locked"):
        history.commit({"a.md": b"1"}, "Blocked", "ann", 1)
    assert lock.exists()
    for age in (-60, 60):
        lock.touch()
        os.utime(lock, (time.time() + age, time.time() + age))
        assert history.commit({"a.md": str(age).encode()}, "Cleared", "ann", 1)
        assert not lock.exists()
    assert all(other.exists() for other in others)


def test_a_full_disk_changes_nothing(vault, monkeypatch: pytest.MonkeyPatch) -> None:
    history = vault.open()
    commit = history.commit({"a.md": b"1"}, "First", "ann", 1)
    before = sorted(vault.state.rglob("*"))

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(HistoryUnavailable):
            history.commit({"a.md": b"2"}, "Second", "ann", 2)
    assert history.tip() == commit
    assert [path for path in sorted(vault.state.rglob("*")) if path not in before and path.is_file()] == []
    assert history.content(history.commit({"a.md": b"2"}, "Second", "ann", 2), "a.md") == b"2"


def test_folders_git_removes_at_the_wrong_moment_are_made_again(vault, monkeypatch: pytest.MonkeyPatch) -> None:
    mkdir, removed = Path.mkdir, []

    def made_in_vain(self: Path, *arguments: int) -> None:
        mkdir(self, *arguments)
        if self not in removed:
            removed.append(self)
            self.rmdir()

    history = vault.open()
    with monkeypatch.context() as patched:
        patched.setattr(Path, "mkdir", made_in_vain)
        objects = [history._kept.objects.write("blob", b"%d" % number) for number in range(3)]
    assert len(removed) == 3
    assert [history._kept.objects.get(oid, "blob") for oid in objects] == [b"0", b"1", b"2"]


def test_another_process_that_was_faster_is_built_upon(vault, monkeypatch: pytest.MonkeyPatch) -> None:
    history, other = vault.open(), vault.open()
    history.commit({"a.md": b"1"}, "First", "ann", 1)
    move, raced = refs.Refs.move, []

    def slow(self: refs.Refs, ref: str, expected: str | None, new: str) -> bool:
        if not raced:
            raced.append(True)
            other.commit({"b.md": b"theirs"}, "Faster", "bob", 2)
        return move(self, ref, expected, new)

    monkeypatch.setattr(refs.Refs, "move", slow)
    commit = history.commit({"a.md": b"2"}, "Slower", "ann", 2)
    assert [entry.message for entry in history.log(None, 5).commits] == ["Slower", "Faster", "First"]
    assert history.content(commit, "b.md") == b"theirs"


_WRITER = """
import sys
from pathlib import Path
from vaults.history.git import open_history
history = open_history(Path(sys.argv[1]), Path(sys.argv[2]), "vault-1")
for number in range(int(sys.argv[4])):
    history.commit({f"{sys.argv[3]}/{number}.md": b"x" * number}, f"{sys.argv[3]} {number}", "ann", number)
    if number % 8 == 7:
        history.pack()
"""


def _writer(vault, name: str, count: int, before: str = "") -> subprocess.Popen[bytes]:
    arguments = [str(vault.root), str(vault.state), name, str(count)]
    return subprocess.Popen([sys.executable, "-c", before + _WRITER, *arguments], cwd=REPOSITORY)


def test_processes_writing_at_once_lose_nothing(vault, git_at) -> None:
    assert [writer.wait(60) for writer in [_writer(vault, name, 25) for name in ("one", "two", "three")]] == [0, 0, 0]
    log = vault.open().log(None, 100).commits
    assert sorted(entry.message for entry in log) == sorted(
        f"{n} {i}" for n in ("one", "two", "three") for i in range(25)
    )
    git_at(vault.state / "history.git")("fsck", "--strict", "--full")


_KILLED = """
import os, signal
from pathlib import Path
left = {after}
def counted(real):
    def call(*arguments, **named):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **named)
    return call
for module, name in ((os, "fsync"), (os, "replace"), (os, "rename"), (os, "mkdir"), (os, "unlink"), (Path, "unlink")):
    setattr(module, name, counted(getattr(module, name)))
"""


@pytest.mark.parametrize("after", [*range(1, 40, 4), *range(200, 300, 9)])
def test_a_kill_at_any_call_leaves_a_valid_repository(vault, git_at, after: int) -> None:
    assert _writer(vault, "x", 20, _KILLED.format(after=after)).wait(60) == -signal.SIGKILL
    lock = vault.state / "history.git/refs/strongroom/vault-1.lock"
    if lock.exists():
        os.utime(lock, (1, 1))
    history = vault.open()
    entries = history.log(None, 100).commits
    assert [entry.message for entry in entries] == [f"x {number}" for number in reversed(range(len(entries)))]
    assert all(history.content(entry.id, f"x/{entry.at}.md") == b"x" * entry.at for entry in entries)
    assert history.content(history.commit({"later.md": b"1"}, "Later", "ann", 99), "later.md") == b"1"
    git_at(vault.state / "history.git")("fsck", "--strict", "--full")
