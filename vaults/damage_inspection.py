"""Looks for damage in the databases of open vaults, in the background: one vault, and one part of it, at a time.

The process that holds a vault's lease inspects it. It records damage in a file next to the database, where every
process finds it, also after a restart. The recorded part is checked again each time the vault is to be opened, so one
that was restored opens at once.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from vaults.context import run_in
from vaults.database_checks import DAMAGE_MARKER
from vaults.db import integrity
from vaults.db.failures import damaged_error
from vaults.errors import ReadOnly, StorageFull
from vaults.files.atomic import write_atomic
from vaults.settings import StorageSettings

if TYPE_CHECKING:
    from vaults.vault import Vault

_log = logging.getLogger(__name__)


class DamageInspector:
    """Inspects on a thread of its own, for at most half of the time."""

    def __init__(self, settings: StorageSettings) -> None:
        self._settings = settings
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="inspect")
        self._stopped = threading.Event()

    async def inspect(self, vault: Vault) -> None:
        """Inspect the whole database of an open vault. Raises ``VaultQuarantined`` if it is damaged."""
        path = vault.db.path
        for part in await run_in(self._thread, integrity.list_parts, path, self._settings):
            began = time.monotonic()
            if await run_in(self._thread, integrity.is_damaged, path, self._settings, part, self._stopped.is_set):
                await run_in(self._thread, _mark_damaged, vault.folder, part)
                _log.error("vault %s is damaged in %s: it is shut out", vault.name, part)
                raise damaged_error()
            await asyncio.sleep(time.monotonic() - began)

    def close(self) -> None:
        """Stop an inspection under way, within milliseconds."""
        self._stopped.set()
        self._thread.shutdown()


def _mark_damaged(folder: Path, part: str) -> None:
    try:
        write_atomic(folder / DAMAGE_MARKER, part.encode())
    except (StorageFull, ReadOnly):
        return  # this process knows it; another finds out by itself
