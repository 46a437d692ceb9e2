"""control.db of a process that serves vaults: opened, with what is kept of it in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from auth.access_cache import AccessCache
from auth.licence_file import LicenceFile
from ops.vault_life import folder_moves
from server.control_database import CONTROL_DB, migrate_control
from server.settings import Settings
from vaults import registry
from vaults.db.connection import Database
from vaults.db.transactions import Transactions
from vaults.files.permissions import FOLDER_MODE, make_private_folder, tighten_permissions
from vaults.observer import Observer
from vaults.registry_cache import RegistryCache


@dataclass(frozen=True, slots=True)
class ControlState:
    """control.db, and what is kept of it in memory."""

    db: Transactions
    registry_cache: RegistryCache
    access_cache: AccessCache
    licence: LicenceFile


@dataclass(frozen=True, slots=True)
class SharedControl:
    """The same, of several servers. ``follow`` takes up what others changed of the files that belong to it: on a
    thread, at each poll."""

    db: Transactions
    follow: Callable[[], object]


async def open_control(
    stack: AsyncExitStack,
    data: Path,
    settings: Settings,
    observer: Observer,
    followers: Sequence[Callable[[], object]],
    shared: SharedControl | None = None,
) -> ControlState:
    """Open it for a process that serves vaults, and do what a killed one left; ``stack`` closes it. ``followers``: run
    at each poll of the access cache. ``shared``: of several servers, which is open already."""
    if shared is None:
        control: Transactions = await _open_file(stack, data, settings, observer)
    else:
        # No migration, no copy before it, no folder to move: all of that is of files of one machine.
        control, followers = shared.db, (shared.follow, *followers)
    licence = LicenceFile(data, settings.limits, await registry.instance_id(control))
    await asyncio.to_thread(licence.refresh)
    registry_cache, access_cache = RegistryCache(control), AccessCache(control, followers=(*followers, licence.refresh))
    await registry_cache.start()
    stack.push_async_callback(registry_cache.close)
    await access_cache.start()
    stack.push_async_callback(access_cache.close)
    return ControlState(control, registry_cache, access_cache, licence)


async def _open_file(stack: AsyncExitStack, data: Path, settings: Settings, observer: Observer) -> Database:
    if not data.exists():  # an existing one may hold files of others
        make_private_folder(data)
    tighten_permissions(data / "vaults", FOLDER_MODE)
    control = Database(data / CONTROL_DB, settings.storage, observer)
    stack.push_async_callback(control.close)
    await migrate_control(control, settings.storage)
    await folder_moves.finish_all(control, data)
    return control
