"""A project's own vault, in ``.strongroom`` of its folder: found from every folder below, by any number of windows.

``DIR/.strongroom`` is a complete data folder: control.db, the vault's files, settings if there are any. So it moves
with the project, needs nothing else on the machine, and is uninstalled by deleting it.
"""

from __future__ import annotations

import re
from pathlib import Path

from server import vault_admin
from server.settings import LoadedSettings
from vaults import registry
from vaults.db.transactions import Transactions
from vaults.errors import AlreadyExists, InvalidArgument
from vaults.files.permissions import make_private_folder
from vaults.registry import STATE_FOLDER, VaultEntry, is_valid_name


def find_project(start: Path) -> Path | None:
    """The nearest folder, ``start`` or above, that holds ``.strongroom/``."""
    for folder in (start, *start.parents):
        if (folder / STATE_FOLDER).is_dir():
            return folder
    return None


def make_state_folder(folder: Path) -> Path:
    """The data folder of a project, made if need be. Raises ``InvalidArgument`` if ``folder`` cannot hold one."""
    if not folder.is_dir():
        raise InvalidArgument("path", f"{folder} is not a folder")
    state = folder.resolve() / STATE_FOLDER
    try:
        make_private_folder(state)
        vault_admin.keep_out_of_git(state)
    except OSError as failure:
        raise InvalidArgument("path", f"{folder} cannot be written: {failure.strerror}") from failure
    return state


async def open_project_vault(control: Transactions, loaded: LoadedSettings, folder: Path) -> VaultEntry:
    """The vault of a project: made on first use, relocated if the folder was moved."""
    folder = folder.resolve()
    entry = _find_own(await control.read(registry.list_vaults))
    if entry is None:
        name = _name_for(folder)
        try:
            return await vault_admin.register(control, loaded.data, loaded.settings.storage, name, folder)
        except AlreadyExists:  # another window was faster
            entry = _find_own(await control.read(registry.list_vaults))
            if entry is None:
                raise
    if entry.path == folder:
        return entry
    moved = entry.name
    return await control.write(lambda tx: registry.relocate(tx, moved, folder))


def _find_own(entries: list[VaultEntry]) -> VaultEntry | None:
    return next((entry for entry in entries if entry.path is not None and entry.state == "active"), None)


def _name_for(folder: Path) -> str:
    name = re.sub(r"[^a-z0-9._-]+", "-", folder.name.lower())[:63].strip("._-")
    return name if is_valid_name(name) else "project"
