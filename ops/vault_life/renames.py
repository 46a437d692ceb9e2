"""Giving a vault another name, and everything that goes by it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from auth import grants, plan_holders, tokens
from auth.oauth import client_logins, consents
from ops.vault_life import folder_moves
from ops.vault_life.folder_moves import FolderMove
from vaults import registry
from vaults.context import run_to_completion
from vaults.db.sql import Reader, Writer
from vaults.db.transactions import Transactions
from vaults.errors import AlreadyExists, InvalidArgument
from vaults.registry import NAME_RULE, VaultEntry, folder_of, is_valid_name
from vaults.vault_gate import hold_exclusively

GATE_WAIT_S = 15.0
"""Seconds those who have the vault open are given to close it."""


async def rename(control: Transactions, data: Path, old: str, new: str) -> VaultEntry:
    """Rename a vault: its URL, grants, plan and the vaults of tokens go along; the old name is nobody's. Calls in
    flight get ``vault_unavailable``. Raises ``NotFound``, ``InvalidArgument``, ``AlreadyExists``, or
    ``VaultUnavailable`` while others keep it open; nothing is changed then."""
    if not is_valid_name(new):
        raise InvalidArgument("name", NAME_RULE)
    await folder_moves.finish_all(control, data)
    entry = await control.read(lambda tx: _renamable(tx, old, new))
    if entry.path is None and folder_of(data, new, None).exists():
        raise AlreadyExists(f"a folder called {new} lies among the vaults", hint="move it away, or choose another name")
    move = FolderMove(entry.vault_id, "rename", old, new, entry.path)

    def write(tx: Writer) -> VaultEntry:
        _renamable(tx, old, new)
        renamed = registry.rename(tx, old, new)
        for table in (grants, plan_holders, tokens, client_logins, consents):
            table.rename_vault(tx, old, new)
        folder_moves.record(tx, move)
        return renamed

    async with hold_exclusively(folder_of(data, old, entry.path), GATE_WAIT_S):
        return await run_to_completion(_commit(control, data, write, move))


async def _commit(
    control: Transactions, data: Path, write: Callable[[Writer], VaultEntry], move: FolderMove
) -> VaultEntry:
    renamed = await control.write(write)
    await folder_moves.carry_out(control, data, move)
    return renamed


def _renamable(tx: Reader, old: str, new: str) -> VaultEntry:
    for name in (old, new):
        folder_moves.refuse_if_moving(tx, name)
    entry = registry.get(tx, old)
    if tx.one("SELECT 1 FROM vaults WHERE name = :name", {"name": new}):
        raise AlreadyExists(f"vault {new} exists already")
    return entry
