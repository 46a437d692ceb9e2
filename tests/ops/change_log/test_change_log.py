"""The task of an open vault: what is written is in the store soon, through restarts, purges and a store that is away.

Covers ops.change_log.store, ops.change_log.failures.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ops.change_log import change_log
from ops.change_log.change_log import ChangeLog, LogShelf
from ops.change_log.points import find_point
from ops.change_log.replay import materialise
from tests.ops.change_log.log_store import MemoryStore
from tests.work import PATIENCE_S
from vaults.db.connection import Database, open_raw
from vaults.db.engine import sqlite
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
def shelf(store: MemoryStore, pool: ThreadPoolExecutor) -> LogShelf:
    return LogShelf(lambda: store, pool, SETTINGS, keep_s=3600, every_s=0.01)


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
    if not any(key.endswith("base.json") for key in store.objects):
        return 0
    into.unlink(missing_ok=True)
    materialise(store, VAULT, into, find_point(store, VAULT))
    raw = open_raw(into, SETTINGS, writer=False)
    assert raw.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    found: int = raw.execute("SELECT COUNT(*) FROM t").fetchone()[0]
    raw.close()
    return found


def lines_of(store: MemoryStore) -> set[str]:
    return {key.split("/")[3] for key in store.objects}


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


async def test_sqlites_log_stays_short(tmp_path: Path, store: MemoryStore, shelf: LogShelf) -> None:
    async with logged(tmp_path / "v.db", shelf) as (db, log):
        for number in range(1, 9):
            await put(db, 4, size=600_000)
            await until(lambda number=number: log.figures.commits >= 4 * number)  # type: ignore[misc]
        assert (tmp_path / "v.db-wal").stat().st_size < 15_000_000  # of 20 MB that were written
        assert log.figures.gaps == 0
    assert rows(store, tmp_path / "r.db") == 32


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


async def test_a_long_line_gets_another_base(
    tmp_path: Path, store: MemoryStore, shelf: LogShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_log, "MIN_LINE_BYTES", 1000)
    async with logged(tmp_path / "v.db", shelf) as (db, log):
        for number in range(1, 30):
            await put(db, size=3000)
            await until(lambda number=number: log.figures.commits >= number)  # type: ignore[misc]
        assert log.figures.bases > 1
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
