"""Creating and archiving vaults, for the command line and the ``vaults`` tool alike."""

from __future__ import annotations

from pathlib import Path

from auth.access import EVERY_VAULT
from auth.principal import Principal
from auth.roles import Role
from server.services import Services
from vaults import registry
from vaults.registry import VaultEntry
from vaults.vault import create_files


def over_all(services: Services, principal: Principal) -> bool:
    """Whether the caller is admin of every vault there is or will be."""
    return services.board.current.role_in(principal, EVERY_VAULT) == Role.ADMIN


async def create(services: Services, name: str, path: Path | None = None) -> VaultEntry:
    """Register a vault and make its files. Raises ``InvalidArgument`` or ``AlreadyExists``."""
    entry = await services.control.write(lambda tx: registry.create(tx, name, path))
    await create_files(entry, services.pool.folder_of(entry), services.settings.storage)
    await services.roster.refresh()
    return entry


async def archive(services: Services, name: str) -> VaultEntry:
    """Take a vault out of service and close it; its files stay. Raises ``NotFound``."""
    entry = await services.control.write(lambda tx: registry.archive(tx, name))
    await services.roster.refresh()
    await services.pool.close_vault(name)
    return entry
