"""A backup as a database of this vault and schema: an archive, or a bare copy of ``vault.db``. Verified before use."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from ops.backup.archive_reader import Opener, open_archive
from ops.backup.member_paths import VAULT_DATABASE
from ops.salvage.database_image import MAGIC
from vaults.context import run_in
from vaults.db.connection import Database, open_raw
from vaults.db.failures import damaged_error, translate_sqlite_errors
from vaults.db.migration import migrate
from vaults.errors import InvalidArgument, VaultQuarantined
from vaults.files.permissions import make_private_folder
from vaults.vault import DATABASE_FILE

if TYPE_CHECKING:
    from ops.salvage.salvaging import SalvageSubject


async def open_source(path: Path, scratch: Path, subject: SalvageSubject) -> Path:
    """A copy of the backup's database in ``scratch``, checked and of the current schema. Raises ``VaultQuarantined``
    where it is damaged, another vault's, or newer than this program, ``InvalidArgument`` where it is no backup."""
    if not path.is_file():
        raise InvalidArgument("--from", f"names no file: {path}")
    make_private_folder(scratch)
    target = scratch / DATABASE_FILE
    await run_in(subject.thread, _unpack, path, target, subject.opener)
    await run_in(subject.thread, _check, target, subject)
    db = Database(target, subject.storage)
    try:
        recorded = await db.read(lambda tx: tx.value("SELECT value FROM vault_info WHERE key = 'vault_id'"))
        if recorded != subject.entry.vault_id:
            raise VaultQuarantined("it is a backup of another vault", reason="foreign")
        await migrate(db, "vault")
        await db.checkpoint()
    finally:
        await db.close()
    return target


def _unpack(path: Path, target: Path, opener: Opener) -> None:
    with path.open("rb") as file:
        is_database = file.read(len(MAGIC)) == MAGIC
    if not is_database:
        open_archive(path, opener).extract(target.parent, lambda member: member == VAULT_DATABASE)
        return
    shutil.copyfile(path, target)
    log = path.with_name(path.name + "-wal")
    if log.exists():
        shutil.copyfile(log, target.with_name(target.name + "-wal"))


def _check(target: Path, subject: SalvageSubject) -> None:
    with translate_sqlite_errors(), closing(open_raw(target, subject.storage, writer=True)) as raw:
        if raw.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
            raise damaged_error()
