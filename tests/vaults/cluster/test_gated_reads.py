"""What SQLite shows before it is in the log is answered to nobody, nor is anything once the vault may be elsewhere.

Covers vaults.cluster.page_log, vaults.db.connection.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from pathlib import Path

import pytest

from tests.vaults.cluster.logged_vault import SETTINGS
from tests.vaults.cluster.memory_log import MemoryLog
from tests.work import PATIENCE_S
from vaults.cluster.failures import Fenced, LogUnavailable
from vaults.cluster.held_lease import HeldLease
from vaults.cluster.page_log import HeldVault, PageLog
from vaults.cluster.restore import restore
from vaults.db.connection import Database
from vaults.db.sql import Reader
from vaults.errors import StrongroomError, VaultUnavailable


class Opened:
    """A database with a log that can be held up while it appends, and the lease it depends on."""

    def __init__(self, folder: Path) -> None:
        self.appending, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()
        self.log = MemoryLog(on_append=self._hold_up)
        self.now = 0.0
        self.lease = HeldLease(10.0, lambda: self.now)
        self.lease.renew(0.0)
        self.lost: list[StrongroomError] = []
        held = HeldVault(self.log.held, self.log, self.lease)
        self.pages = PageLog(folder / "v.db", SETTINGS, held, None, self.lost.append)
        self.db = Database(folder / "v.db", SETTINGS, log=self.pages)

    def _hold_up(self, seq: int) -> None:
        self.appending.set()
        assert self.go_on.wait(PATIENCE_S)

    async def insert(self) -> None:
        await self.db.write(lambda tx: tx.run("INSERT INTO t (w) VALUES ('a')"))


@pytest.fixture
async def opened(tmp_path: Path):
    opened = Opened(tmp_path)
    await opened.db.write(lambda tx: tx.run("CREATE TABLE t (w TEXT)"))
    opened.appending.clear()
    yield opened
    opened.go_on.set()
    await opened.db.close()


def count(tx: Reader) -> int:
    return int(tx.value("SELECT count(*) FROM t"))


async def test_a_read_waits_for_the_append_of_what_it_saw(opened: Opened) -> None:
    opened.go_on.clear()
    writing = asyncio.create_task(opened.insert())
    await asyncio.to_thread(opened.appending.wait, PATIENCE_S)
    seen: queue.Queue[int] = queue.Queue()
    reading = asyncio.create_task(opened.db.read(lambda tx: seen.put(count(tx))))
    assert await asyncio.to_thread(seen.get, timeout=PATIENCE_S) == 1
    assert not reading.done()
    opened.go_on.set()
    await asyncio.gather(writing, reading)


async def test_what_was_not_appended_is_read_by_nobody(opened: Opened) -> None:
    opened.log.is_away = True
    with pytest.raises(LogUnavailable):
        await opened.insert()
    with pytest.raises(LogUnavailable):
        await opened.db.read(count)
    with pytest.raises(VaultUnavailable):
        opened.pages.refuse_if_lost()
    assert len(opened.lost) == 1


async def test_a_read_of_a_fenced_holder_is_refused(opened: Opened) -> None:
    opened.log.take_over("b")
    with pytest.raises(Fenced):
        await opened.insert()
    with pytest.raises(Fenced):
        await opened.db.read(count)


async def test_nothing_is_answered_once_the_lease_is_over(opened: Opened) -> None:
    assert await opened.db.read(count) == 0
    opened.now = 11.0
    with pytest.raises(LogUnavailable):
        await opened.db.read(count)
    with pytest.raises(LogUnavailable):
        await opened.db.write(count)  # which appends nothing that would prove it
    with pytest.raises(LogUnavailable):
        opened.pages.refuse_if_lost()
    await opened.insert()  # an append needs no lease
    opened.lease.renew(11.0)
    assert await opened.db.read(count) == 1


async def test_a_read_that_found_nothing_is_refused_as_well(opened: Opened) -> None:
    opened.now = 11.0
    with pytest.raises(LogUnavailable):
        await opened.db.read(lambda tx: tx.one("SELECT 1 FROM nowhere"))


async def test_a_group_that_fails_as_a_whole_keeps_no_read_waiting(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(opened.pages, "before_commit", lambda: (PageLog.before_commit(opened.pages), 1 / 0))
        with pytest.raises(ZeroDivisionError):
            await opened.insert()
    assert await opened.db.read(count) == 0


async def test_files_that_are_not_what_the_log_ends_with_are_never_read(tmp_path: Path, opened: Opened) -> None:
    await opened.insert()
    await opened.db.close()
    other = Database(tmp_path / "v.db", SETTINGS)
    await other.write(lambda tx: tx.run("INSERT INTO t (w) VALUES ('never logged')"))
    await other.close()
    start = restore(opened.log, opened.log.held.vault, tmp_path / "elsewhere.db", opened.log.held.head)
    held = HeldVault(opened.log.held, opened.log, opened.lease)
    again = Database(
        tmp_path / "v.db", SETTINGS, log=PageLog(tmp_path / "v.db", SETTINGS, held, start, lambda failure: None)
    )
    with pytest.raises(VaultUnavailable):
        await again.read(count)
    await again.close()
