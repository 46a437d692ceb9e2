"""control.db as every process opens it: brought up to date, or refused by the name of the version that wrote it."""

from __future__ import annotations

from contextlib import suppress

from server.version import version
from vaults import registry
from vaults.db.connection import Database
from vaults.db.migration import migrate
from vaults.errors import ReadOnly, StorageFull, VaultQuarantined, VaultUnavailable


async def migrate_control(control: Database) -> None:
    """Bring control.db up to date and note this version in it. Raises ``VaultQuarantined`` before anything is written
    if a newer one wrote it."""
    try:
        await migrate(control, "control")
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
