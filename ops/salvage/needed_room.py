"""Whether the disk has room for a salvage, looked at before anything is written."""

from __future__ import annotations

from pathlib import Path

from ops.salvage.exchange import DamagedFiles
from vaults.disk_reserve import require_room
from vaults.settings import StorageSettings

TIMES_BUILT = 2
"""The new database is written into its log in one transaction, and from there into its file."""


def check_room(files: DamagedFiles, folder: Path, storage: StorageSettings, *, has_sources: bool) -> None:
    """Raise ``StorageFull`` unless the disk of ``folder`` has room for a copy of the log, the new database, and a
    backup's copy of it where there are backups. A backup that is larger is met when it is read."""
    log = files.log.stat().st_size if files.has_log else 0
    whole = log + (files.database.stat().st_size if files.database.exists() else 0)
    size = log + TIMES_BUILT * whole + (whole if has_sources else 0)
    require_room(folder, size, storage, f"a salvage, which builds the new database in {folder},")
