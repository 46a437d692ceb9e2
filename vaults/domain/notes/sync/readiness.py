"""Waiting for the first look at a vault's files, where this is the process that looks."""

from __future__ import annotations

import time

from vaults.context import run_in
from vaults.vault import Vault

STEP_S = 1.0
STALL_S = 15.0
"""Seconds without progress after which a look that does not come is no longer waited for."""


async def wait_until_synced(vault: Vault) -> bool:
    """Whether the rows follow the files. Returns at once where another process, or nobody, looks after them."""
    seen, since = None, time.monotonic()
    while vault.lease.held and not await vault.notes.settled(STEP_S):
        if not await run_in(vault.shared.pool, vault.notes.root.is_dir):
            return False  # a folder that is not there is waited for by the watcher, for ever
        now = vault.notes.progress
        if now != seen:
            seen, since = now, time.monotonic()
        elif time.monotonic() - since > STALL_S:
            return False
    return vault.lease.held and vault.notes.progress.phase == "ready"


def is_followed(vault: Vault) -> bool:
    """Whether a living process, this one or another, follows the files."""
    if vault.lease.held:
        return True
    if vault.lease.try_acquire():  # it was free: nobody does
        vault.lease.release()
        return False
    return True
