"""A log is made to end with any database, in as many entries as that takes, and repeated for nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.vaults.cluster.logged_vault import endless_lease
from tests.vaults.cluster.memory_log import VAULT, MemoryLog
from vaults.cluster import page_transfer
from vaults.cluster.failures import Fenced
from vaults.cluster.page_log import HeldVault, PageLog
from vaults.cluster.page_transfer import begin_log, bring_up, digest_file
from vaults.cluster.restore import restore
from vaults.db.connection import Database
from vaults.db.engine import sqlite
from vaults.errors import InvalidArgument
from vaults.settings import StorageSettings

SETTINGS = StorageSettings()
PAGE = 4096


def make(path: Path, rows: int, seed: int) -> Path:
    """A database like no other, as one file."""
    path.unlink(missing_ok=True)
    chance = random.Random(seed)
    raw = sqlite.connect(path, isolation_level=None)
    raw.execute(f"PRAGMA page_size={PAGE}")
    raw.execute("PRAGMA journal_mode=WAL")
    raw.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, w BLOB)")
    raw.executemany("INSERT INTO t (w) VALUES (?)", [(chance.randbytes(chance.randrange(3000)),) for _ in range(rows)])
    raw.close()
    return path


def held_in(log: MemoryLog) -> HeldVault:
    return HeldVault(log.held, log, endless_lease())


async def begun(folder: Path) -> MemoryLog:
    log = MemoryLog()
    done = await begin_log(held_in(log), make(folder / "first.db", 20, 1), SETTINGS)
    assert done.digest == digest_file(folder / "first.db", PAGE)
    assert done.placement == log.held
    return log


@pytest.mark.parametrize("at_once", [8192, 3, 1])
async def test_the_log_ends_with_each_database_it_was_brought_up_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(page_transfer, "PAGES_AT_ONCE", at_once)
    log = await begun(tmp_path)
    for seed, rows in enumerate((40, 5, 5, 120, 1, 60)):
        wanted = make(tmp_path / "wanted.db", rows, seed)
        done = bring_up(log, log.held, wanted, PAGE)
        assert done.placement == log.held
        restored = restore(log, VAULT, tmp_path / "restored.db", log.held.head)
        assert (tmp_path / "restored.db").read_bytes() == wanted.read_bytes()
        assert restored is not None
        assert done.digest == restored.head.digest.hex() == digest_file(wanted, PAGE)
        assert done.moved > 0
    assert not list(tmp_path.glob(".comparing-*"))


async def test_what_is_the_same_appends_nothing(tmp_path: Path) -> None:
    log = await begun(tmp_path)
    head = log.held.head
    done = bring_up(log, log.held, tmp_path / "first.db", PAGE)
    assert (done.moved, log.held.head) == (0, head)
    assert done.digest == digest_file(tmp_path / "first.db", PAGE)


async def test_a_log_goes_on_after_it_was_brought_up(tmp_path: Path) -> None:
    log = await begun(tmp_path)
    bring_up(log, log.held, make(tmp_path / "wanted.db", 50, 7), PAGE)
    start = restore(log, VAULT, tmp_path / "v.db", log.held.head)
    pages = PageLog(tmp_path / "v.db", SETTINGS, held_in(log), start, lambda failure: None)
    db = Database(tmp_path / "v.db", SETTINGS, log=pages)
    await db.write(lambda tx: tx.run("DELETE FROM t WHERE n < 10"))
    await db.close()
    restore(log, VAULT, tmp_path / "again.db", log.held.head)
    raw = sqlite.connect(tmp_path / "again.db")
    assert raw.execute("SELECT MIN(n) FROM t").fetchone() == (10,)
    raw.close()


async def test_who_is_no_holder_any_more_appends_nothing(tmp_path: Path) -> None:
    log = await begun(tmp_path)
    held = log.held
    log.take_over("b")
    with pytest.raises(Fenced):
        bring_up(log, held, make(tmp_path / "wanted.db", 50, 7), PAGE)
    assert log.stored == []


async def test_a_log_that_has_not_begun_and_other_pages_are_refused(tmp_path: Path) -> None:
    empty = MemoryLog()
    with pytest.raises(InvalidArgument):
        bring_up(empty, empty.held, make(tmp_path / "wanted.db", 5, 7), PAGE)
    log = await begun(tmp_path)
    with pytest.raises(InvalidArgument):
        bring_up(log, log.held, tmp_path / "wanted.db", 2 * PAGE)
