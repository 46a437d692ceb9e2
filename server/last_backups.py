"""The backup of a vault that is about to be deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from server import backups
from server.settings import FILE, Settings
from vaults.db.transactions import Transactions
from vaults.registry import VaultEntry


async def back_up_last(
    control: Transactions,
    data: Path,
    settings: Settings,
    entry: VaultEntry,
    folder_of: Callable[[VaultEntry], Path] | None = None,
) -> Path:
    """Back a vault up whose folder the caller has alone, as ``strongroom backup`` does, and say where. ``folder_of``:
    where its files lie, where that is not in the data folder. Raises what keeps it from being backed up: then it is
    not deleted."""
    from ops.backup.back_up import back_up_held_vault

    passphrase_file = settings.auth.key_passphrase_file
    order = await asyncio.to_thread(backups.make_order, settings.backup, data, key_passphrase_file=passphrase_file)
    home = replace(backups.describe_installation(control, data, data / FILE, settings), folder_of=folder_of)
    return Path((await back_up_held_vault(home, entry, order)).run.target)
