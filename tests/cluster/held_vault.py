"""A vault as one server of a cluster holds it, as small as it can be: a real SQLite database of ids, whose commits go
into the log, and whose reads go through the gate."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

from vaults.cluster.failures import Fenced
from vaults.cluster.read_gate import ReadGate
from vaults.cluster.vault_log import Placement, VaultLog
from vaults.db.connection import Database
from vaults.db.engine import sqlite
from vaults.db.sql import Reader, Writer
from vaults.errors import VaultUnavailable
from vaults.settings import StorageSettings

REBASE_AFTER = 20
"""Entries from which on a base takes their place."""

PARTS = 5

Row = tuple[int, int, list[int]]
"""Sequence number, epoch and ids of an entry. A base holds them all, so that the log can be looked at in the end."""


def read_log(log: VaultLog, vault: str) -> list[Row]:
    """Every entry there was, from the base and from the log."""
    found = log.base(vault)
    seq, parts = found if found is not None else (0, iter(()))
    rows = json.loads(b"".join(parts) or b"[]")
    return [
        *((row[0], row[1], row[2]) for row in rows),
        *((entry.seq, entry.epoch, json.loads(entry.payload)) for entry in log.entries(vault, seq)),
    ]


class IdsLog:
    """A ``CommitLog``: what a group wrote is one entry. A failed append is the last that is tried."""

    def __init__(self, log: VaultLog, placement: Placement) -> None:
        self.log, self.placement = log, placement
        self.written: list[int] = []
        self.places: dict[int, Placement] = {}
        self.failure: VaultUnavailable | None = None

    def after_commit(self, raw: sqlite.Connection) -> None:
        written, self.written = self.written, []
        if self.failure is not None:
            raise self.failure
        if not written:
            return
        try:
            self.placement = self.log.append(self.placement, json.dumps(written).encode())
        except VaultUnavailable as failure:
            self.failure = failure
            raise
        self.places.update(dict.fromkeys(written, self.placement))

    def before_checkpoint(self, raw: sqlite.Connection) -> None:
        """Nothing of it is read from the file."""

    async def close(self) -> None:
        """Nothing to close."""


class HeldVault:
    """Open from the taking of a vault to the first failure."""

    def __init__(self, folder: Path, log: IdsLog, gate: ReadGate) -> None:
        self.log, self.gate = log, gate
        self._folder = folder
        self._database = Database(folder / "vault.db", StorageSettings(synchronous="normal"), log=log)
        self._since_base = 0
        self._rebasing: asyncio.Task[None] | None = None

    async def lay_out(self, rows: list[Row]) -> None:
        """As the log says."""
        ids = [(id_,) for _, _, written in rows for id_ in written]

        def work(tx: Writer) -> None:
            tx.run("CREATE TABLE written (id INTEGER NOT NULL PRIMARY KEY)")
            for (id_,) in ids:
                tx.run("INSERT INTO written (id) VALUES (:id)", {"id": id_})

        await self._database.write(work)

    async def write(self, id_: int) -> Placement:
        """The place it got in the log. Raises what its append raised; the vault is done for then."""

        def work(tx: Writer) -> None:
            tx.run("INSERT INTO written (id) VALUES (:id)", {"id": id_})
            self.log.written.append(id_)

        number = self.gate.begin()
        try:
            await self._database.write(work)
        except VaultUnavailable as failure:
            self.gate.break_by(failure)
            raise
        self.gate.end(number)
        self._rebase_if_due()
        return self.log.places.pop(id_)

    async def read(self) -> list[int]:
        def work(tx: Reader) -> list[int]:
            return [int(row[0]) for row in tx.all("SELECT id FROM written ORDER BY id")]

        ids = await self._database.read(work)
        await asyncio.to_thread(self.gate.wait_answerable)
        return ids

    async def close(self) -> None:
        """The local copy is dropped."""
        self.gate.break_by(self.log.failure or Fenced())
        if self._rebasing is not None:
            await asyncio.gather(self._rebasing, return_exceptions=True)
        await self._database.close()
        shutil.rmtree(self._folder)

    def _rebase_if_due(self) -> None:
        self._since_base += 1
        if self._since_base >= REBASE_AFTER and (self._rebasing is None or self._rebasing.done()):
            self._since_base = 0
            self._rebasing = asyncio.create_task(self._rebase())

    async def _rebase(self) -> None:
        """Where it fails, the base there is stays."""
        placement, log = self.log.placement, self.log.log

        def work() -> None:
            rows = [row for row in read_log(log, placement.vault) if row[0] <= placement.head]
            image = json.dumps(rows).encode()
            size = len(image) // PARTS + 1
            log.replace_base(
                placement, placement.head, (image[start : start + size] for start in range(0, len(image), size))
            )

        try:
            await asyncio.to_thread(work)
        except VaultUnavailable:
            self._since_base = 0
