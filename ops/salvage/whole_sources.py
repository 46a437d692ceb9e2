"""A source as a database of this vault and schema, proven before use."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ops.backup.archive_reader import Opener, open_archive
from ops.salvage.database_image import MAGIC
from ops.salvage.source_search import SalvageSource, from_backup
from vaults.context import run_in
from vaults.db.connection import Database, open_raw
from vaults.db.failures import damaged_error, translate_sqlite_errors
from vaults.db.migration import migrate
from vaults.errors import InvalidArgument, VaultQuarantined, VaultUnavailable
from vaults.files.failures import disk_failure
from vaults.files.permissions import make_private_folder
from vaults.registry import DATABASE_FILE

if TYPE_CHECKING:
    from ops.salvage.salvaging import SalvageSubject


@asynccontextmanager
async def open_source(source: SalvageSource, scratch: Path, subject: SalvageSubject) -> AsyncIterator[Path]:
    """The source's database, checked and of the current schema, in ``scratch``, which is gone afterwards. Raises
    ``VaultQuarantined`` where it is damaged, another vault's, or newer than this program, and what the source raises.
    """
    try:
        make_private_folder(scratch)
        await run_in(subject.thread, source.write, scratch)
        await run_in(subject.thread, _check, scratch / DATABASE_FILE, subject)
        await _bring_up_to_date(scratch / DATABASE_FILE, subject)
        yield scratch / DATABASE_FILE
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


async def _bring_up_to_date(target: Path, subject: SalvageSubject) -> None:
    db = Database(target, subject.storage)
    try:
        recorded = await db.read(lambda tx: tx.value("SELECT value FROM vault_info WHERE key = 'vault_id'"))
        if recorded != subject.entry.vault_id:
            raise VaultQuarantined("it is a backup of another vault", reason="foreign")
        await migrate(db, "vault")
        await db.checkpoint()
    finally:
        await db.close()


def from_file(path: Path, opener: Opener) -> SalvageSource:
    """A file that somebody names: an archive, or a bare copy of ``vault.db``. Raises ``InvalidArgument`` where there is
    none, or it cannot be read."""
    try:
        with path.open("rb") as file:
            is_database = file.read(len(MAGIC)) == MAGIC
    except OSError as failure:
        raise InvalidArgument("--from", f"{path} cannot be read: {failure.strerror}") from None
    if is_database:
        return SalvageSource(path.name, "", partial(_copy, path))
    return from_backup(path.name, "", open_archive(path, opener))


def _copy(path: Path, into: Path) -> None:
    target = into / DATABASE_FILE
    try:
        shutil.copyfile(path, target)
        log = path.with_name(path.name + "-wal")
        if log.exists():
            shutil.copyfile(log, target.with_name(target.name + "-wal"))
    except OSError as failure:
        raise disk_failure(failure) or VaultUnavailable(f"{path.name} cannot be read", reason="target") from failure


def _check(target: Path, subject: SalvageSubject) -> None:
    with translate_sqlite_errors(), closing(open_raw(target, subject.storage, writer=True)) as raw:
        if raw.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
            raise damaged_error()
