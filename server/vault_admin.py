"""Creating and archiving vaults, for the command line and the ``vaults`` tool alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from auth.access import EVERY_VAULT
from auth.principal import Principal
from auth.roles import Role
from server.services import Services
from vaults import registry
from vaults.db.connection import Database
from vaults.db.sql import Writer
from vaults.errors import AlreadyExists, InvalidArgument
from vaults.registry import NAME_RULE, VaultEntry, folder_of, valid_name
from vaults.settings import StorageSettings
from vaults.vault import prepare_files


def over_all(services: Services, principal: Principal) -> bool:
    """Whether the caller is admin of every vault there is or will be."""
    return services.board.current.role_in(principal, EVERY_VAULT) == Role.ADMIN


async def create(services: Services, name: str, path: Path | None = None) -> VaultEntry:
    """Register a vault and make its files. Raises ``InvalidArgument`` or ``AlreadyExists``."""
    entry = await register(services.control, services.data, services.settings.storage, name, path)
    await services.roster.refresh()
    return entry


async def register(
    control: Database,
    data: Path,
    storage: StorageSettings,
    name: str,
    path: Path | None = None,
    *,
    also: Callable[[Writer], None] | None = None,
) -> VaultEntry:
    """As ``create``, where no services are open. The files come first: a kill in between leaves files that the next
    attempt takes over, never a registered vault without them. ``also`` runs in the registering transaction."""
    if not valid_name(name):
        raise InvalidArgument("name", NAME_RULE)
    if await control.read(lambda tx: any(entry.name == name for entry in registry.listed(tx))):
        raise AlreadyExists(f"vault {name} exists already")
    folder = folder_of(data, name, path)
    vault_id = await prepare_files(folder, storage)

    def write(tx: Writer) -> VaultEntry:
        entry = registry.create(tx, name, path, vault_id)
        if also is not None:
            also(tx)
        return entry

    return await control.write(write)


async def archive(services: Services, name: str) -> VaultEntry:
    """Take a vault out of service and close it; its files stay. Raises ``NotFound``."""
    entry = await services.control.write(lambda tx: registry.archive(tx, name))
    await services.roster.refresh()
    await services.pool.close_vault(name)
    return entry
