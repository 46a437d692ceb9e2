"""One note or one memory out of a backup, put back into a vault that goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ops.backup import restore_places, restored_vault
from ops.backup.extraction import extract, on_thread
from ops.backup.manifest import BackupManifest
from ops.backup.member_paths import NOTES, VAULT_DATABASE
from ops.backup.source import BackupSource
from vaults.db.connection import Database
from vaults.db.migration import migrate
from vaults.domain.actors import Actor
from vaults.domain.maintenance import memory_copies
from vaults.domain.memories.memory_model import Memory
from vaults.domain.notes.edit import reversals
from vaults.domain.notes.edit.edit_results import EditResult
from vaults.domain.notes.edit.reversals import UndoRequest
from vaults.domain.notes.policy_paths import parse_path
from vaults.errors import NotFound, TooLarge
from vaults.vault import Vault


async def restore_note(vault: Vault, actor: Actor, source: BackupSource, request: UndoRequest) -> EditResult:
    """Write the note ``request.path`` as the backup has it, byte for byte. What stands there now stays in the history,
    and ``history`` undoes this like any change. Raises ``NotFound``, ``TooLarge`` and what a change of a note
    raises."""
    path = parse_path(vault.notes.settings.policies, request.path or "")
    manifest, data = await read_note(vault, source, path)
    summary = f"restored {path} from the backup of {manifest.made_at}"
    return await reversals.restore_bytes(vault, actor, request, (path, data), summary)


async def read_note(vault: Vault, source: BackupSource, path: str) -> tuple[BackupManifest, bytes]:
    """The note, by its whole path, as a backup has it, and what that says of itself. Raises ``NotFound``,
    ``TooLarge``."""
    manifest = await asyncio.to_thread(source.read_manifest)
    restored_vault.check_manifest(manifest)
    member = manifest.find(f"{NOTES}/{path}")
    if member is None:
        raise NotFound(f"the backup of {manifest.made_at} holds no note {path}", hint="backup list shows other backups")
    most = vault.notes.settings.max_note
    if member.size > most:
        raise TooLarge(f"the note is of {member.size:,} bytes in it; a note may have {most:,}")
    async with restore_places.held_place(vault.folder) as place:
        await extract(source, place.scratch, lambda each: each == member.path)
        return manifest, await on_thread((place.scratch / member.path).read_bytes)


async def restore_memory(
    vault: Vault, source: BackupSource, memory_id: str, *, replacing: bool = False, viewer: Actor | None = None
) -> Memory:
    """Have a memory again as the backup has it, under its id, with its links. One that is there is left alone unless
    ``replacing``: then it says again what it said. ``viewer``: who must be allowed to see it; None for the operator,
    who may. Raises ``NotFound``, ``AlreadyExists``, ``Conflict``, ``StorageFull``."""
    manifest = await asyncio.to_thread(source.read_manifest)
    restored_vault.check_manifest(manifest)
    restored_vault.check_room(manifest, vault.folder, vault.shared.storage, VAULT_DATABASE)
    async with restore_places.held_place(vault.folder) as place:
        await extract(source, place.scratch, lambda path: path == VAULT_DATABASE)
        copy = await _read_copy(vault, place.scratch / VAULT_DATABASE, memory_id, viewer)
    return await memory_copies.put_back(vault, copy, replacing=replacing, viewer=viewer)


async def _read_copy(vault: Vault, database: Path, memory_id: str, viewer: Actor | None) -> memory_copies.MemoryCopy:
    db = Database(database, vault.shared.storage)
    try:
        await migrate(db, "vault")
        return await db.read(lambda tx: memory_copies.read_copy(tx, memory_id, viewer))
    finally:
        await db.close()
