"""The life of vaults, for the command line and the ``vaults`` tool alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from auth.access import EVERY_VAULT
from auth.principal import Principal
from auth.roles import Role
from ops.vault_life import folder_moves
from server.version import version
from vaults import registry
from vaults.db.sql import Writer
from vaults.db.transactions import Transactions
from vaults.errors import AlreadyExists, InvalidArgument
from vaults.files.atomic import write_atomic
from vaults.registry import NAME_RULE, VaultEntry, folder_of, is_valid_name
from vaults.settings import StorageSettings

if TYPE_CHECKING:
    from ops.vault_life.deletion import DeletedVault
    from server.services import Services


def is_admin_everywhere(services: Services, principal: Principal) -> bool:
    """Whether the caller is admin of every vault there is or will be."""
    return services.access_cache.current.role_in(principal, EVERY_VAULT) == Role.ADMIN


async def create(services: Services, name: str, path: Path | None = None) -> VaultEntry:
    """Register a vault and make its files. Raises ``InvalidArgument`` or ``AlreadyExists``."""
    entry = await register(services.control, services.data, services.settings.storage, name, path)
    await services.registry_cache.refresh()
    return entry


async def register(
    control: Transactions,
    data: Path,
    storage: StorageSettings,
    name: str,
    path: Path | None = None,
    *,
    also: Callable[[Writer], object] | None = None,
) -> VaultEntry:
    """``create`` without open services. The files come first: a kill in between leaves files that the next attempt
    takes over, never a registered vault without files. ``also`` runs in the registering transaction."""
    if not is_valid_name(name):
        raise InvalidArgument("name", NAME_RULE)
    if control.is_shared:
        return await _register_shared(control, name, path, also)
    await folder_moves.finish_all(control, data)
    await control.read(lambda tx: folder_moves.refuse_if_moving(tx, name, path))
    entries = await control.read(registry.list_vaults)
    if any(entry.name == name for entry in entries):
        raise AlreadyExists(f"vault {name} exists already")
    if path is not None:
        _check_place(path.resolve(), data.resolve(), entries)
    from vaults.vault import create_files

    folder = folder_of(data, name, path)
    vault_id = await create_files(folder, storage)
    if path is not None:
        keep_out_of_git(folder)

    def write(tx: Writer) -> VaultEntry:
        folder_moves.refuse_if_moving(tx, name, path)
        entry = registry.create(tx, name, path, vault_id)
        if also is not None:
            also(tx)
        return entry

    return await control.write(write)


async def _register_shared(
    control: Transactions, name: str, path: Path | None, also: Callable[[Writer], object] | None
) -> VaultEntry:
    """Of several servers. Whichever takes the vault first makes its files, as none of them is the place for them."""
    from vaults.cluster.control import new_vaults

    if path is not None:
        raise InvalidArgument(
            "path", "must be left out in a cluster: a folder lies on one machine", hint="import its notes instead"
        )

    def write(tx: Writer) -> VaultEntry:
        entry = registry.create(tx, name)
        new_vaults.place(tx, entry.vault_id)
        if also is not None:
            also(tx)
        return entry

    return await control.write(write)


def keep_out_of_git(state: Path) -> None:
    """Make Git ignore a vault's state in a folder served in place: nobody should commit it."""
    if not (state / ".gitignore").exists():
        write_atomic(state / ".gitignore", b"*\n")


def _check_place(where: Path, data: Path, entries: Sequence[VaultEntry]) -> None:
    """Raise ``AlreadyExists`` or ``InvalidArgument`` if another vault would serve this folder's notes, or this one
    another's: grants are for vaults, not for folders."""
    others = [entry.path for entry in entries if entry.path is not None and entry.state == "active"]
    if any(_would_reach(where, other) or _would_reach(other, where) for other in others):
        raise AlreadyExists("another vault serves a folder in it, or around it", hint="choose folders side by side")
    if where == data or data in where.parents or _would_reach(where, data):
        raise InvalidArgument("path", "and the server's data folder must not lie in each other")


def _would_reach(outer: Path, inner: Path) -> bool:
    """Whether a scan of one folder's notes would reach the other. Scans skip hidden folders."""
    if outer not in inner.parents:
        return False
    return not any(part.startswith(".") for part in inner.relative_to(outer).parts)


async def archive(services: Services, name: str) -> VaultEntry:
    """Take a vault out of service and close it; its files stay. Raises ``NotFound``."""
    entry = await services.control.write(lambda tx: registry.archive(tx, name))
    await services.registry_cache.refresh()
    await services.pool.close_vault(name)
    return entry


async def unarchive(services: Services, name: str) -> VaultEntry:
    """Put an archived vault back into service. Raises ``NotFound`` or ``AlreadyExists``."""
    entry = await services.control.write(lambda tx: registry.unarchive(tx, name))
    await services.registry_cache.refresh()
    return entry


async def rename(services: Services, old: str, new: str) -> VaultEntry:
    """As ``renames.rename``, seen at once in this process."""
    if services.cluster is None:
        from ops.vault_life import renames

        entry = await renames.rename(services.control, services.data, old, new)
    else:
        from server.cluster import vault_life

        entry = await vault_life.rename(services.control, old, new)
    await _refresh(services)
    return entry


async def copy(services: Services, name: str, new: str) -> VaultEntry:
    """As ``copies.copy``, seen at once in this process."""
    if services.cluster is None:
        from ops.vault_life import copies

        settings = copies.CopySettings(version(), services.settings.storage, services.settings.notes)
        entry = await copies.copy(services.control, services.data, name, new, settings)
    else:
        from server.cluster import vault_copy

        place = vault_copy.CopyPlace(
            services.control, services.cluster.seat(), services.data, services.settings.storage
        )
        entry = await vault_copy.copy(place, name, new)
    await _refresh(services)
    return entry


async def delete(services: Services, name: str, *, confirm: str | None) -> DeletedVault:
    """As ``deletion.delete`` with a last backup, seen at once in this process."""
    if services.cluster is not None:
        from server.cluster import vault_life

        gone = await vault_life.delete(services, services.cluster.held, name, confirm=confirm)
        await _refresh(services)
        return gone
    from ops.vault_life import deletion
    from server.last_backups import back_up_last

    last = partial(back_up_last, services.control, services.data, services.settings)
    gone = await deletion.delete(services.control, services.data, name, confirm=confirm, last_backup=last)
    await _refresh(services)
    return gone


async def delete_lost(services: Services, name: str, *, confirm: str | None) -> DeletedVault:
    """As ``deletion.delete_lost``, seen at once in this process."""
    from ops.vault_life import deletion

    if services.cluster is not None:
        from server.cluster import vault_life

        vault_life.refuse_lost()

    gone = await deletion.delete_lost(services.control, services.data, name, confirm=confirm)
    await _refresh(services)
    return gone


async def _refresh(services: Services) -> None:
    await services.registry_cache.refresh()
    await services.access_cache.refresh()
