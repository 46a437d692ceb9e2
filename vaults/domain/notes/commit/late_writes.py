"""Text that another program writes into a file after a tool replaced it: saved next to the note, as another version.

An editor that saves in place and had the file open at that moment writes into the replaced file. Nobody would ever see
that text.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

from vaults.context import run_in
from vaults.errors import AlreadyExists, StrongroomError
from vaults.files.paths import conflict_path
from vaults.files.writes.late_writes import LateWrite
from vaults.vault import Vault

LOOK_S = 0.5


def watch_late_writes(vault: Vault) -> None:
    """After a change, watch the files it replaced for a while."""
    if len(vault.notes.late):
        vault.background.run_follow_up(partial(_watch, vault))


async def _watch(vault: Vault) -> None:
    late, pool = vault.notes.late, vault.shared.pool
    try:
        while len(late):
            await asyncio.sleep(LOOK_S)
            await run_in(pool, _keep_due, vault)
    finally:
        _keep_copies(vault, late.close())  # the vault is closing: now or never


def _keep_due(vault: Vault) -> None:
    # Taken on the worker thread: a call still queued when the vault closes has then taken nothing.
    _keep_copies(vault, vault.notes.late.due(time.monotonic()))


def _keep_copies(vault: Vault, found: Sequence[LateWrite]) -> None:
    now = datetime.now(UTC)
    for late in found:
        try:
            _keep_copy(vault, late, now)
        except StrongroomError:  # the disk is full, or the folder went away: retried on the next look
            vault.notes.late.hold(late)


def _keep_copy(vault: Vault, late: LateWrite, now: datetime) -> None:
    for attempt in itertools.count():
        with suppress(AlreadyExists):
            vault.notes.tree.create(conflict_path(late.path, now, attempt), late.data)
            return
