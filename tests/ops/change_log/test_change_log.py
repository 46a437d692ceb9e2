"""The task of an open vault: what is written is in the store soon, through restarts, purges and a store that is away.

Covers ops.change_log.store, ops.change_log.failures, ops.change_log.log_shelf, ops.change_log.store_threads,
ops.change_log.upkeep.
"""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from ops.change_log import change_log
from ops.change_log.change_log import ChangeLog
from ops.change_log.follower import BaseSource, Follower
from ops.change_log.log_shelf import LogShelf
from ops.change_log.names import OWNER_FILE
from ops.change_log.points import find_point
from ops.change_log.replay import materialise
from ops.change_log.store_threads import StoreThreads
from tests.ops.change_log.log_store import MemoryStore
from tests.work import PATIENCE_S
from vaults.db.connection import Database, open_raw
from vaults.db.engine import sqlite
from vaults.db.wal_frames import WalPosition
from vaults.errors import VaultUnavailable
from vaults.settings import StorageSettings

VAULT = "0197a000-0000-7000-8000-000000000001"
SETTINGS = StorageSettings()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def shelf(store: MemoryStore, pool: ThreadPoolExecutor) -> Iterator[LogShelf]:
    with ThreadPoolExecutor(1) as stores:
        yield LogShelf(lambda: store, pool, StoreThreads(stores), SETTINGS, keep_s=3600, every_s=0.01)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_log, "RETRY_S", 0.01)


@asynccontextmanager
async def logged(path: Path, shelf: LogShelf) -> AsyncIterator[tuple[Database, ChangeLog]]:
    """A database whose log is kept."""
    log = ChangeLog(path, VAULT, shelf)
    db = Database(path, SETTINGS, log=log)
    if not path.exists():
        await db.write(lambda tx: tx.run("CREATE TABLE t (n INTEGER PRIMARY KEY, w BLOB)"))
    following = asyncio.create_task(log.follow(db))
    await until(lambda: log.is_following)
    try:
        yield db, log
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await db.close()


async def until(holds: Callable[[], object]) -> None:
    """Look again and again: what is waited for happens on other threads."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.002)


async def put(db: Database, times: int = 1, size: int = 10) -> None:
    for _ in range(times):
        await db.write(lambda tx: tx.run("INSERT INTO t (w) VALUES (randomblob(:size))", {"size": size}))


def rows(store: MemoryStore, into: Path) -> int:
    """How many rows the newest restorable state has; 0 where there is none."""
    if not any(key.endswith("base.json") for key in list(store.objects)):
        return 0
    into.unlink(missing_ok=True)
    materialise(store, VAULT, into, find_point(store, VAULT))
    raw = open_raw(into, SETTINGS, writer=False)
    assert raw.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    found: int = raw.execute("SELECT COUNT(*) FROM t").fetchone()[0]
    raw.close()
    return found


def lines_of(store: MemoryStore) -> set[str]:
    return {key.split("/")[3] for key in list(store.objects)} - {OWNER_FILE}


async def test_what_is_written_is_in_the_store_soon(tmp_path: Path, store: MemoryStore, shelf: LogShelf) -> None:
    async with logged(tmp_path / "v.db", shelf) as (db, log):
        await put(db, 5)
        await until(lambda: rows(store, tmp_path / "r.db") == 5)
        other = open_raw(db.path, SETTINGS, writer=True)  # as another process would
        other.execute("INSERT INTO t (w) VALUES ('theirs')")
        await until(lambda: rows(store, tmp_path / "r.db") == 6)
        other.close()
        assert log.figures.failure is None


async def test_a_vault_that_is_closed_and_opened_goes_on(tmp_path: Path, store: MemoryStore, shelf: LogShelf) -> None:
    for times in range(1, 4):
        async with logged(tmp_path / "v.db", shelf) as (db, log):
            await put(db, 3)
        assert rows(store, tmp_path / "r.db") == 3 * times  # the last ones by ``close``
    assert len(lines_of(store)) == 1
    assert log.figures.bases == 0
    assert not (tmp_path / "v.db-wal").exists()


async def test_a_database_changed_meanwhile_begins_another_line(
    tmp_path: Path, store: MemoryStore, shelf: LogShelf
) -> None:
    async with logged(tmp_path / "v.db", shelf) as (db, _):
        await put(db)
    raw = open_raw(db.path, SETTINGS, writer=True)
    raw.execute("INSERT INTO t (w) VALUES ('unseen')")
    raw.close()
    async with logged(tmp_path / "v.db", shelf) as (db, _):
        await until(lambda: rows(store, tmp_path / "r.db") == 2)
    assert len(lines_of(store)) == 2


async def test_a_commit_is_not_dated_by_a_write_that_changed_nothing(
    tmp_path: Path, store: MemoryStore, shelf: LogShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_000_000
    monkeypatch.setattr("ops.change_log.follower._now", lambda: now)
    async with logged(tmp_path / "v.db", shelf) as (db, log):
        # Nothing before the base can be dated, and it is read only after the log began to follow.
        await until(lambda: log.figures.bases)
        await put(db)
        await until(lambda: log.figures.commits == 1)
        await db.write(lambda tx: tx.run("DELETE FROM t WHERE n = 0"))
        now = 2_000_000
        await put(db)
        await until(lambda: log.figures.commits == 2)
        await undone(db)  # counts as a change of rows, and leaves nothing in SQLite's log
        now = 3_000_000
        await undone(db)
        written = time.monotonic()
        await until(lambda: log.figures.covered_at > written)  # by a look that began after it
        await put(db)
        await until(lambda: log.figures.commits == 3)
    assert [find_point(store, VAULT, sequence=number).time[11:19] for number in (2, 3, 4)] == [
        "00:16:40", "00:33:20", "00:50:00",
    ]  # fmt: skip


async def undone(db: Database) -> None:
    with pytest.raises(ZeroDivisionError):
        await db.write(lambda tx: (tx.run("INSERT INTO t (w) VALUES ('x')"), 1 // 0))


async def test_a_purge_empties_sqlites_log_and_the_line_goes_on(
    tmp_path: Path, store: MemoryStore, shelf: LogShelf
) -> None:
    async with logged(tmp_path / "v.db", shelf) as (db, log):
        for _ in range(4):
            await put(db, 3)
            await db.checkpoint()
            assert (tmp_path / "v.db-wal").stat().st_size == 0
        await until(lambda: rows(store, tmp_path / "r.db") == 12)
        assert log.figures.gaps == 0
    assert len(lines_of(store)) == 1


async def test_a_purge_while_a_base_is_stored_costs_that_base_alone(
    tmp_path: Path, store: MemoryStore, shelf: LogShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, is_purged, freeze = threading.Event(), threading.Event(), Follower.freeze

    def freeze_and_wait(follower: Follower) -> tuple[BaseSource, WalPosition | None]:
        frozen = freeze(follower)
        begun.set()
        is_purged.wait(PATIENCE_S)
        return frozen

    monkeypatch.setattr(Follower, "freeze", freeze_and_wait)
    async with logged(tmp_path / "v.db", shelf) as (db, log):
        await until(begun.is_set)
        await put(db, 3)
        await db.checkpoint()
        is_purged.set()
        await until(lambda: rows(store, tmp_path / "r.db") == 3)
        assert (log.figures.gaps, log.figures.failure) == (0, None)
    assert len(lines_of(store)) == 1


async def test_sqlites_log_stays_short(tmp_path: Path, store: MemoryStore, shelf: LogShelf) -> None:
    async with logged(tmp_path / "v.db", shelf) as (db, log):
        for number in range(1, 17):
            await put(db, 4, size=600_000)
            await until(lambda number=number: log.figures.commits >= 4 * number)  # type: ignore[misc]
        assert (tmp_path / "v.db-wal").stat().st_size < 25_000_000  # of 40 MB that were written
        assert log.figures.gaps == 0
    assert rows(store, tmp_path / "r.db") == 64


async def test_a_store_that_is_away_costs_no_write_and_no_commit(
    tmp_path: Path, store: MemoryStore, shelf: LogShelf
) -> None:
    async with logged(tmp_path / "v.db", shelf) as (db, log):
        await until(lambda: log.figures.bases)
        store.is_away = True
        await put(db, 3)
        await until(lambda: log.figures.failure == "vault_unavailable")
        store.is_away = False
        await until(lambda: log.figures.failure is None)
        await until(lambda: rows(store, tmp_path / "r.db") == 3)
    assert len(lines_of(store)) == 1


async def test_a_backlog_above_the_bound_is_let_go_and_answered_by_a_new_base(
    tmp_path: Path, store: MemoryStore, shelf: LogShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_log, "MAX_BACKLOG_BYTES", 200_000)
    monkeypatch.setattr("ops.change_log.follower.SEGMENT_BYTES", 50_000)
    async with logged(tmp_path / "v.db", shelf) as (db, log):
        await until(lambda: log.figures.bases)
        store.is_away = True
        await put(db, 5, size=300_000)
        await until(lambda: not log.is_following)
        await db.checkpoint()
        assert (tmp_path / "v.db-wal").stat().st_size == 0
        store.is_away = False
        await until(lambda: rows(store, tmp_path / "r.db") == 5)
    assert len(lines_of(store)) == 2


async def test_a_base_that_is_not_taken_costs_no_line(
    tmp_path: Path, store: MemoryStore, shelf: LogShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ops.change_log.upkeep.BASE_RETRY_S", 0.0)
    store.refused = "/base-"
    async with logged(tmp_path / "v.db", shelf) as (db, log):
        await until(lambda: log.figures.failure == "storage_full")
        await put(db)
        await until(lambda: log.figures.commits == 1)
        store.refused = ""
        await until(lambda: rows(store, tmp_path / "r.db") == 1)
    assert (len(lines_of(store)), log.figures.gaps) == (1, 0)


async def test_a_store_that_forbids_deleting_costs_no_line(
    tmp_path: Path, store: MemoryStore, shelf: LogShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ops.change_log.upkeep.MIN_LINE_BYTES", 1000)
    monkeypatch.setattr("ops.change_log.upkeep.PRUNE_S", 0.0)
    monkeypatch.setattr("ops.change_log.steady_clock.PROBATION_S", 0.0)
    store.forbids_deleting = True
    async with logged(tmp_path / "v.db", replace(shelf, keep_s=0)) as (db, log):
        await until(lambda: log.figures.bases)
        await put(db, size=30_000)
        await until(lambda: log.figures.failure == "forbidden")
        store.forbids_deleting = False
        await until(lambda: len([key for key in list(store.objects) if key.endswith("base.json")]) == 1)
        await put(db)
    assert (len(lines_of(store)), rows(store, tmp_path / "r.db")) == (1, 2)


async def test_of_two_that_log_one_vault_id_the_one_before_stands_aside(
    tmp_path: Path, store: MemoryStore, shelf: LogShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a data folder was copied and both are served, with one bucket."""
    monkeypatch.setattr("ops.change_log.shipper.ASK_S", 0.0)
    async with logged(tmp_path / "v.db", shelf) as (db, log):
        await put(db, 3)
        await until(lambda: rows(store, tmp_path / "r.db") == 3)
        for end in ("", "-wal"):
            shutil.copyfile(tmp_path / f"v.db{end}", tmp_path / f"copy.db{end}")
        async with logged(tmp_path / "copy.db", shelf) as (theirs, other):
            await put(db, 4)
            await until(lambda: log.figures.failure == "conflict" and not log.is_following)
            await put(theirs, 2)
            await until(lambda: rows(store, tmp_path / "r.db") == 5)
            assert log.is_wanted, "what it does not store counts as behind"
            assert other.figures.failure is None


async def test_nothing_is_deleted_by_a_clock_that_was_put(
    tmp_path: Path, store: MemoryStore, shelf: LogShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ops.change_log.upkeep.MIN_LINE_BYTES", 1000)
    monkeypatch.setattr("ops.change_log.upkeep.PRUNE_S", 0.0)
    async with logged(tmp_path / "v.db", replace(shelf, keep_s=0)) as (db, log):
        for bases in (1, 2, 3):
            await until(lambda bases=bases: log.figures.bases >= bases)  # type: ignore[misc]
            await put(db, 5, size=30_000 * bases)  # more than that base holds
    assert len([key for key in list(store.objects) if key.endswith("base.json")]) == log.figures.bases


async def test_a_store_that_hangs_keeps_neither_sqlites_log_nor_calls(
    tmp_path: Path, store: MemoryStore, shelf: LogShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_log, "MAX_BACKLOG_BYTES", 200_000)
    async with logged(tmp_path / "v.db", shelf) as (db, log):
        await until(lambda: log.figures.bases)
        store.answers.clear()
        try:
            stored, follower = 0, log._follower
            async with asyncio.timeout(PATIENCE_S):
                while (
                    follower is not None and not follower.is_lost
                ):  # what was read before the store hung does not count
                    await put(db, size=300_000)
                    stored += 1
                while (tmp_path / "v.db-wal").stat().st_size:  # it is let go a moment later
                    await db.checkpoint()
        finally:
            store.answers.set()  # what fails here must not hang
        await until(lambda: rows(store, tmp_path / "r.db") == stored)
    assert len(lines_of(store)) == 2


async def test_closing_does_not_queue_up_behind_a_store_that_hangs(
    tmp_path: Path, store: MemoryStore, shelf: LogShelf
) -> None:
    opened = logged(tmp_path / "v.db", shelf)
    db, log = await opened.__aenter__()
    await until(lambda: log.figures.bases)
    store.answers.clear()
    asked = store.asked
    hanging = asyncio.create_task(shelf.stores.run(store.settle, lambda: True))  # another vault's
    await until(lambda: store.asked > asked)
    await put(db)
    await until(shelf.stores._pool._work_queue.qsize)  # type: ignore[attr-defined]
    closing = asyncio.create_task(opened.__aexit__(None, None, None))
    await until(lambda: log._is_ending)
    asked, store.is_away = store.asked, True
    store.answers.set()
    await closing
    with pytest.raises(VaultUnavailable):
        await hanging
    assert store.asked == asked


async def test_a_purge_beside_a_reader_empties_sqlites_log_once_it_has_read(
    tmp_path: Path, store: MemoryStore, shelf: LogShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with logged(tmp_path / "v.db", shelf) as (db, log):
        await put(db)
        reader = open_raw(db.path, SETTINGS, writer=False)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM t").fetchall()
        await put(db)
        monkeypatch.setattr(change_log, "RENEW_FOR_S", PATIENCE_S)
        monkeypatch.setattr(change_log, "pause", lambda: reader.in_transaction and reader.rollback())
        await db.checkpoint()
        assert (tmp_path / "v.db-wal").stat().st_size == 0
        reader.close()
        await put(db)
        await until(lambda: rows(store, tmp_path / "r.db") == 3)
        assert log.figures.gaps == 0


async def test_another_process_that_purges_need_not_wait_long(
    tmp_path: Path, store: MemoryStore, shelf: LogShelf
) -> None:
    async with logged(tmp_path / "v.db", shelf) as (db, log):
        other = open_raw(db.path, StorageSettings(busy_timeout_ms=30_000), writer=True)
        for number in range(1, 4):
            await put(db)
            other.execute("INSERT INTO t (w) VALUES ('theirs')")
            emptied = await asyncio.to_thread(lambda: other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone())
            assert (emptied, (tmp_path / "v.db-wal").stat().st_size) == ((0, 0, 0), 0)
            await until(lambda number=number: rows(store, tmp_path / "r.db") == 2 * number)  # type: ignore[misc]
        other.close()
        assert (log.figures.gaps, len(lines_of(store))) == (0, 1)


async def test_a_long_line_gets_another_base(
    tmp_path: Path, store: MemoryStore, shelf: LogShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ops.change_log.upkeep.MIN_LINE_BYTES", 1000)
    async with logged(tmp_path / "v.db", shelf) as (db, log):
        await until(lambda: log.figures.bases)
        for number in range(1, 30):
            await put(db, size=3000)
            await until(lambda number=number: log.figures.commits >= number)  # type: ignore[misc]
        await until(lambda: log.figures.bases > 1)
    assert len(lines_of(store)) == 1
    assert rows(store, tmp_path / "r.db") == 29


async def test_a_database_rewritten_whole_begins_another_line(
    tmp_path: Path, store: MemoryStore, shelf: LogShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ops.change_log.recorder.MAX_COMMIT_BYTES", 100_000)
    async with logged(tmp_path / "v.db", shelf) as (db, log):
        await put(db, 1, size=50_000)
        await until(lambda: log.figures.commits == 1)
        await put(db, 1, size=200_000)
        await until(lambda: log.figures.gaps == 1)
        await until(lambda: rows(store, tmp_path / "r.db") == 2)
    assert len(lines_of(store)) == 2


async def test_readers_and_writers_go_on_while_nothing_can_be_logged(
    tmp_path: Path, store: MemoryStore, shelf: LogShelf
) -> None:
    store.is_away = True
    log = ChangeLog(tmp_path / "v.db", VAULT, shelf)
    db = Database(tmp_path / "v.db", SETTINGS, log=log)
    await db.write(lambda tx: tx.run("CREATE TABLE t (n INTEGER PRIMARY KEY, w BLOB)"))
    following = asyncio.create_task(log.follow(db))
    await until(lambda: log.figures.failure)
    await put(db, 3)
    await db.checkpoint()
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    await db.close()
    raw = sqlite.connect(db.path)
    assert raw.execute("SELECT COUNT(*) FROM t").fetchone() == (3,)
    raw.close()
