"""What other programs did to the folder of notes where it is a view of the vault's rows: in a cluster.

What somebody saves there by hand is kind to take up, and is an edit like any other from then on. That a file is
missing is no word to delete it: the folder is a copy on a disk that may burn, so the file comes back. Notes are moved
and deleted by tools.
"""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from vaults.context import run_in, run_to_completion
from vaults.db.connection import Database
from vaults.db.sql import Reader, Writer
from vaults.domain.notes.commit import journal, note_files, version_store
from vaults.domain.notes.commit.note_files import NoteFile, PackedNoteFile
from vaults.domain.notes.index.reconciliation import is_within
from vaults.errors import (
    AlreadyExists,
    Conflict,
    InvalidArgument,
    NotFound,
    ReadOnly,
    TooLarge,
    VaultUnavailable,
)
from vaults.files.file_batches import split_batches
from vaults.files.note_walk import SkippedPath
from vaults.files.tree import FileStamp, Tree
from vaults.files.whole_walk import WalkedFile
from vaults.vault import Vault

BATCH_FILES, BATCH_BYTES = 100, 4 * 1024 * 1024
"""Max files, and bytes of files, that are taken up in one transaction, while no tool may write."""


@dataclass(frozen=True, slots=True)
class FolderDifferences:
    """Where the folder is not what the rows say. ``unkept``: files that are too large to be kept, by path."""

    saved: list[WalkedFile] = field(default_factory=list)
    missing: list[NoteFile] = field(default_factory=list)
    unkept: list[str] = field(default_factory=list)


def compare_folder(
    rows: Iterable[NoteFile], found: Iterable[WalkedFile], unread: Sequence[str] = ()
) -> FolderDifferences:
    """Compare by size and time. ``unread``: folders that could not be listed, of which nothing counts as missing.
    Pure."""
    known, differing = {each.path: each for each in rows}, FolderDifferences()
    for each in found:
        row = known.pop(each.path, None)
        if each.stamp.size > note_files.MAX_BYTES:
            differing.unkept.append(each.path)
        elif row is None or not row.is_as(each.stamp):
            differing.saved.append(each)
    differing.missing.extend(each for each in known.values() if not is_within(each.path, unread))
    return differing


async def take_up_folder(vault: Vault, paths: Sequence[str] | None = None) -> None:
    """Keep what was saved in the whole folder, or at and below some paths, and bring back what is missing; on one
    machine, keep nothing. Raises ``StorageFull``, ``ReadOnly``, ``VaultUnavailable``, ``Overloaded``: what is left
    is taken up by the next look."""
    if not vault.keeps_note_files:
        if paths is None and not await vault.db.read(note_files.is_empty):
            await vault.db.write(note_files.clear)  # it comes from a cluster, and the folder is the truth from now on
        return
    differing = await _look(vault, paths)
    for batch in split_batches(differing.saved, BATCH_FILES, BATCH_BYTES):
        await run_to_completion(_keep(vault, batch))
    if differing.missing:
        await run_to_completion(_bring_back(vault, differing.missing))


async def keep_folder(db: Database, root: Path) -> list[SkippedPath]:
    """Have the rows of a vault that nobody serves say what its folder of notes holds, and nothing else; returns what
    cannot be kept: links, and names that are no text. Raises ``InvalidArgument`` for a file that is too large,
    ``VaultUnavailable`` for a folder that cannot be read."""
    await db.write(note_files.clear)
    if not root.exists():
        return []
    tree = Tree(root)
    walk = await asyncio.to_thread(tree.walk_whole)
    if walk.unread:
        raise VaultUnavailable(f"the folder {walk.unread[0]} of the notes cannot be read")
    kept = _refuse_large(sorted(walk.found, key=lambda each: each.path))
    for batch in split_batches(kept, BATCH_FILES, BATCH_BYTES):
        packed = await asyncio.to_thread(pack_saved, tree, batch, {})
        await db.write(partial(store_all, packed=packed))
    return walk.skipped


def _refuse_large(found: Sequence[WalkedFile]) -> Sequence[WalkedFile]:
    for each in found:
        if each.stamp.size > note_files.MAX_BYTES:
            limit = note_files.MAX_BYTES // 1024**2
            raise InvalidArgument(each.path, f"is larger than the {limit} MB of a file beside notes in a cluster")
    return found


async def _look(vault: Vault, paths: Sequence[str] | None) -> FolderDifferences:
    """Rows first: a file that a tool makes in between then looks saved, not missing, and is compared again."""
    if paths is None:
        rows = await vault.db.read(note_files.list_files)
        walks = [await run_in(vault.shared.pool, vault.notes.tree.walk_whole)]
    else:
        rows = await vault.db.read(lambda tx: note_files.find_files(tx, paths))
        walks = await run_in(vault.shared.pool, lambda: [vault.notes.tree.walk_whole(path) for path in paths])
    found = {each.path: each for walk in walks for each in walk.found}
    return compare_folder(rows, found.values(), [path for walk in walks for path in walk.unread])


async def _keep(vault: Vault, batch: Sequence[WalkedFile]) -> None:
    """With no tool at work, so that what is there is somebody's and whole."""
    async with vault.notes.writing():
        if await vault.db.read(journal.has_unfinished):
            return  # half of it may be in the folder
        rows = await vault.db.read(lambda tx: {each.path: each for each in note_files.find_files(tx, _paths(batch))})
        packed = await run_in(vault.shared.pool, pack_saved, vault.notes.tree, batch, rows)
        if packed:
            await vault.db.write(lambda tx: store_all(tx, packed))


def pack_saved(tree: Tree, batch: Sequence[WalkedFile], rows: dict[str, NoteFile]) -> list[PackedNoteFile]:
    """Those of the files that their rows do not say, as they are now. What cannot be read stays as its row has it.
    Blocking."""
    packed: list[PackedNoteFile] = []
    for each in batch:
        row, stamp = rows.get(each.path), tree.stamp(each.path)
        if stamp is None or (row is not None and row.is_as(stamp)):
            continue
        try:
            content = tree.read(each.path, note_files.MAX_BYTES)
        except (InvalidArgument, NotFound, ReadOnly, TooLarge):
            continue
        packed.append(note_files.pack_file(each.path, content, stat.S_IMODE(each.mode)))
    return packed


def store_all(tx: Writer, packed: Sequence[PackedNoteFile]) -> None:
    """Keep files as rows, in one transaction."""
    for each in packed:
        note_files.store(tx, each)


async def _bring_back(vault: Vault, missing: Sequence[NoteFile]) -> None:
    async with vault.notes.writing():
        if await vault.db.read(journal.has_unfinished):
            return
        for each in missing:
            data = await vault.db.read(partial(_read_kept, each=each))
            if data is None:
                continue
            stamp = await run_in(vault.shared.pool, _create, vault.notes.tree, each.path, data)
            if stamp is not None:
                await vault.db.write(
                    partial(note_files.put, path=each.path, version=each.version, mtime_ns=stamp.mtime_ns)
                )


def _read_kept(tx: Reader, each: NoteFile) -> bytes | None:
    """Its bytes, unless its row has changed since it was listed."""
    if each not in note_files.find_files(tx, [each.path]):
        return None
    return version_store.read_version(tx, each.version)


def _create(tree: Tree, path: str, data: bytes) -> FileStamp | None:
    try:
        return tree.create(path, data)
    except (AlreadyExists, Conflict, InvalidArgument):  # something else stands there by now
        return None


def _paths(batch: Iterable[WalkedFile]) -> list[str]:
    return [each.path for each in batch]
