"""Words that another program wrote into a file after a tool had replaced it: kept beside the note, as another version.

An editor that saves in place and had the file open at that moment writes into what was taken away. Nobody would ever
see it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from vaults.context import run_in
from vaults.errors import StrongroomError
from vaults.files.late import Late
from vaults.files.paths import conflict_path
from vaults.vault import Vault

LOOK_S = 0.5


def keep(vault: Vault) -> None:
    """After a change: watch what it took away for a moment."""
    if len(vault.notes.late):
        vault.aside(_watch)


async def _watch(vault: Vault) -> None:
    late, pool = vault.notes.late, vault.shared.pool
    try:
        while len(late):
            await asyncio.sleep(LOOK_S)
            await run_in(pool, _keep_copies, vault, late.due(time.monotonic()))
    finally:
        _keep_copies(vault, late.close())  # the vault is closing: now or never


def _keep_copies(vault: Vault, found: Sequence[Late]) -> None:
    for late in found:
        name = conflict_path(late.path, datetime.now(UTC))
        try:
            vault.notes.tree.create(name, late.data)
        except StrongroomError:
            # The disk is full, or the folder went away: the program that wrote it has its words still open.
            continue
