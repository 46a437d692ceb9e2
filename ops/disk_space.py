"""How much room is left on the disks a server writes to, read again and again."""

from __future__ import annotations

import asyncio
import math
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from ops.backup.disk_probe import DiskProbe
from ops.metrics import DiskName
from vaults.background_defects import BackgroundDefects

LOOK_S = 15.0
"""Seconds between two looks: as often as is usually scraped."""

PATIENCE_S = 5.0
"""Seconds a disk has to say; a share whose server is gone may never do."""

UNKNOWN = (math.nan, math.nan)


class Disk:
    """The disk of ``folder``; a thread asks it, because it may hang."""

    def __init__(self, folder: Path, patience_s: float = PATIENCE_S) -> None:
        self._folder = folder
        self._found = UNKNOWN
        self._probe = DiskProbe(self._measure, patience_s)

    async def room(self) -> tuple[float, float]:
        """Bytes this process may still write, and bytes of the whole; NaN, which no alert takes for little, where the
        folder is not there or its disk does not answer."""
        try:
            return self._found if await self._probe.answers() else UNKNOWN
        except OSError:
            return UNKNOWN

    def close(self) -> None:
        """Wait for nothing."""
        self._probe.close()

    def _measure(self) -> None:
        usage = shutil.disk_usage(self._folder)
        self._found = (usage.free, usage.total)


def written_folders(data: Path, backups: str | None) -> dict[DiskName, Path]:
    """Folders whose disks may fill: the data's, and that of ``backups`` unless they go to a bucket."""
    folders: dict[DiskName, Path] = {"data": data}
    if backups is not None and backups.startswith("/"):
        folders["backups"] = Path(backups)
    return folders


@asynccontextmanager
async def keep_reading(
    folders: Mapping[DiskName, Path], tell: Callable[[DiskName, float, float], None], defects: BackgroundDefects
) -> AsyncIterator[None]:
    """Tell free and whole bytes of each disk, from now on, as long as the block runs."""
    disks = {name: Disk(folder) for name, folder in folders.items()}

    async def keep_telling(name: DiskName) -> None:
        while True:
            await defects.outlive("measure_disks", tell_room(name))
            await asyncio.sleep(LOOK_S)

    async def tell_room(name: DiskName) -> None:
        tell(name, *await disks[name].room())

    # Each by itself: a disk that hangs holds up no other.
    tasks = [asyncio.create_task(keep_telling(name), name=f"disk-space-{name}") for name in disks]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for disk in disks.values():
            disk.close()
