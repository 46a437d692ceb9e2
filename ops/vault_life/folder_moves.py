"""The table ``folder_moves``: what is still to be done to the folder of a vault after the registry said so.

Whatever changes a vault's place commits registry, grants and such a row in one transaction. From then on the change is
made; moving or erasing the folder only follows, at once, or after a kill when the next process starts or somebody asks
for the vault. Until then the name that fell free is nobody's: a new vault there would find the old one's files.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from ops.vault_life.erasure import erase_folder
from vaults import clock
from vaults.db.connection import Database
from vaults.db.sql import Reader, Writer
from vaults.errors import NotFound, ReadOnly, StorageFull, VaultUnavailable
from vaults.files.atomic import sync_folder
from vaults.files.failures import disk_failure
from vaults.files.writes.renames import FolderEntry, rename_folder
from vaults.registry import VaultEntry, folder_of
from vaults.transcripts.harvest_state import state_folder
from vaults.vault_gate import hold_exclusively

FINISH_WAIT_S = 5.0
"""Seconds the next process waits for those who have the folder open to give it up."""


@dataclass(frozen=True, slots=True)
class FolderMove:
    """A row. ``path``: the folder of a vault served in place; ``to_name``: of a rename."""

    vault_id: str
    kind: Literal["rename", "erase"]
    from_name: str
    to_name: str | None = None
    path: Path | None = None


def record(tx: Writer, move: FolderMove) -> None:
    """Note what is to be done, in the transaction that makes it so."""
    tx.run(
        "INSERT INTO folder_moves (vault_id, kind, from_name, to_name, path, since)"
        " VALUES (:vault_id, :kind, :from_name, :to_name, :path, :since)",
        {**asdict(move), "path": str(move.path) if move.path else None, "since": clock.now()},
    )


def list_moves(tx: Reader) -> list[FolderMove]:
    """What is still to be done, oldest first."""
    rows = tx.all("SELECT vault_id, kind, from_name, to_name, path FROM folder_moves ORDER BY since, vault_id")
    return [
        FolderMove(vault_id, kind, from_name, to_name, Path(path) if path else None)
        for vault_id, kind, from_name, to_name, path in rows
    ]


def refuse_if_moving(tx: Reader, name: str) -> None:
    """Raise ``VaultUnavailable`` while files that lie under this name are another vault's."""
    if tx.one("SELECT 1 FROM folder_moves WHERE :name IN (from_name, to_name)", {"name": name}):
        raise VaultUnavailable(
            f"the files of a vault that was called {name} are still in place", hint="try again in a few seconds"
        )


async def finish_all(control: Database, data: Path) -> None:
    """Do what was left. What cannot be done now, since others keep the vault open or its disk cannot be written, stays
    noted for the next process: it keeps nobody from serving the other vaults."""
    for move in await control.read(list_moves):
        with suppress(VaultUnavailable, ReadOnly, StorageFull):
            await _finish(control, data, move)


async def find_folder(control: Database, data: Path, entry: VaultEntry) -> None:
    """Called for a vault whose folder is missing: do what was left for it. Raises ``NotFound`` if it has another name
    by now, or is gone: whoever asks looked it up a moment ago."""
    for move in await control.read(list_moves):
        if move.vault_id == entry.vault_id:
            await _finish(control, data, move)
    if entry.vault_id not in await control.read(lambda tx: _ids_of(tx, entry.name)):
        raise NotFound("no such vault, or no grant for it")


def _ids_of(tx: Reader, name: str) -> set[str]:
    return {vault_id for (vault_id,) in tx.all("SELECT vault_id FROM vaults WHERE name = :name", {"name": name})}


async def _finish(control: Database, data: Path, move: FolderMove) -> None:
    source = folder_of(data, move.from_name, move.path)
    if source.is_dir() and _is_moved(move):
        try:
            async with hold_exclusively(source, FINISH_WAIT_S):
                await carry_out(control, data, move)
        except VaultUnavailable:
            if source.is_dir():
                raise
    await carry_out(control, data, move)


def _is_moved(move: FolderMove) -> bool:
    return move.kind == "erase" or move.path is None


async def carry_out(control: Database, data: Path, move: FolderMove) -> None:
    """Move or erase the folder, which the caller has alone, and forget the row. What is done already is not done
    again."""
    work = _move_folder if move.kind == "rename" else _erase
    try:
        await asyncio.to_thread(work, data, move)
    except OSError as failure:
        raise disk_failure(failure) or VaultUnavailable(
            "the vault's folder cannot be moved", hint="the operator must check owner and mode of the data folder"
        ) from failure
    await control.write(
        lambda tx: tx.run("DELETE FROM folder_moves WHERE vault_id = :vault_id", {"vault_id": move.vault_id})
    )


def _move_folder(data: Path, move: FolderMove) -> None:
    assert move.to_name is not None
    harvested, kept = (state_folder(data, name) for name in (move.from_name, move.to_name))
    if harvested.is_dir() and not kept.exists():
        harvested.rename(kept)
    if move.path is not None:  # its folder has a name of the user's
        return
    source, target = (folder_of(data, name, None) for name in (move.from_name, move.to_name))
    if source.is_dir():
        _rename_beside(source, target, unclaimed=f".unclaimed-{move.vault_id}")


def _rename_beside(source: Path, target: Path, *, unclaimed: str) -> None:
    parent = os.open(source.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if target.exists():
            # Left by an attempt to create a vault of the new name that lost the race; nobody's, and not ours to delete.
            rename_folder(FolderEntry(parent, target.name), FolderEntry(parent, unclaimed))
        rename_folder(FolderEntry(parent, source.name), FolderEntry(parent, target.name))
        os.fsync(parent)
    finally:
        os.close(parent)


def _erase(data: Path, move: FolderMove) -> None:
    folder = folder_of(data, move.from_name, move.path)
    aside = folder.with_name(f".erasing-{move.vault_id}")
    if folder.is_dir() and not aside.exists():
        # First out of everybody's sight: what a kill leaves half erased must not look like a vault.
        folder.rename(aside)
        sync_folder(folder.parent)
    erase_folder(aside)
    erase_folder(state_folder(data, move.from_name))
