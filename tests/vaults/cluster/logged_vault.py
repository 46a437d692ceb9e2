"""A database whose commits go to a log in memory, and what it was at each of them, byte for byte.

Covers nothing by itself: used by the tests of the cluster.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.vaults.cluster.memory_log import VAULT, MemoryLog
from tests.vaults.db.raw_steps import RawSteps
from vaults.cluster.held_lease import HeldLease
from vaults.cluster.log_replay import RestoredLog
from vaults.cluster.page_log import HeldVault, PageLog
from vaults.cluster.rebasing import rebase
from vaults.cluster.restore import drop_local, restore
from vaults.db.connection import Database, open_raw
from vaults.db.engine import sqlite
from vaults.db.open_file import OpenFile
from vaults.errors import StrongroomError
from vaults.settings import StorageSettings

SETTINGS = StorageSettings(busy_timeout_ms=50)


made: list[LoggedVault] = []
"""By the test that runs. ``conftest.py`` closes them, also where it failed: their threads would keep the run alive."""


def endless_lease() -> HeldLease:
    lease = HeldLease(86_400.0)
    lease.renew(lease.clock())
    return lease


class LoggedVault:
    """``open`` first."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "v.db"
        self.log = MemoryLog(on_append=self.keep)
        self.states: dict[int, tuple[bytes, bytes]] = {}
        """The file and SQLite's log beside it after each entry, as they stood on the disk when it was appended."""
        self.lost: list[StrongroomError] = []
        self.readers: list[sqlite.Connection] = []
        self.databases: list[Database] = []
        made.append(self)

    async def open(self, *, anew: bool = False) -> None:
        """With the files there are, or with those that the log makes."""
        into = self.path if anew else self.folder / "elsewhere.db"
        await self.open_as(restore(self.log, VAULT, into, self.log.held.head))

    async def open_as(self, start: RestoredLog | None) -> None:
        """With the files there are, which are as of ``start``."""
        self.connect(start)
        await self.db.run_on_writer(lambda raw: raw.execute("PRAGMA cache_size=5").fetchall())

    def connect(self, start: RestoredLog | None) -> None:
        """``open_as``, before anything is read."""
        self.pages = self.page_log(start)
        self.db = Database(self.path, SETTINGS, log=self.pages)
        self.databases.append(self.db)

    def page_log(self, start: RestoredLog | None) -> PageLog:
        return PageLog(
            self.path, SETTINGS, HeldVault(self.log.held, self.log, endless_lease()), start, self.lost.append
        )

    async def close(self) -> None:
        self.let_readers_go()
        while self.databases:
            await self.databases.pop().close()

    async def open_elsewhere(self) -> None:
        """Another server takes the vault over, with nothing but the log."""
        await self.close()
        drop_local(self.path)
        self.log.take_over(random.choice("abc"))
        await self.open(anew=True)

    async def rebase(self, *, is_due: bool = False) -> bool:
        if is_due:
            self.pages._sizes.appended += 2**40
        with ThreadPoolExecutor(1) as pool:
            return await rebase(self.db, self.pages, pool)

    def hold_reader(self) -> None:
        """A connection that reads, and keeps what it saw."""
        raw = open_raw(self.path, SETTINGS, writer=False)
        raw.execute("BEGIN")
        raw.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone()
        self.readers.append(raw)

    def let_readers_go(self) -> None:
        while self.readers:
            self.readers.pop().close()

    def keep(self, seq: int) -> None:
        wal = self.path.with_name(f"{self.path.name}-wal")
        self.states[seq] = OpenFile(self.path).read(0, 2**30), wal.read_bytes()

    def image(self, seq: int) -> bytes:
        """Every page as SQLite makes it of what was on the disk."""
        copy = self.folder / "image.db"
        drop_local(copy)
        file, wal = self.states[seq]
        copy.write_bytes(file)
        copy.with_name("image.db-wal").write_bytes(wal)
        raw = sqlite.connect(copy, isolation_level=None)
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        raw.close()
        return copy.read_bytes()

    def restored(self, seq: int) -> bytes:
        into = self.folder / "restored.db"
        found = restore(self.log.as_of(seq), VAULT, into, seq)
        assert found is not None
        assert found.head.seq == seq
        return into.read_bytes()

    def check_every_entry(self) -> None:
        assert not self.lost
        assert [each.seq for each in self.log.stored] == list(range(1, self.log.held.head + 1))
        for each in self.log.stored:
            restored = self.restored(each.seq)
            sound = open_raw(self.folder / "restored.db", SETTINGS, writer=False)
            assert sound.execute("PRAGMA integrity_check").fetchone() == ("ok",), each.seq
            sound.close()
            assert each.seq not in self.states or restored == self.image(each.seq), each.seq


class Script:
    """Steps by name, each with a seed, on a vault that is open."""

    def __init__(self, vault: LoggedVault) -> None:
        self.vault = vault
        self._steps = RawSteps()

    async def begin(self) -> None:
        await self.vault.db.write(lambda tx: tx.run("CREATE TABLE t (n INTEGER PRIMARY KEY, w BLOB)"))
        await self.vault.db.write(lambda tx: tx.run("CREATE INDEX t_w ON t (w)"))

    async def run(self, verb: str, seed: int) -> None:
        """One step. What a held reader stands in the way of does nothing."""
        chance = random.Random(seed)
        on_vault = getattr(self, f"on_{verb}", None)
        if on_vault is not None:
            await on_vault(chance)
        else:
            await self.vault.db.run_on_writer(lambda raw: self._steps.run(verb, raw, chance))

    async def on_group(self, chance: random.Random) -> None:
        async def one(size: int) -> None:
            data = chance.randbytes(size)
            await self.vault.db.write(lambda tx: tx.run("INSERT INTO t (w) VALUES (?)", (data,)))

        await asyncio.gather(*(one(chance.randrange(3000)) for _ in range(5)))

    async def on_failing(self, chance: random.Random) -> None:
        with contextlib.suppress(ZeroDivisionError):
            await self.vault.db.write(lambda tx: (tx.run("DELETE FROM t WHERE n % 2 = 0"), 1 // 0))

    async def on_purge(self, chance: random.Random) -> None:
        self.vault.let_readers_go()
        await self.vault.db.checkpoint()

    async def on_rest(self, chance: random.Random) -> None:
        await self.vault.db.rest()

    async def on_reader(self, chance: random.Random) -> None:
        if chance.randrange(2):
            self.vault.hold_reader()
        else:
            self.vault.let_readers_go()

    async def on_base(self, chance: random.Random) -> None:
        assert await self.vault.rebase(is_due=True)

    async def on_again(self, chance: random.Random) -> None:
        await self.vault.close()
        await self.vault.open()

    async def on_elsewhere(self, chance: random.Random) -> None:
        await self.vault.open_elsewhere()
