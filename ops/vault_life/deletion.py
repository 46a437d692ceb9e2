"""Deleting a vault for good."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from auth import grants, plan_holders, tokens
from ops.vault_life import folder_moves
from ops.vault_life.folder_moves import FolderMove
from ops.vault_life.renames import GATE_WAIT_S
from vaults import registry
from vaults.context import run_to_completion
from vaults.db.connection import Database
from vaults.db.sql import Writer
from vaults.errors import ConfirmationRequired, Conflict, InvalidArgument, VaultQuarantined
from vaults.registry import VaultEntry, folder_of
from vaults.vault_gate import hold_exclusively

LastBackup: TypeAlias = Callable[[VaultEntry], Awaitable[Path]]
"""Backs up a vault that nobody has open and says where; raises what keeps it from being deleted."""


@dataclass(frozen=True, slots=True)
class DeletedVault:
    """``backup``: the last backup; None where none was wanted."""

    entry: VaultEntry
    backup: Path | None


async def delete(
    control: Database, data: Path, name: str, *, confirm: str | None, last_backup: LastBackup | None
) -> DeletedVault:
    """Back a vault up a last time, unregister it with its grants, then overwrite and remove its files; of a folder
    served in place only what is ours. ``confirm``: the name again. Raises ``ConfirmationRequired``, ``NotFound``, what
    the backup raises, or ``VaultUnavailable`` while others keep it open; it stays as it was then."""
    await folder_moves.finish_all(control, data)
    entry = await control.read(lambda tx: registry.get(tx, name))
    if confirm != name:
        raise ConfirmationRequired(f"deleting {name} cannot be undone", hint=f"say its name again: --confirm {name}")
    folder = folder_of(data, name, entry.path)
    if folder == data.resolve():
        raise InvalidArgument("name", f"is the only vault of its folder: remove {folder} instead")
    move = FolderMove(entry.vault_id, "erase", name, path=entry.path)

    def write(tx: Writer) -> None:
        if registry.remove(tx, name).vault_id != entry.vault_id:
            raise Conflict(f"vault {name} is another one by now")
        for table in (grants, plan_holders, tokens):
            table.remove_vault(tx, name)
        folder_moves.record(tx, move)

    if not folder.is_dir():
        if last_backup is not None:
            raise VaultQuarantined(
                f"the files of vault {name} are missing: nothing to back up",
                hint="is its disk mounted? If it is gone for good: --no-backup",
                reason="missing",
            )
        await _commit(control, data, write, move)
        return DeletedVault(entry, None)
    async with hold_exclusively(folder, GATE_WAIT_S):
        backup = await last_backup(entry) if last_backup is not None else None
        await run_to_completion(_commit(control, data, write, move))
    return DeletedVault(entry, backup)


async def _commit(control: Database, data: Path, write: Callable[[Writer], None], move: FolderMove) -> None:
    await control.write(write)
    await folder_moves.carry_out(control, data, move)
