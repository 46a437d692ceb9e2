"""Deleting a vault for good."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

from auth import grants, plan_holders, tokens
from auth.oauth import client_logins, consents
from ops.vault_life import folder_moves
from ops.vault_life.folder_moves import FolderMove
from ops.vault_life.renames import GATE_WAIT_S
from vaults import registry
from vaults.context import run_to_completion
from vaults.db.sql import Writer
from vaults.db.transactions import Transactions
from vaults.errors import ConfirmationRequired, Conflict, InvalidArgument, VaultQuarantined, VaultUnavailable
from vaults.registry import VaultEntry, folder_of
from vaults.vault_gate import hold_exclusively

LastBackup: TypeAlias = Callable[[VaultEntry], Awaitable[Path]]
"""Backs up a vault that nobody has open and says where; raises what keeps it from being deleted."""


CONTROL_FILE = "control.db"
"""In a data folder: what lies there is an installation."""


@dataclass(frozen=True, slots=True)
class DeletedVault:
    """``backup``: the last backup; None where none was wanted."""

    entry: VaultEntry
    backup: Path | None


async def delete(
    control: Transactions, data: Path, name: str, *, confirm: str | None, last_backup: LastBackup | None
) -> DeletedVault:
    """Back a vault up a last time, unregister it with its grants, then overwrite and remove its files; of a folder
    served in place only what is ours. ``confirm``: the name again. Raises ``ConfirmationRequired``, ``NotFound``, what
    the backup raises, or ``VaultUnavailable`` while others keep it open; it stays as it was then."""
    entry = await _find_confirmed(control, data, name, confirm)
    folder = folder_of(data, name, entry.path)
    commit = partial(_commit, control, data, entry)
    if not folder.is_dir():
        if last_backup is not None:
            raise VaultQuarantined(
                f"the files of vault {name} are missing: nothing to back up",
                hint="is its disk mounted? If it is gone for good: --no-backup",
                reason="missing",
            )
        await commit()
        return DeletedVault(entry, None)
    async with hold_exclusively(folder, GATE_WAIT_S):
        backup = await last_backup(entry) if last_backup is not None else None
        await run_to_completion(commit())
    return DeletedVault(entry, backup)


async def delete_lost(control: Transactions, data: Path, name: str, *, confirm: str | None) -> DeletedVault:
    """As ``delete``, of a vault whose folder is gone: there is nothing to back up. Raises ``Conflict`` where the folder
    is there, as that of a disk that came back."""
    entry = await _find_confirmed(control, data, name, confirm)
    if folder_of(data, name, entry.path).is_dir():
        raise Conflict(f"the files of vault {name} are there: nothing was deleted", hint="a last backup can be made")
    await _commit(control, data, entry)
    return DeletedVault(entry, None)


async def _find_confirmed(control: Transactions, data: Path, name: str, confirm: str | None) -> VaultEntry:
    await folder_moves.finish_all(control, data)
    entry = await control.read(lambda tx: registry.get(tx, name))
    if confirm != name:
        raise ConfirmationRequired(f"deleting {name} cannot be undone", hint=f"say its name again: --confirm {name}")
    _refuse_installation(folder_of(data, name, entry.path), data)
    return entry


def _refuse_installation(folder: Path, data: Path) -> None:
    """Raise ``InvalidArgument`` for a vault whose folder is all there is of an installation, this or another one."""
    if folder == data.resolve():
        raise InvalidArgument("name", f"is the only vault of its folder: remove {folder} instead")
    if (folder / CONTROL_FILE).exists():
        raise InvalidArgument("name", f"lies in {folder}, which is another installation's data folder: remove that")


async def _commit(control: Transactions, data: Path, entry: VaultEntry) -> None:
    move = FolderMove(entry.vault_id, "erase", entry.name, path=entry.path)

    def write(tx: Writer) -> None:
        if registry.remove(tx, entry.name).vault_id != entry.vault_id:
            raise Conflict(f"vault {entry.name} is another one by now")
        if folder_moves.lies_elsewhere(tx, data, entry.vault_id):
            raise VaultUnavailable(f"the files of vault {entry.name} are not in their place yet", hint="try again")
        for table in (grants, plan_holders, tokens, client_logins, consents):
            table.remove_vault(tx, entry.name)
        folder_moves.forget(tx, entry.vault_id)  # a renaming whose folder is lost
        folder_moves.record(tx, move)

    await control.write(write)
    await folder_moves.carry_out(control, data, move)
