"""Renaming and deleting vaults whose files are wherever they are held: rows, which all servers see at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auth import grants, plan_holders, tokens
from auth.oauth import client_logins, consents
from server.last_backups import back_up_last
from vaults import registry
from vaults.cluster.held_vaults import HeldVaults
from vaults.cluster.postgres import placements
from vaults.context import run_to_completion
from vaults.db.sql import Writer
from vaults.db.transactions import Transactions
from vaults.errors import ConfirmationRequired, Conflict, InvalidArgument
from vaults.registry import NAME_RULE, VaultEntry, is_valid_name
from vaults.vault_gate import hold_exclusively

if TYPE_CHECKING:
    from ops.vault_life.deletion import DeletedVault
    from server.services import Services

GATE_WAIT_S = 15.0
"""Seconds that calls have to let go of a vault that is to be deleted."""

OF_VAULTS = (grants, plan_holders, tokens, client_logins, consents)
"""What names vaults in control's tables."""


async def rename(control: Transactions, old: str, new: str) -> VaultEntry:
    """Give a vault another name; its URL, grants, plan and the vaults of tokens go along. Raises ``NotFound``,
    ``InvalidArgument``, ``AlreadyExists``."""
    if not is_valid_name(new):
        raise InvalidArgument("name", NAME_RULE)

    def write(tx: Writer) -> VaultEntry:
        renamed = registry.rename(tx, old, new)
        for table in OF_VAULTS:
            table.rename_vault(tx, old, new)
        return renamed

    return await control.write(write)


async def delete(services: Services, held: HeldVaults, name: str, *, confirm: str | None) -> DeletedVault:
    """Back a vault up a last time, on this server, which is given it for that, then remove its rows, log and bases, and
    what goes by its name. ``confirm``: the name again. Raises ``ConfirmationRequired``, ``NotFound``,
    ``VaultUnavailable`` where others do not hand it over, what the backup raises; it stays as it was then."""
    from ops.vault_life.deletion import DeletedVault

    control = services.control
    entry = await control.read(lambda tx: registry.get(tx, name))
    if confirm != name:
        raise ConfirmationRequired(f"deleting {name} cannot be undone", hint=f"say its name again: --confirm {name}")
    await held.ask_for(entry)
    async with held.keep(entry.vault_id):  # closed for this, it would be one that nobody uses
        async with services.pool.lease(entry):  # its files are laid out once it was opened
            pass
        async with hold_exclusively(held.folder_of(entry), GATE_WAIT_S):
            backup = await back_up_last(control, services.data, services.settings, entry, held.folder_of)
            await run_to_completion(_remove(control, held, entry))
    return DeletedVault(entry, backup)


def refuse_lost() -> None:
    """Raise ``Conflict``: what a cluster's database holds of a vault is not lost with a folder."""
    raise Conflict(
        "the files of a vault are the cluster's, and are not lost: nothing was deleted",
        hint="delete it as one that is there",
    )


async def _remove(control: Transactions, held: HeldVaults, entry: VaultEntry) -> None:
    def write(tx: Writer) -> None:
        if registry.remove(tx, entry.name).vault_id != entry.vault_id:
            raise Conflict(f"vault {entry.name} is another one by now")
        for table in OF_VAULTS:
            table.remove_vault(tx, entry.name)
        placements.remove_in(tx, entry.vault_id)

    await control.write(write)
    await held.forget(entry.vault_id)
