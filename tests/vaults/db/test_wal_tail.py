"""Following SQLite's log: nothing is missed whoever commits or checkpoints, and a gap is told.

Covers vaults.db.open_file, vaults.db.commit_log.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from vaults.db import open_file
from vaults.db.commit_log import NoCommitLog
from vaults.db.connection import Database, open_raw
from vaults.db.engine import sqlite
from vaults.db.open_file import OpenFile
from vaults.db.wal_tail import WalGap, WalTail
from vaults.errors import VaultUnavailable
from vaults.settings import StorageSettings

SETTINGS = StorageSettings(busy_timeout_ms=50)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


@pytest.fixture
def raw(path: Path) -> Iterator[sqlite.Connection]:
    raw = open_raw(path, SETTINGS, writer=True)
    raw.execute("CREATE TABLE t (w TEXT)")
    yield raw
    raw.close()


@pytest.fixture
def tail(path: Path, raw: sqlite.Connection) -> Iterator[WalTail]:
    tail = WalTail(path, SETTINGS)
    tail.hold(raw)
    tail.start_from(None)
    count(tail)
    yield tail
    tail.close()


def count(tail: WalTail) -> int:
    """How many commits there were since the last time."""
    found = 0
    for commit in tail.read():
        assert list(tail.pages_of(commit))
        tail.step(commit)
        found += 1
    return found


def put(raw: sqlite.Connection, times: int = 1) -> None:
    for _ in range(times):
        raw.execute("INSERT INTO t VALUES ('x')")


def checkpoint(raw: sqlite.Connection, mode: str) -> None:
    raw.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()


@pytest.mark.parametrize("mode", ["PASSIVE", "FULL", "RESTART", "TRUNCATE"])
def test_nobody_starts_the_log_over_before_it_was_read(
    path: Path, raw: sqlite.Connection, tail: WalTail, mode: str
) -> None:
    other = open_raw(path, SETTINGS, writer=True)
    for _ in range(5):
        put(raw, 2)
        checkpoint(other, mode)
        put(other, 3)
        checkpoint(raw, mode)
    assert count(tail) == 25
    other.close()


@pytest.mark.parametrize("mode", ["PASSIVE", "RESTART", "TRUNCATE"])
def test_a_log_that_is_let_start_over_does(path: Path, raw: sqlite.Connection, tail: WalTail, mode: str) -> None:
    other = open_raw(path, SETTINGS, writer=True)
    salts = set()
    for _ in range(6):
        put(raw, 3)
        with tail.renewing(raw):
            assert count(tail) == 3
        checkpoint(other, mode)
        put(other, 2)
        checkpoint(raw, mode)
        assert count(tail) == 2
        assert tail.position is not None
        salts.add(tail.position.header.salts)
    assert len(salts) == 6
    other.close()


def test_what_was_read_is_moved_while_others_write_on(path: Path, raw: sqlite.Connection, tail: WalTail) -> None:
    other = open_raw(path, SETTINGS, writer=True)
    for _ in range(4):
        put(raw, 3)
        assert count(tail) == 3
        put(other)  # after it was read, and before it is moved
        tail.refresh()
        tail.move()
        checkpoint(other, "TRUNCATE")
        _, frames, moved = raw.execute("PRAGMA wal_checkpoint(NOOP)").fetchone()
        assert frames >= moved >= 3
        put(raw)
        assert count(tail) == 2
        with tail.renewing(raw):
            assert count(tail) == 0
    other.close()


def test_a_log_that_was_started_over_since_it_was_read_is_followed(raw: sqlite.Connection, tail: WalTail) -> None:
    for _ in range(3):
        put(raw, 2)
        with tail.renewing(raw):
            assert count(tail) == 2
        assert tail.may_restart
        put(raw)
        tail.refresh()
        tail.move()
        put(raw)
        assert count(tail) == 2


def test_an_emptied_log_is_empty(path: Path, raw: sqlite.Connection, tail: WalTail) -> None:
    put(raw)
    with tail.renewing(raw):
        count(tail)
    checkpoint(raw, "TRUNCATE")
    assert path.with_name("t.db-wal").stat().st_size == 0
    assert count(tail) == 0
    put(raw)
    assert count(tail) == 1


@pytest.mark.parametrize("moved", [False, True])
def test_pages_frozen_apart_stay_as_they_were_whatever_becomes_of_the_log(
    path: Path, raw: sqlite.Connection, moved: bool
) -> None:
    put(raw, 40)
    tail = WalTail(path, SETTINGS)
    tail.hold(raw)
    tail.start_from(None)
    tail.skip_to_end()
    if moved:
        checkpoint(raw, "PASSIVE")  # all of it, and yet the tail knows where each page stands in the log
    numbers = range(1, tail.size + 1)
    before = [tail.page(number) for number in numbers]
    frozen, held = tail.freeze_apart()
    tail.close()
    for mode in ("PASSIVE", "TRUNCATE", "PASSIVE", "RESTART"):
        put(raw, 60)
        checkpoint(raw, mode)
    assert [frozen.page(number) for number in numbers] == before
    held.close()


def test_a_log_that_was_started_over_unread_is_a_gap(path: Path, raw: sqlite.Connection, tail: WalTail) -> None:
    put(raw)
    tail._held.execute("ROLLBACK")  # what nothing here does without reading first
    checkpoint(raw, "TRUNCATE")
    put(raw, 2)
    with pytest.raises(WalGap):
        count(tail)


def test_what_another_process_commits_is_read(path: Path, raw: sqlite.Connection, tail: WalTail) -> None:
    program = (
        f"import sqlite3; c = sqlite3.connect({str(path)!r}, isolation_level=None, timeout=0.05)\n"
        "for n in range(7): c.execute('INSERT INTO t VALUES (1)')\n"
        "c.execute('PRAGMA wal_checkpoint(TRUNCATE)')"
    )
    subprocess.run([sys.executable, "-I", "-c", program], check=True)
    put(raw)
    assert count(tail) == 8


def test_a_log_left_by_a_killed_process_goes_on_where_it_was(path: Path, raw: sqlite.Connection) -> None:
    put(raw, 3)
    tail = WalTail(path, SETTINGS)
    tail.hold(raw)
    tail.start_from(None)
    count(tail)
    known = tail.position
    tail.close()
    put(raw, 2)
    again = WalTail(path, SETTINGS)
    again.hold(raw)
    again.start_from(known)
    assert count(again) == 2
    again.close()


def test_a_file_nobody_has_open_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x" * 10)
    with pytest.raises(VaultUnavailable):
        OpenFile(path).read(0, 10)
    with path.open("rb"):
        file = OpenFile(path)
        assert file.read(4, 3) == b"xxx"
    with (tmp_path / "g").open("wb"), pytest.raises(VaultUnavailable):  # which got the number of the closed one
        file.read(0, 10)


def test_a_file_that_is_opened_next_is_found_without_a_look_at_all_that_are_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x" * 10)
    monkeypatch.setattr(open_file, "DESCRIPTORS", tmp_path / "none")
    file = OpenFile(path)
    with path.open("rb"):
        assert file.read(4, 3) == b"xxx"


class CountingLog(NoCommitLog):
    def __init__(self) -> None:
        self.told: list[str] = []

    def after_open(self, raw: sqlite.Connection) -> None:
        assert not raw.in_transaction
        self.told.append("open")

    def after_commit(self, raw: sqlite.Connection) -> None:
        assert not raw.in_transaction
        self.told.append("commit")

    def before_checkpoint(self, raw: sqlite.Connection) -> None:
        assert not raw.in_transaction
        self.told.append("checkpoint")

    async def close(self) -> None:
        self.told.append("close")


async def test_a_log_is_told_of_commits_before_they_are_answered(path: Path) -> None:
    log = CountingLog()
    db = Database(path, StorageSettings(), log=log)
    await db.write(lambda tx: tx.run("CREATE TABLE t (w TEXT)"))
    assert log.told == ["open", "commit"]
    with pytest.raises(ZeroDivisionError):
        await db.write(lambda tx: 1 // 0)
    log.told.clear()
    await db.checkpoint()
    with pytest.raises(ZeroDivisionError):  # it may have committed something before
        await db.run_on_writer(lambda raw: 1 // 0)
    await db.close()
    assert log.told == ["checkpoint", "commit", "commit", "close"]


async def test_a_log_that_refuses_a_connection_has_it_closed(path: Path) -> None:
    class Refusing(CountingLog):
        def after_open(self, raw: sqlite.Connection) -> None:
            super().after_open(raw)
            raise VaultUnavailable("not now")

    log = Refusing()
    db = Database(path, StorageSettings(), log=log)
    with pytest.raises(VaultUnavailable, match="not now"):
        await db.write(lambda tx: tx.run("CREATE TABLE t (w TEXT)"))
    with pytest.raises(VaultUnavailable, match="not now"):
        await db.run_on_writer(lambda raw: raw.execute("CREATE TABLE t (w TEXT)"))
    assert await db.read(lambda tx: tx.all("SELECT * FROM sqlite_schema")) == []
    await db.close()
    assert log.told == ["open", "open", "close"]
