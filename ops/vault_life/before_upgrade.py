"""A copy of a database as the version before left it, beside it: the way back, should the new one not do.

It holds what the database held, also what is purged later; the next upgrade, and deleting the vault, overwrite it.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ops.vault_life.erasure import erase_file
from vaults.db.connection import Database
from vaults.db.database_copy import FullSpeed, open_snapshot, size_of
from vaults.disk_reserve import require_room
from vaults.errors import ReadOnly
from vaults.files.atomic import sync_folder
from vaults.files.failures import disk_failure
from vaults.files.scratch_folders import scratch_folder
from vaults.settings import StorageSettings

SCRATCH = ".upgrading-"
_NAME = re.compile(r".+\.before-[0-9]+")


async def keep_copy(db: Database, schema: int, storage: StorageSettings) -> Path:
    """Copy the database of ``schema`` steps to ``<name>.before-<schema>`` beside it, and remove older copies. Raises
    ``StorageFull``, ``ReadOnly``, ``VaultQuarantined``."""
    return await asyncio.to_thread(_keep_copy, db.path, schema, storage)


def copies_of(database: Path) -> list[Path]:
    """The copies beside a database."""
    return sorted(each for each in database.parent.glob(f"{database.name}.before-*") if _NAME.fullmatch(each.name))


def _keep_copy(database: Path, schema: int, storage: StorageSettings) -> Path:
    kept = database.with_name(f"{database.name}.before-{schema}")
    try:
        with _one_at_a_time(database.parent):
            require_room(database.parent, size_of(database), storage, "the copy of a database before its upgrade")
            with scratch_folder(database.parent, SCRATCH) as folder:
                _copy(database, folder / database.name, kept, schema, storage)
            for old in copies_of(database):
                if old != kept:
                    erase_file(old)
    except OSError as failure:
        raise disk_failure(failure) or ReadOnly(
            "the database cannot be copied before its upgrade", hint="the operator must check mount and owner"
        ) from failure
    return kept


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Of processes that open an old database at once one copies, then the next: none takes away what another makes."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # a file system without locks; one process alone is the rule
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _copy(database: Path, copy: Path, kept: Path, schema: int, storage: StorageSettings) -> None:
    with open_snapshot(database, storage) as snapshot:
        snapshot.take()
        if int(snapshot.reader.value("SELECT COUNT(*) FROM schema_steps")) != schema:
            return  # another process has begun, from a copy it made itself
        snapshot.copy_to(copy, FullSpeed())
    descriptor = os.open(copy, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    copy.replace(kept)
    sync_folder(kept.parent)
