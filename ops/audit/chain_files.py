"""Chains as files, beside the vaults of one machine.

Not in the vault's database: who restores yesterday's vault still knows what was done today. Several processes may add
to a chain; each entry finds the one before it in the transaction that writes it.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from ops.audit import chain_rows
from ops.audit.chain_store import ChainStore, SenderLease
from ops.audit.entries import EntryText
from vaults.db import database_files
from vaults.db.connection import Database
from vaults.db.lease import Lease
from vaults.db.migration import migrate, migrate_to_write
from vaults.db.sql import Reader, Writer
from vaults.disk_reserve import free_bytes
from vaults.errors import ReadOnly, StorageFull, StrongroomError, VaultUnavailable
from vaults.files.permissions import make_private_folder
from vaults.settings import StorageSettings

T = TypeVar("T")

FOLDER = "audit"
"""Folder of the chains, in the data folder."""

LEAST_FREE = 64 * 1024
"""Bytes that are free before a change: an entry and the pages it touches fit in."""

MIGRATIONS = "audit"


def file_of(data: Path, chain: str) -> Path:
    """Where a chain lies."""
    return data / FOLDER / f"{chain}.db"


def list_chains(data: Path) -> Sequence[str]:
    """The chains there are on disk, by name."""
    try:
        return sorted(each.stem for each in (data / FOLDER).iterdir() if each.suffix == ".db")
    except OSError:
        return ()


class ChainFile:
    """A ``ChainStore``: one chain as a file of its own, opened when something is first written to it."""

    place = "the disk of the data folder"

    def __init__(self, chain: str, path: Path, settings: StorageSettings) -> None:
        self._chain = chain
        self._path = path
        self._settings = settings
        self._db: Database | None = None
        self._identity: tuple[int, int] | None = None
        self._opening = asyncio.Lock()

    @property
    def exists(self) -> bool:
        return self._path.exists()

    @property
    def is_open(self) -> bool:
        return self._db is not None

    def is_in_place(self) -> bool:
        """The contract's."""
        # A file that lost its name would take entries and lose them. A new one begins then, and the check of the
        # chains tells that the old one is missing.
        try:
            found = os.stat(self._path)  # noqa: PTH116  asked before every change: half of what Path.stat takes
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self._identity

    def has_room(self) -> bool:
        """The contract's."""
        free = free_bytes(self._path.parent)
        return free is None or free >= LEAST_FREE

    async def append(self, entries: Sequence[EntryText]) -> None:
        """The contract's. Raises what the file system answers."""
        await self.write(partial(chain_rows.append, chain=self._chain, entries=entries))

    async def prove_writable(self) -> None:
        """The contract's."""
        await self.write(lambda tx: tx.run("UPDATE indexed SET seq = seq"))

    async def write(self, work: Callable[[Writer], T]) -> T:
        """The contract's."""
        return await (await self._open()).write_uncounted(work)

    async def read(self, work: Callable[[Reader], T]) -> T:
        """The contract's."""
        return await (await self._open()).read(work)

    async def _open(self) -> Database:
        if self._db is not None and self.is_in_place():
            return self._db
        async with self._opening:
            if self._db is not None and self.is_in_place():
                return self._db
            await self._close()
            db = Database(self._path, self._settings)
            try:
                await self._prepare(db)
                found = self._path.stat()
            except OSError as failure:
                await db.close()
                raise to_typed(failure) from failure
            except BaseException:
                await db.close()
                raise
            self._db, self._identity = db, (found.st_dev, found.st_ino)
            return db

    async def _prepare(self, db: Database) -> None:
        if self.exists and not database_files.is_writable(self._path.parent):
            await migrate(db, MIGRATIONS)  # by reading: what lies on a read-only disk can still be searched and checked
        else:
            make_private_folder(self._path.parent)
            await migrate_to_write(db, MIGRATIONS)

    async def rest(self) -> None:
        """The contract's; the next use opens what it needs, in under a millisecond."""
        async with self._opening:
            if self._db is not None:
                await self._db.rest()

    async def close(self) -> None:
        """The contract's."""
        async with self._opening:
            await self._close()

    async def _close(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            await db.close()


class ChainFiles:
    """``ChainStores`` of one data folder."""

    are_shared = False

    def __init__(self, data: Path, settings: StorageSettings) -> None:
        self._data = data
        self._settings = settings

    def store(self, chain: str) -> ChainStore:
        """The contract's."""
        return ChainFile(chain, file_of(self._data, chain), self._settings)

    def names(self) -> Sequence[str]:
        """The contract's."""
        return list_chains(self._data)

    def unsigned(self) -> Sequence[str]:
        """Every one: which it is stands in the file."""
        return list_chains(self._data)

    def begun_before(self, moment: int) -> Sequence[str]:  # noqa: ARG002
        """Every one: which it is stands in the file."""
        return list_chains(self._data)

    def unsent(self, receiver: str) -> Sequence[str]:  # noqa: ARG002
        """Every one: which it is stands in the file."""
        return list_chains(self._data)

    def sender_lease(self, receiver: str) -> SenderLease:
        """A file lock, which dies with its process."""
        return Lease(self._data / FOLDER / f".{receiver}")


def to_typed(failure: OSError) -> StrongroomError:
    """What a file system answers, as our error."""
    if failure.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return ReadOnly("the data folder cannot be written", hint="the operator must check mount and owner")
    if failure.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull("the disk is full; nothing was written", hint="free space; reading still works")
    return VaultUnavailable("the audit's files cannot be read or written", reason="io")
