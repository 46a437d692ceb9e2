"""One chain of the audit as a file of its own, opened when something is first written to it.

Not in the vault's database: who restores yesterday's vault still knows what was done today. Several processes may add
to a chain; each entry finds the one before it in the transaction that writes it. Entries that come while others are
written share the next transaction, and so one fsync.
"""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from ops.audit import chain_rows
from ops.audit.content_hashes import HashKey
from ops.audit.entries import AuditEntry, EntryText, to_text
from ops.audit.statements import ChainHead
from vaults.context import begin_apart
from vaults.db import database_files
from vaults.db.connection import Database
from vaults.db.migration import migrate, migrate_to_write
from vaults.db.sql import Reader, Writer
from vaults.disk_reserve import free_bytes
from vaults.errors import AuditUnavailable, ReadOnly, StorageFull, StrongroomError, VaultQuarantined, VaultUnavailable
from vaults.files.permissions import make_private_folder
from vaults.settings import StorageSettings

T = TypeVar("T")

FOLDER = "audit"
"""Folder of the chains, in the data folder."""

MAX_OWED = 10_000
"""Entries kept in memory that the file could not take. Nothing is changed meanwhile, so there are few."""

MAX_TOGETHER = 256
"""Entries of one transaction at most: the first of them waits for the last."""

READY_S = 0.005
"""Seconds for which a look at file and disk holds."""

LEAST_FREE = 64 * 1024
"""Bytes that are free before a change: an entry and the pages it touches fit in."""

MIGRATIONS = "audit"


def file_of(data: Path, chain: str) -> Path:
    """Where a chain lies."""
    return data / FOLDER / f"{chain}.db"


@dataclass(slots=True)
class _WaitingEntry:
    """An entry on its way to the file. ``of_change``: it takes also the room that is kept for a full disk, and is owed
    where there is none."""

    entry: AuditEntry
    text: EntryText
    of_change: bool
    done: asyncio.Future[None]


class AuditChain:
    """Append-only. ``make_room`` frees what is kept for a full disk; ``open_key`` blocks, and returns the key of hashes
    of content."""

    def __init__(
        self,
        chain: str,
        path: Path,
        settings: StorageSettings,
        make_room: Callable[[], None],
        note_use: Callable[[AuditChain], Awaitable[None]],
        open_key: Callable[[], HashKey],
    ) -> None:
        self.chain = chain
        self.path = path
        self._folder = path.parent
        self._settings = settings
        self._make_room = make_room
        self._note_use = note_use
        self._open_key = open_key
        self._key: HashKey | None = None
        self._db: Database | None = None
        self._identity: tuple[int, int] | None = None
        self._ready_until = 0.0
        self._opening, self._proving = asyncio.Lock(), asyncio.Lock()
        self._waiting: list[_WaitingEntry] = []
        self._writing: asyncio.Task[None] | None = None
        self._owed: list[AuditEntry] = []
        self.failing = False
        self.unsigned = 0
        """Entries since the chain was last signed, as far as this process knows."""

    @property
    def exists(self) -> bool:
        """Whether anything was ever written to it."""
        return self.path.exists()

    @property
    def is_ready(self) -> bool:
        """Whether the next entry can be expected to be taken: cheap enough to ask before every change. Calls of one
        moment share one look, which is younger than any of them takes."""
        if self._key is None or self.failing:
            return False
        now = time.monotonic()
        if now >= self._ready_until and self._is_in_place() and self._has_room():
            self._ready_until = now + READY_S
        return now < self._ready_until

    async def prove_writable(self) -> None:
        """Return if the chain can be written, by writing to it; what it is owed first. Raises ``AuditUnavailable``, or
        ``ReadOnly`` where the data folder cannot be written at all."""
        async with self._proving:
            owed = tuple(self._owed)
            try:
                key = await self._load_key()
                texts = [to_text(each, key) for each in owed]
                self._require_room()
                await self._write_with_room(partial(self._write_owed, owed=texts))
            except ReadOnly:
                self.failing = True
                raise
            except StrongroomError as failure:
                self.failing = True
                raise AuditUnavailable(
                    "the audit cannot be written, so nothing was changed",
                    hint=f"reading still works; the operator must look at {_place_to_look(failure)}",
                    reason=failure.details.get("reason", failure.code),
                ) from failure
            del self._owed[: len(owed)]
            self.unsigned += len(owed)
            self.failing = bool(self._owed)  # of calls that ended meanwhile

    def _has_room(self) -> bool:
        free = free_bytes(self._folder)
        return free is None or free >= LEAST_FREE

    def _require_room(self) -> None:
        """Raise ``StorageFull`` where the entry of a change that is about to be made might find no room."""
        if self._db is not None and not self._has_room():
            self._make_room()
            if not self._has_room():
                raise StorageFull("the disk is full", hint="free space; reading still works")

    def _write_owed(self, tx: Writer, owed: Sequence[EntryText]) -> None:
        if owed:
            chain_rows.append(tx, self.chain, owed)
        else:
            tx.run("UPDATE indexed SET seq = seq")

    async def append(self, entry: AuditEntry) -> None:
        """Add the entry of a change and return once it is durable. It takes also the room that is kept for a full disk.
        Raises what the file system answers, and then owes the entry, whether its caller still waits or not."""
        try:
            key = await self._load_key()
        except StrongroomError:
            self._owe([entry])
            raise
        await self._put(entry, key, of_change=True)

    async def try_append(self, entry: AuditEntry) -> None:
        """Add the entry of what changed nothing. Raises what the file system answers."""
        try:
            key = await self._load_key()
        except StrongroomError:
            self.failing = True
            raise
        await self._put(entry, key, of_change=False)

    async def _put(self, entry: AuditEntry, key: HashKey, *, of_change: bool) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(_WaitingEntry(entry, to_text(entry, key), of_change, done))
        if self._writing is None or self._writing.done():
            self._writing = begin_apart(self._write_waiting(), "audit-entries")
        await done

    async def _write_waiting(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:MAX_TOGETHER], self._waiting[MAX_TOGETHER:]
            try:
                await self._write_batch(batch)
            except Exception as failure:  # noqa: BLE001  every caller of the batch gets the failure
                self.failing = True
                self._owe([each.entry for each in batch if each.of_change])
                for each in batch:
                    if not each.done.done():
                        each.done.set_exception(failure)
                continue
            self.unsigned += len(batch)
            for each in batch:
                if not each.done.done():
                    each.done.set_result(None)

    async def _write_batch(self, batch: Sequence[_WaitingEntry]) -> None:
        work = partial(chain_rows.append, chain=self.chain, entries=[each.text for each in batch])
        await (self._write_with_room(work) if any(each.of_change for each in batch) else self._write(work))

    def _owe(self, entries: Sequence[AuditEntry]) -> None:
        self.failing = True
        self._owed += entries[: max(0, MAX_OWED - len(self._owed))]

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

    async def to_texts(self, entries: Sequence[AuditEntry]) -> list[EntryText]:
        """Entries as this chain would store them."""
        key = await self._load_key()
        return [to_text(each, key) for each in entries]

    async def _load_key(self) -> HashKey:
        if self._key is None:
            try:
                self._key = await asyncio.to_thread(self._open_key)
            except OSError as failure:
                raise _to_typed(failure) from failure
        return self._key

    async def _open(self) -> Database:
        if self._db is not None and self._is_in_place():
            return self._db
        async with self._opening:
            if self._db is not None and self._is_in_place():
                return self._db
            await self._close()
            db = Database(self.path, self._settings)
            try:
                await self._prepare(db)
                found = self.path.stat()
            except OSError as failure:
                await db.close()
                raise _to_typed(failure) from failure
            except BaseException:
                await db.close()
                raise
            self._db, self._identity = db, (found.st_dev, found.st_ino)
            return db

    async def _prepare(self, db: Database) -> None:
        if self.exists and not database_files.is_writable(self.path.parent):
            await migrate(db, MIGRATIONS)  # by reading: what lies on a read-only disk can still be searched and checked
        else:
            make_private_folder(self.path.parent)
            await migrate_to_write(db, MIGRATIONS)

    def _is_in_place(self) -> bool:
        # A file that lost its name would take entries and lose them. A new one begins then, and the check of the
        # chains tells that the old one is missing.
        try:
            found = os.stat(self.path)  # noqa: PTH116  asked before every change: half of what Path.stat takes
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self._identity

    async def rest(self) -> None:
        """Let go of the descriptors nothing is using; the next use opens what it needs, in under a millisecond."""
        async with self._opening:
            if self._db is not None:
                await self._db.rest()

    async def close(self) -> None:
        """Write what waits, and close the file; the next use opens it again."""
        if self._writing is not None:
            await self._writing
        async with self._opening:
            await self._close()

    async def _close(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            await db.close()


def _place_to_look(failure: StrongroomError) -> str:
    if isinstance(failure, VaultQuarantined):
        return f"the file of this audit, which was refused: {failure.message}"
    return "the disk of the data folder"


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
