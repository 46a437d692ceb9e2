"""The table ``folder_moves``: what is still to be done to the folder of a vault after the registry said so.

Whatever changes a vault's place commits registry, grants and such a row in one transaction. From then on the change is
made; moving or erasing the folder only follows, at once, or after a kill when the next process starts or somebody asks
for the vault. Until then the name that fell free is nobody's: a new vault there would find the old one's files.

A row may be read long before it is acted on, and by several processes. So whoever acts has the folder alone, looks at
the row again, and leaves a folder that is another vault's as it is.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from uuid_utils import uuid7

from ops.vault_life.erasure import erase_folder
from vaults import clock
from vaults.db.connection import open_raw
from vaults.db.failures import translate_sqlite_errors
from vaults.db.sql import Reader, Writer
from vaults.db.transactions import Transactions
from vaults.errors import NotFound, ReadOnly, StorageFull, StrongroomError, VaultUnavailable
from vaults.files.atomic import sync_folder
from vaults.files.failures import disk_failure
from vaults.files.writes.renames import FolderEntry, rename_folder
from vaults.registry import DATABASE_FILE, VaultEntry, folder_of
from vaults.settings import StorageSettings
from vaults.transcripts.harvest_state import state_folder
from vaults.vault_gate import hold_exclusively

ERASING, UNCLAIMED = ".erasing-", ".unclaimed-"
"""Prefixes of folders: what is left of a deleted vault; what stood in the way of a vault, and is nobody's."""

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


def forget(tx: Writer, vault_id: str) -> None:
    """Strike out what was to be done to a vault's folder."""
    tx.run("DELETE FROM folder_moves WHERE vault_id = :vault_id", {"vault_id": vault_id})


def refuse_if_moving(tx: Reader, name: str, path: Path | None = None) -> None:
    """Raise ``VaultUnavailable`` while files that lie under this name, or are those of a vault served in the folder
    ``path``, are another vault's."""
    taken = {"name": name, "path": None if path is None else str(path.resolve())}
    if tx.one("SELECT 1 FROM folder_moves WHERE :name IN (from_name, to_name) OR path = :path", taken):
        raise VaultUnavailable(
            f"the files of a vault that was called {name}, or lay there, are still in place",
            hint="try again in a few seconds; strongroom doctor says what keeps them",
        )


async def finish_all(control: Transactions, data: Path) -> None:
    """Do what was left. What cannot be done now, since others keep the vault open or its disk cannot be written, stays
    noted for the next process: it keeps nobody from serving the other vaults."""
    await asyncio.gather(*(_try_to_finish(control, data, move) for move in await control.read(list_moves)))


async def _try_to_finish(control: Transactions, data: Path, move: FolderMove) -> None:
    with suppress(VaultUnavailable, ReadOnly, StorageFull):
        await _finish(control, data, move)


async def find_folder(control: Transactions, data: Path, entry: VaultEntry) -> None:
    """Called for a vault whose folder is missing: do what was left for it. Raises ``NotFound`` if it has another name
    by now, or is gone: whoever asks looked it up a moment ago."""
    for move in await control.read(list_moves):
        if move.vault_id == entry.vault_id:
            await _finish(control, data, move)
    if entry.vault_id not in await control.read(lambda tx: _ids_of(tx, entry.name)):
        raise NotFound("no such vault, or no grant for it")


async def forget_absent(control: Transactions, data: Path) -> None:
    """Strike out what was to be done to folders that are not in this data folder: control.db came from elsewhere."""
    for move in await control.read(list_moves):
        if not folder_of(data, move.from_name, move.path).is_dir() and not aside_of(data, move).is_dir():
            await _strike_out(control, move)


async def forget_lost(control: Transactions, data: Path, vault_id: str) -> None:
    """Strike out a renaming whose folder is not there, of a vault that is about to be restored in its new place."""
    for move in await control.read(list_moves):
        if (move.vault_id, move.kind) == (vault_id, "rename") and not folder_of(
            data, move.from_name, move.path
        ).is_dir():
            await _strike_out(control, move)


def lies_elsewhere(tx: Reader, data: Path, vault_id: str) -> bool:
    """Whether a vault's folder still has the name it had before."""
    return any(
        move.vault_id == vault_id and folder_of(data, move.from_name, move.path).is_dir() for move in list_moves(tx)
    )


def _ids_of(tx: Reader, name: str) -> set[str]:
    return {vault_id for (vault_id,) in tx.all("SELECT vault_id FROM vaults WHERE name = :name", {"name": name})}


async def _finish(control: Transactions, data: Path, move: FolderMove) -> None:
    source = folder_of(data, move.from_name, move.path)
    if source.is_dir() and _is_moved(move):
        try:
            async with hold_exclusively(source, FINISH_WAIT_S):
                await carry_out(control, data, move)
                return
        except VaultUnavailable:
            if source.is_dir():
                raise
    if move in await control.read(list_moves):
        await _run(_conclude, data, move)
        await _strike_out(control, move)


def _is_moved(move: FolderMove) -> bool:
    return move.kind == "erase" or move.path is None


async def carry_out(control: Transactions, data: Path, move: FolderMove) -> None:
    """Move or erase the folder, which the caller has alone, and strike out the row. What is done already is not done
    again."""
    if move not in await control.read(list_moves):
        return
    await _run(_take, data, move)
    await _run(_conclude, data, move)
    await _strike_out(control, move)


async def _run(work: Callable[[Path, FolderMove], None], data: Path, move: FolderMove) -> None:
    try:
        await asyncio.to_thread(work, data, move)
    except OSError as failure:
        raise disk_failure(failure) or VaultUnavailable(
            "the vault's folder cannot be moved", hint="the operator must check owner and mode of the data folder"
        ) from failure


async def _strike_out(control: Transactions, move: FolderMove) -> None:
    await control.write(lambda tx: forget(tx, move.vault_id))


def _take(data: Path, move: FolderMove) -> None:
    """Take the folder from the place that is somebody else's from now on."""
    source = folder_of(data, move.from_name, move.path)
    if not _is_moved(move) or not source.is_dir() or not _is_of(source, move.vault_id):
        return
    if move.kind == "rename":
        assert move.to_name is not None
        _rename_beside(source, folder_of(data, move.to_name, None))
    elif not (aside := aside_of(data, move)).exists():
        # First out of everybody's sight: what a kill leaves half erased must not look like a vault.
        source.rename(aside)
        sync_folder(source.parent)


def aside_of(data: Path, move: FolderMove) -> Path:
    """Where the folder of a deleted vault lies while it is erased."""
    return folder_of(data, move.from_name, move.path).with_name(f"{ERASING}{move.vault_id}")


def _is_of(folder: Path, vault_id: str) -> bool:
    """Whether a folder is this vault's; where that cannot be read, its place is believed."""
    database = folder / DATABASE_FILE
    if not database.is_file():
        return True
    try:
        with translate_sqlite_errors(), closing(open_raw(database, StorageSettings(), writer=False)) as raw:
            found = raw.execute("SELECT value FROM vault_info WHERE key = 'vault_id'").fetchone()
    except StrongroomError:
        return True
    return found is None or found[0] == vault_id


def _rename_beside(source: Path, target: Path) -> None:
    parent = os.open(source.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if target.exists():
            # Left by an attempt to create a vault of the new name that lost the race; nobody's, and not ours to delete.
            rename_folder(FolderEntry(parent, target.name), FolderEntry(parent, f"{UNCLAIMED}{uuid7()}"))
        rename_folder(FolderEntry(parent, source.name), FolderEntry(parent, target.name))
        os.fsync(parent)
    finally:
        os.close(parent)


def _conclude(data: Path, move: FolderMove) -> None:
    """What is left to do once nothing of the vault lies in its old place."""
    if move.kind == "erase":
        erase_folder(aside_of(data, move))
        erase_folder(state_folder(data, move.from_name))
        return
    assert move.to_name is not None
    if move.path is None and not folder_of(data, move.to_name, None).is_dir():
        raise VaultUnavailable("the vault's folder is not there", hint="is its disk mounted?")
    harvested, kept = (state_folder(data, name) for name in (move.from_name, move.to_name))
    if harvested.is_dir() and not kept.exists():
        harvested.rename(kept)
