"""Waiting for the first scan of a vault's files, if this process does it."""

from __future__ import annotations

import time

from vaults.context import run_in
from vaults.vault import Vault

STEP_S = 1.0
STALL_S = 15.0
"""Seconds without progress after which waiting for the scan ends."""


async def wait_until_synced(vault: Vault) -> bool:
    """Wait for the first scan; returns whether the rows follow the files. Returns False at once if another process, or
    none, follows them."""
    seen, since = None, time.monotonic()
    while vault.lease.held and not await vault.notes.wait_for_index(STEP_S):
        if not await run_in(vault.shared.pool, vault.notes.root.is_dir):
            return False  # the watcher waits for a missing folder for ever
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
    if vault.lease.try_acquire():  # it was free: none does
        vault.lease.release()
        return False
    return True
