"""One chain of the audit as a file of its own, opened when something is first written to it.

Not in the vault's database: who restores yesterday's vault still knows what was done today. Several processes may add
to a chain; each entry finds the one before it in the transaction that writes it.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from ops.audit import chain_rows
from ops.audit.entries import AuditEntry
from ops.audit.statements import ChainHead
from vaults.db.connection import Database
from vaults.db.migration import migrate_to_write
from vaults.db.sql import Reader, Writer
from vaults.disk_reserve import free_bytes
from vaults.errors import AuditUnavailable, ReadOnly, StorageFull, StrongroomError, VaultUnavailable
from vaults.files.permissions import make_private_folder
from vaults.settings import StorageSettings

T = TypeVar("T")

FOLDER = "audit"
"""Folder of the chains, in the data folder."""

MAX_OWED = 10_000
"""Entries kept in memory that the file could not take. Nothing is changed meanwhile, so there are few."""

LEAST_FREE = 64 * 1024
"""Bytes that are free before a change: an entry and the pages it touches fit in."""

MIGRATIONS = "audit"


def file_of(data: Path, chain: str) -> Path:
    """Where a chain lies."""
    return data / FOLDER / f"{chain}.db"


class AuditChain:
    """Append-only. ``make_room`` frees what is kept for a full disk."""

    def __init__(
        self,
        chain: str,
        path: Path,
        settings: StorageSettings,
        make_room: Callable[[], None],
        note_use: Callable[[AuditChain], Awaitable[None]],
    ) -> None:
        self.chain = chain
        self.path = path
        self._settings = settings
        self._make_room = make_room
        self._note_use = note_use
        self._db: Database | None = None
        self._identity: tuple[int, int] | None = None
        self._opening, self._proving = asyncio.Lock(), asyncio.Lock()
        self._owed: list[AuditEntry] = []
        self.failing = False
        self.unsigned = 0
        """Entries this process added since it last signed the chain."""

    @property
    def is_ready(self) -> bool:
        """Whether the next entry can be expected to be taken: cheap enough to ask before every change."""
        return self._db is not None and not self.failing and self._is_in_place() and self._has_room()

    async def prove_writable(self) -> None:
        """Return if the chain can be written, by writing to it; what it is owed first. Raises ``AuditUnavailable``, or
        ``ReadOnly`` where the data folder cannot be written at all."""
        async with self._proving:
            owed = tuple(self._owed)
            try:
                self._require_room()
                await self._write_with_room(partial(self._write_owed, owed=owed))
            except ReadOnly:
                self.failing = True
                raise
            except StrongroomError as failure:
                self.failing = True
                raise AuditUnavailable(
                    "the audit cannot be written, so nothing was changed",
                    hint="reading still works; the operator must look at the disk of the data folder",
                    reason=failure.code,
                ) from failure
            del self._owed[: len(owed)]
            self.unsigned += len(owed)
            self.failing = False

    def _has_room(self) -> bool:
        free = free_bytes(self.path.parent)
        return free is None or free >= LEAST_FREE

    def _require_room(self) -> None:
        """Raise ``StorageFull`` where the entry of a change that is about to be made might find no room."""
        if self._db is not None and not self._has_room():
            self._make_room()
            if not self._has_room():
                raise StorageFull("the disk is full", hint="free space; reading still works")

    def _write_owed(self, tx: Writer, owed: Sequence[AuditEntry]) -> None:
        if owed:
            chain_rows.append(tx, self.chain, owed)
        else:
            tx.run("UPDATE indexed SET seq = seq")

    async def append(self, entry: AuditEntry, *, at_any_price: bool = True) -> None:
        """Add an entry and return once it is durable. Raises what the file system answers, and then owes the entry.
        ``at_any_price``: also takes the room that is kept for a full disk."""
        work = partial(chain_rows.append, chain=self.chain, entries=[entry])
        try:
            await (self._write_with_room(work) if at_any_price else self._write(work))
        except StrongroomError:
            self.failing = True
            if at_any_price and len(self._owed) < MAX_OWED:
                self._owed.append(entry)
            raise
        self.unsigned += 1

    async def _write_with_room(self, work: Callable[[Writer], T]) -> T:
        try:
            return await self._write(work)
        except StorageFull:
            self._make_room()
            return await self._write(work)

    async def _write(self, work: Callable[[Writer], T]) -> T:
        try:
            return await (await self._open()).write_uncounted(work)
        finally:
            await self._note_use(self)

    async def write(self, work: Callable[[Writer], T]) -> T:
        """Write beside the entries: what was signed, indexed, forwarded or pruned."""
        return await self._write(work)

    async def read(self, work: Callable[[Reader], T]) -> T:
        """Read in one snapshot."""
        try:
            return await (await self._open()).read(work)
        finally:
            await self._note_use(self)

    async def head(self) -> ChainHead:
        """The last entry."""
        # By the writer, which is open: a reader would be one more connection for a single look.
        return await self._write(lambda tx: chain_rows.read_head(tx, self.chain))

    async def _open(self) -> Database:
        if self._db is not None and self._is_in_place():
            return self._db
        async with self._opening:
            if self._db is not None and self._is_in_place():
                return self._db
            await self._close()
            db = Database(self.path, self._settings)
            try:
                make_private_folder(self.path.parent)
                await migrate_to_write(db, MIGRATIONS)
                found = self.path.stat()
            except OSError as failure:
                await db.close()
                raise _to_typed(failure) from failure
            except BaseException:
                await db.close()
                raise
            self._db, self._identity = db, (found.st_dev, found.st_ino)
            return db

    def _is_in_place(self) -> bool:
        # A file that lost its name would take entries and lose them. A new one begins then, and the check of the
        # chains tells that the old one is missing.
        try:
            found = self.path.stat()
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self._identity

    async def rest(self) -> None:
        """Let go of the descriptors nothing is using; the next use opens what it needs, in under a millisecond."""
        async with self._opening:
            if self._db is not None:
                await self._db.rest()

    async def close(self) -> None:
        """Close the file; the next use opens it again."""
        async with self._opening:
            await self._close()

    async def _close(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            await db.close()


def _to_typed(failure: OSError) -> StrongroomError:
    if failure.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return ReadOnly("the data folder cannot be written", hint="the operator must check mount and owner")
    if failure.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull("the disk is full; nothing was written", hint="free space; reading still works")
    return VaultUnavailable("the audit's files cannot be read or written", reason="io")


def list_chains(data: Path) -> Sequence[str]:
    """The chains there are on disk, by name."""
    try:
        return sorted(each.stem for each in (data / FOLDER).iterdir() if each.suffix == ".db")
    except OSError:
        return ()
