"""Notes that lie in a folder of the user's own, brought to what a backup holds: written one by one, and what stood
there is kept aside, never deleted.

The wanted notes wait in the vault's state folder, and a row says so: whoever opens the vault after a kill goes on.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.notes.policy_paths import SUFFIX
from vaults.errors import NotFound, StrongroomError, VaultUnavailable
from vaults.files.atomic import sync_folder, write_atomic
from vaults.files.failures import disk_failure
from vaults.files.notebook import Notebook
from vaults.files.paths import join_path
from vaults.files.permissions import make_private_folder
from vaults.files.tree import FileContent, Tree
from vaults.vault import NOTES_FOLDER, Vault

WAITING, PLACED, ASIDE = "notes-to-place", "notes-placed", "replaced-"
KEY = "notes_to_place"
"""In ``vault_info`` while notes wait: the end of the name of the folder for what they replace."""

NOT_WRITTEN = "not-written"
"""Below that folder: notes of the backup that could not be written."""

_LIMIT = 1 << 30
_POLICIES = 10_000


@dataclass(slots=True)
class PlacedNotes:
    """What was done to notes, by path. ``written``: as the backup has them; ``removed``: not in the backup; what stood
    there lies below ``aside``, and so do those of the backup that could not be written (``failed``, and why)."""

    aside: Path
    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def are_waiting(tx: Reader) -> bool:
    """Whether notes wait to be placed."""
    return tx.one("SELECT 1 FROM vault_info WHERE key = :key", {"key": KEY}) is not None


async def let_wait(vault: Vault, token: str) -> None:
    """Have the notes of a vault that was restored apart from its place wait for ``place_waiting``. Call last."""
    await vault.db.write(
        lambda tx: tx.run("INSERT INTO vault_info VALUES (:key, :token)", {"key": KEY, "token": token})
    )
    await run_in(vault.shared.pool, (vault.folder / NOTES_FOLDER).rename, vault.folder / WAITING)


async def place_waiting(vault: Vault) -> PlacedNotes | None:
    """Write the notes that wait into the folder the vault serves; None if none wait. Nobody else may have the vault
    open meanwhile; programs of the user may change files. Raises ``StorageFull``, ``ReadOnly``, ``VaultUnavailable``:
    then some are written and the others go on waiting."""
    token = await vault.db.read(lambda tx: tx.value("SELECT value FROM vault_info WHERE key = :key", {"key": KEY}))
    if token is None:
        return None
    try:
        placed = await run_in(
            vault.shared.pool, _place, vault.notes, vault.folder / WAITING, vault.folder / f"{ASIDE}{token}"
        )
    except OSError as failure:
        raise disk_failure(failure) or VaultUnavailable(
            "notes of the backup cannot be written yet", hint="look at the disk of the folder that is served"
        ) from failure
    await vault.db.write(lambda tx: tx.run("DELETE FROM vault_info WHERE key = :key", {"key": KEY}))
    return placed


def _place(notes: Notebook, waiting: Path, aside: Path) -> PlacedNotes:
    tree, placed = notes.tree, PlacedNotes(aside)
    placed_already = waiting.with_name(PLACED)
    if not waiting.exists():  # killed over the last step
        _remove(placed_already)
        return placed
    wanted = set(_files_below(waiting))
    for path in sorted(wanted):
        data = (waiting / path).read_bytes()
        try:
            if _write(tree, path, data, aside):
                placed.written.append(path)
        except StrongroomError as failure:
            placed.failed[path] = failure.message
            _keep(aside / NOT_WRITTEN / path, data)
    policies = notes.settings.policies
    stand = [each.path for each in tree.walk().found]
    stand += [join_path(policies, f"{name}{SUFFIX}") for name in tree.list_names(policies, SUFFIX, _POLICIES)]
    for path in (path for path in stand if path not in wanted):
        try:
            _take_away(tree, path, aside)
            placed.removed.append(path)
        except StrongroomError as failure:
            placed.failed[path] = failure.message
    # By another name at once: of half of them, whoever goes on would take the other half for notes that are not wanted.
    waiting.rename(placed_already)
    sync_folder(waiting.parent)
    _remove(placed_already)
    return placed


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def _write(tree: Tree, path: str, data: bytes, aside: Path) -> bool:
    """Whether anything had to be changed."""
    here = _read(tree, path)
    if here is None:
        tree.create(path, data)
        return True
    if here.data == data:
        return False
    _keep(aside / path, here.data)
    tree.replace(path, data, here.stamp)
    return True


def _take_away(tree: Tree, path: str, aside: Path) -> None:
    here = _read(tree, path)
    if here is not None:
        _keep(aside / path, here.data)
        tree.remove(path, here.stamp)


def _keep(copy: Path, data: bytes) -> None:
    if copy.exists():  # from before a kill: what stands there now came later, and is kept too
        if copy.read_bytes() == data:
            return
        copy = next(name for n in range(2, 1_000_000) if not (name := copy.with_name(f"{copy.name}.{n}")).exists())
    make_private_folder(copy.parent)
    write_atomic(copy, data)


def _read(tree: Tree, path: str) -> FileContent | None:
    try:
        return tree.read(path, _LIMIT)
    except NotFound:
        return None


def _files_below(folder: Path) -> Iterator[str]:
    for where, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            yield (Path(where) / name).relative_to(folder).as_posix()
