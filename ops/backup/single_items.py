"""One note or one memory out of a backup, put back into a vault that goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ops.backup import restore_places, restored_vault
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
from vaults.errors import NotFound
from vaults.vault import Vault


async def restore_note(vault: Vault, actor: Actor, source: BackupSource, request: UndoRequest) -> EditResult:
    """Write the note ``request.path`` as the backup has it, byte for byte. What stands there now stays in the history,
    and ``history`` undoes this like any change. Raises ``NotFound`` and what a change of a note raises."""
    path = parse_path(vault.notes.settings.policies, request.path or "")
    member = f"{NOTES}/{path}"
    manifest = await asyncio.to_thread(source.read_manifest)
    restored_vault.check_manifest(manifest)
    if not any(each.path == member for each in manifest.members):
        raise NotFound(f"the backup of {manifest.made_at} holds no note {path}", hint="backup list shows other backups")
    data = await asyncio.to_thread(_extract_one, source, vault.folder, member)
    summary = f"restored {path} from the backup of {manifest.made_at}"
    return await reversals.restore_bytes(vault, actor, request, (path, data), summary)


def _extract_one(source: BackupSource, beside: Path, member: str) -> bytes:
    with restore_places.hold_place(beside) as place:
        source.extract(place.scratch, lambda path: path == member)
        return (place.scratch / member).read_bytes()


async def restore_memory(vault: Vault, source: BackupSource, memory_id: str, *, replacing: bool = False) -> Memory:
    """Have a memory again as the backup has it, under its id, with its links. One that is there is left alone unless
    ``replacing``: then it says again what it said. Raises ``NotFound``, ``AlreadyExists``, ``Conflict``."""
    manifest = await asyncio.to_thread(source.read_manifest)
    restored_vault.check_manifest(manifest)
    with restore_places.hold_place(vault.folder) as place:
        await asyncio.to_thread(source.extract, place.scratch, lambda path: path == VAULT_DATABASE)
        copy = await _read_copy(vault, place.scratch / VAULT_DATABASE, memory_id)
    return await memory_copies.put_back(vault, copy, replacing=replacing)


async def _read_copy(vault: Vault, database: Path, memory_id: str) -> memory_copies.MemoryCopy:
    db = Database(database, vault.shared.storage)
    try:
        await migrate(db, "vault")
        return await db.read(lambda tx: memory_copies.read_copy(tx, memory_id))
    finally:
        await db.close()
