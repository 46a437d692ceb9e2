"""Group commit, isolation of failures, cancellation, closing.

Covers vaults.db.sql, vaults.db.transactions.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path

import pytest

from tests.work import PATIENCE_S
from vaults.db.connection import Database
from vaults.db.engine import is_safe, sqlite
from vaults.db.sql import Writer
from vaults.errors import ReadOnly, VaultUnavailable
from vaults.settings import StorageSettings


class Counting:
    """An observer that notes the size of each group commit."""

    def __init__(self) -> None:
        self.groups: list[int] = []

    def on_commit(self, writes: int, seconds: float) -> None:
        self.groups.append(writes)


@pytest.fixture
async def observer() -> Counting:
    return Counting()


@pytest.fixture
async def db(tmp_path: Path, observer: Counting) -> AsyncIterator[Database]:
    database = Database(tmp_path / "t.db", StorageSettings(), observer)  # type: ignore[arg-type]
    await database.write(lambda tx: tx.run("CREATE TABLE t (n INTEGER PRIMARY KEY, w TEXT)"))
    yield database
    await database.close()


def _put(n: int) -> object:
    return lambda tx: tx.run("INSERT INTO t VALUES (?, 'x')", (n,))


async def _count(db: Database) -> int:
    return int(await db.read(lambda tx: tx.value("SELECT COUNT(*) FROM t")))


async def test_concurrent_writes_share_commits(db: Database, observer: Counting) -> None:
    await asyncio.gather(*(db.write(_put(n)) for n in range(200)))  # type: ignore[arg-type]
    assert await _count(db) == 200
    assert max(observer.groups) > 10
    assert sum(observer.groups) == 201


async def test_a_failing_write_is_undone_alone(db: Database) -> None:
    def broken(tx: Writer) -> None:
        tx.run("INSERT INTO t VALUES (1000, 'x')")
        raise ValueError("no")

    outcomes = await asyncio.gather(
        db.write(_put(1)),
        db.write(broken),
        db.write(_put(2)),
        return_exceptions=True,  # type: ignore[arg-type]
    )
    assert isinstance(outcomes[1], ValueError)
    assert await db.read(lambda tx: tx.all("SELECT n FROM t")) == [(1,), (2,)]


async def test_a_failing_write_by_itself_is_undone_and_counts_as_no_change(db: Database) -> None:
    def broken(tx: Writer) -> None:
        tx.run("INSERT INTO t VALUES (1000, 'x')")
        raise ValueError("no")

    before = await db.read(lambda tx: tx.version())
    for write in (db.write, db.write_exclusive):
        with pytest.raises(ValueError, match="no"):
            await write(broken)
    assert await db.read(lambda tx: (tx.version(), tx.all("SELECT n FROM t"))) == (before, [])
    await db.write(_put(1))  # type: ignore[arg-type]
    assert await db.read(lambda tx: tx.all("SELECT n FROM t")) == [(1,)]


async def test_a_write_alone_shares_its_transaction_with_nobody(db: Database, observer: Counting) -> None:
    several = [db.write(_put(1)), db.write(_put(2)), db.write_exclusive(_put(3)), db.write(_put(4)), db.write(_put(5))]  # type: ignore[arg-type]
    await asyncio.gather(*several)
    assert observer.groups == [1, 2, 1, 2]
    assert await _count(db) == 5


async def test_a_cancelled_caller_leaves_the_write_whole_or_absent(db: Database) -> None:
    entered, go = threading.Event(), threading.Event()

    def slow(tx: Writer) -> None:
        tx.run("INSERT INTO t VALUES (1, 'a')")
        entered.set()
        go.wait(PATIENCE_S)
        tx.run("INSERT INTO t VALUES (2, 'b')")

    begun = asyncio.create_task(db.write(slow))
    await asyncio.to_thread(entered.wait, PATIENCE_S)
    queued = asyncio.create_task(db.write(_put(3)))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    begun.cancel()
    queued.cancel()
    go.set()
    await asyncio.gather(begun, queued, return_exceptions=True)
    await db.write(_put(4))  # type: ignore[arg-type]
    rows = [row[0] for row in await db.read(lambda tx: tx.all("SELECT n FROM t ORDER BY n"))]
    assert rows[:2] == [1, 2]
    assert 4 in rows


async def test_readers_cannot_write(db: Database) -> None:
    with pytest.raises(ReadOnly):
        await db.read(lambda tx: tx._connection.execute("INSERT INTO t VALUES (9, 'x')"))


async def test_a_read_sees_one_snapshot(db: Database) -> None:
    first, second = threading.Event(), threading.Event()

    def twice(tx: object) -> tuple[int, int]:
        before = tx.value("SELECT COUNT(*) FROM t")  # type: ignore[attr-defined]
        first.set()
        second.wait(PATIENCE_S)
        return before, tx.value("SELECT COUNT(*) FROM t")  # type: ignore[attr-defined]

    reading = asyncio.create_task(db.read(twice))
    await asyncio.to_thread(first.wait, PATIENCE_S)
    await db.write(_put(1))  # type: ignore[arg-type]
    second.set()
    assert await reading == (0, 0)


async def test_close_finishes_what_was_accepted_and_refuses_the_rest(tmp_path: Path) -> None:
    database = Database(tmp_path / "c.db", StorageSettings())
    await database.write(lambda tx: tx.run("CREATE TABLE t (n INTEGER)"))
    pending = [asyncio.create_task(database.write(lambda tx: tx.run("INSERT INTO t VALUES (1)"))) for _ in range(20)]
    await asyncio.sleep(0)
    await database.close()
    await asyncio.gather(*pending)
    with pytest.raises(VaultUnavailable):
        await database.read(lambda tx: tx.value("SELECT 1"))
    await database.close()
    again = Database(tmp_path / "c.db", StorageSettings())
    assert await again.read(lambda tx: tx.value("SELECT COUNT(*) FROM t")) == 20
    await again.close()


async def test_open_and_close_leave_no_descriptor_and_no_thread(tmp_path: Path) -> None:
    async def round_trip() -> None:
        database = Database(tmp_path / "d.db", StorageSettings())
        await database.write(lambda tx: tx.run("CREATE TABLE IF NOT EXISTS t (n INTEGER)"))
        await asyncio.gather(*(database.read(lambda tx: tx.value("SELECT 1")) for _ in range(4)))
        await database.close()

    await round_trip()
    descriptors, threads = len(list(Path("/proc/self/fd").iterdir())), threading.active_count()
    for _ in range(20):
        await round_trip()
    assert len(list(Path("/proc/self/fd").iterdir())) <= descriptors
    assert threading.active_count() <= threads


@pytest.mark.parametrize("ended", [Database.close, Database.rest])
@pytest.mark.parametrize("steps", range(1, 6))
async def test_closing_that_is_cancelled_leaves_no_thread(
    tmp_path: Path, ended: Callable[[Database], Coroutine[None, None, None]], steps: int
) -> None:
    others = set(threading.enumerate())
    database = Database(tmp_path / "e.db", StorageSettings())
    await database.write(lambda tx: tx.run("CREATE TABLE t (n INTEGER)"))
    together = threading.Barrier(2)
    await asyncio.gather(*(database.read(lambda _: together.wait(PATIENCE_S)) for _ in range(2)))
    ending = asyncio.create_task(ended(database))
    for _ in range(steps):
        await asyncio.sleep(0)
    ending.cancel()
    await asyncio.gather(ending, return_exceptions=True)
    async with asyncio.timeout(PATIENCE_S):
        await database.close()
    assert set(threading.enumerate()) <= others


async def test_the_writer_is_durable_and_careful(db: Database) -> None:
    def pragmas(raw: sqlite.Connection) -> dict[str, object]:
        names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout", "secure_delete")
        return {name: raw.execute(f"PRAGMA {name}").fetchone()[0] for name in names}

    assert await db.run_on_writer(pragmas) == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 5000,
        "secure_delete": 1,
    }


@pytest.mark.skipif(not is_safe(), reason="no wheel with a current SQLite for this platform")
def test_the_linked_sqlite_has_the_wal_reset_fix() -> None:
    assert tuple(sqlite.sqlite_version_info) >= (3, 51, 3)
