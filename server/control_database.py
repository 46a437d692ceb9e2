"""control.db as every process opens it: brought up to date, or refused by the name of the version that wrote it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from pathlib import Path

from server.version import version
from vaults import registry
from vaults.db.connection import Database
from vaults.db.migration import migrate, refuse_newer
from vaults.errors import Conflict, ReadOnly, StorageFull, VaultQuarantined, VaultUnavailable
from vaults.settings import StorageSettings

CONTROL_DB = "control.db"


async def migrate_control(control: Database, storage: StorageSettings) -> None:
    """``prepare_control`` for one machine that serves alone. Raises ``Conflict`` where several servers do by now: what
    was changed here would be lost."""
    await prepare_control(control, storage)
    since = await control.read(registry.joined_at)
    if since is not None:
        raise Conflict(
            f"this installation is served by several servers since {since}, from the cluster's database",
            hint="set cluster.url, or serve what strongroom cluster export wrote",
        )


async def prepare_control(control: Database, storage: StorageSettings) -> None:
    """Bring control.db up to date, with a copy of it before, and note this version in it. Raises ``VaultQuarantined``
    before anything is written if a newer one wrote it, or the audit beside it."""
    try:
        await asyncio.to_thread(_refuse_newer_audit, control.path.parent, storage)
        await migrate(control, "control", before=partial(_keep_copy, control, storage))
    except VaultQuarantined as refused:
        if refused.details.get("reason") != "future":
            raise
        wrote = await control.read(registry.written_by)
        raise VaultQuarantined(
            f"this data folder was last used by strongroom {wrote or 'of a newer version'}, and this is {version()}",
            hint="run that version or a newer one; nothing was changed",
            reason="future",
        ) from None
    if await control.read(registry.written_by) != version():
        with suppress(ReadOnly, StorageFull, VaultUnavailable):  # it only tells people; the next process notes it
            await control.write(lambda tx: registry.note_version(tx, version()))


def _refuse_newer_audit(data: Path, storage: StorageSettings) -> None:
    """What is done must be recorded: with an audit that this version cannot write, nothing could be changed."""
    from ops.audit.chain_files import MIGRATIONS, file_of
    from ops.audit.links import INSTALLATION

    refuse_newer(file_of(data, INSTALLATION), MIGRATIONS, storage)


async def _keep_copy(control: Database, storage: StorageSettings, schema: int) -> None:
    from ops.vault_life import before_upgrade

    await before_upgrade.keep_copy(control, schema, storage)
