"""A vault as one server of a cluster holds it, as small as it can be: a real SQLite database of ids, whose pages go
into the log with each commit, before its reads are answered."""

from __future__ import annotations

import asyncio
import shutil
from concurrent.futures import Executor
from contextlib import closing
from pathlib import Path

from tests.cluster.history import Entry
from vaults.cluster import page_log
from vaults.cluster.held_lease import HeldLease
from vaults.cluster.page_log import PageLog
from vaults.cluster.rebasing import rebase
from vaults.cluster.restore import refuse_unsound, restore
from vaults.cluster.vault_log import Placement, VaultLog
from vaults.db.connection import Database
from vaults.db.engine import sqlite
from vaults.db.sql import Reader, Writer
from vaults.errors import VaultUnavailable
from vaults.settings import StorageSettings

SETTINGS = StorageSettings(synchronous="normal")

_TABLE = """
CREATE TABLE IF NOT EXISTS written (id INTEGER NOT NULL PRIMARY KEY, seq INTEGER NOT NULL, epoch INTEGER NOT NULL)
"""
"""Each id with the entry that it came in: bases forget where one entry ended."""


class HeldVault:
    """Open from the taking of a vault to the first failure. ``open`` before all else."""

    def __init__(self, folder: Path, store: VaultLog, placement: Placement, lease: HeldLease, pool: Executor) -> None:
        self._lease = lease
        self._folder, self._path = folder, folder / "vault.db"
        self._store, self._taken, self._pool = store, placement, pool
        self._rebasing: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Restore it. Raises ``LogUnavailable``, ``Fenced``."""
        taken = self._taken
        start = await asyncio.to_thread(restore, self._store, taken.vault, self._path, taken.head, refuse_unsound)
        held = page_log.HeldVault(taken, self._store, self._lease)
        self._pages = PageLog(self._path, SETTINGS, held, start, lambda failure: None)
        self._database = Database(self._path, SETTINGS, log=self._pages)
        try:
            await self._database.write(lambda tx: tx.run(_TABLE))
        except BaseException:
            await self.close()
            raise

    @property
    def is_lost(self) -> bool:
        return self._pages.failure is not None

    async def write(self, id_: int) -> tuple[int, int]:
        """The entry it came in, and its epoch. Raises what its append raised; the vault is done for then."""

        def work(tx: Writer) -> tuple[int, int]:
            placement = self._pages.placement
            row = {"id": id_, "seq": placement.head + 1, "epoch": placement.epoch}
            tx.run("INSERT INTO written (id, seq, epoch) VALUES (:id, :seq, :epoch)", row)
            return row["seq"], row["epoch"]

        place = await self._database.write(work)
        if self._pages.is_rebase_due and (self._rebasing is None or self._rebasing.done()):
            self._rebasing = asyncio.create_task(self._rebase())
        return place

    async def read(self) -> list[int]:
        def work(tx: Reader) -> list[int]:
            return [int(row[0]) for row in tx.all("SELECT id FROM written ORDER BY id")]

        return await self._database.read(work)

    async def close(self) -> None:
        """The local copy is dropped."""
        if self._rebasing is not None:
            await asyncio.gather(self._rebasing, return_exceptions=True)
        await self._database.close()
        shutil.rmtree(self._folder)

    async def _rebase(self) -> None:
        """Where it fails, the base there is stays, or the vault is lost, which it has told."""
        try:
            await rebase(self._database, self._pages, self._pool)
        except VaultUnavailable:
            return


def entries_of(store: VaultLog, vault: str, head: int, folder: Path) -> list[Entry]:
    """What the log holds in the end: restored, and every id with the entry that it came in."""
    path = folder / f"{vault}.db"
    if restore(store, vault, path, head, refuse_unsound) is None:
        return []
    with closing(sqlite.connect(path)) as raw:
        tables = raw.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'written'").fetchone()
        rows = raw.execute("SELECT seq, epoch, id FROM written").fetchall() if tables[0] else []
    path.unlink()
    base = store.base(vault)
    assert base is not None
    epochs = {seq: epoch for seq, epoch, _ in rows} | {each.seq: each.epoch for each in store.entries(vault, base[0])}
    entries: list[Entry] = []
    for seq in range(1, max([head, *epochs]) + 1):
        epoch = epochs.get(seq, entries[-1].epoch if entries else 1)  # of entries without ids that a base has swallowed
        entries.append(Entry(seq, epoch, tuple(id_ for at, _, id_ in rows if at == seq)))
    return entries
