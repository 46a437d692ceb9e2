"""Versions of a note or a memory in backups: which there are, and what one of them says.

Of a backup only what is needed is read: of a note nothing but the manifest, which has its hash; of a memory the
database, unless it is the one that was read last. Both within bounds, and what was not looked at is counted.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ops.backup import restore_places, restored_vault
from ops.backup.extraction import extract, on_thread
from ops.backup.manifest import BackupManifest, ManifestMember
from ops.backup.member_paths import NOTES, VAULT_DATABASE
from ops.backup.references import ListedBackup
from ops.backup.source import BackupSource
from vaults.db.database_copy import open_copy
from vaults.domain.actors import Actor
from vaults.errors import InvalidArgument, NotFound, VaultQuarantined
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class SearchBounds:
    """How far a search goes: so many backups, bytes of databases taken out of them, and seconds after which no further
    one is begun."""

    backups: int = 10
    size: int = 1 << 30
    seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class PastMemory:
    """A memory as a backup has it."""

    id: str
    title: str
    content: str
    version: int
    updated_at: str

    @property
    def digest(self) -> str:
        """SHA-256 of what it says."""
        return hashlib.sha256(f"{self.title}\n{self.content}".encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class OlderVersion:
    """``backup``: the newest that has it, of ``made_at``; with those before it that say the same there are ``backups``,
    back to the one of ``since``. ``size``: bytes of what it says, ``digest``: their SHA-256."""

    backup: str
    made_at: str
    since: str
    size: int
    digest: str
    backups: int = 1
    title: str = ""
    version: int | None = None


@dataclass(slots=True)
class OlderVersions:
    """Newest first. ``looked_at``: backups; ``without``: those of them that have none; ``closed``: further ones that
    are encrypted for others, damaged or gone; ``left_out``: older ones, for want of time or room."""

    versions: list[OlderVersion] = field(default_factory=list)
    looked_at: int = 0
    without: int = 0
    closed: int = 0
    left_out: int = 0

    def add(self, found: OlderVersion | None) -> None:
        """Of the next older backup."""
        self.looked_at += 1
        if found is None:
            self.without += 1
        elif self.versions and self.versions[-1].digest == found.digest:
            last = self.versions[-1]
            self.versions[-1] = replace(last, since=found.made_at, backups=last.backups + 1)
        else:
            self.versions.append(found)


async def find_note_versions(
    vault: Vault, backups: Sequence[ListedBackup], path: str, bounds: SearchBounds
) -> OlderVersions:
    """Those of a note, by its whole path. ``backups``: newest first."""
    found = OlderVersions()
    async for listed, _, manifest in _read_manifests(vault, backups, bounds, found):
        member = manifest.find(f"{NOTES}/{path}")
        found.add(_describe_note(listed, manifest, member) if member is not None else None)
    return found


async def find_memory_versions(
    vault: Vault, backups: Sequence[ListedBackup], memory_id: str, viewer: Actor | None, bounds: SearchBounds
) -> OlderVersions:
    """Those of a memory that ``viewer`` may see; None: whoever runs this machine. ``backups``: newest first."""
    found, spent, last = OlderVersions(), 0, ""
    memory: PastMemory | None = None
    async for listed, source, manifest in _read_manifests(vault, backups, bounds, found):
        database = manifest.find(VAULT_DATABASE)
        if database is None:
            found.closed += 1
            continue
        if database.sha256 != last:
            spent += database.size
            if spent > bounds.size:
                found.left_out = len(backups) - found.looked_at - found.closed
                break
            memory, last = await _extract_memory(vault, source, manifest, memory_id, viewer), database.sha256
        found.add(_describe_memory(listed, manifest, memory) if memory is not None else None)
    return found


async def read_memory(
    vault: Vault, source: BackupSource, memory_id: str, viewer: Actor | None
) -> tuple[str, PastMemory]:
    """When the backup was made, and the memory as it has it. Raises ``NotFound``, also for what ``viewer`` may not
    see."""
    manifest = await asyncio.to_thread(source.read_manifest)
    restored_vault.check_manifest(manifest)
    memory = await _extract_memory(vault, source, manifest, memory_id, viewer)
    if memory is None:
        raise NotFound(f"the backup of {manifest.made_at} holds no memory {memory_id[:64]}")
    return manifest.made_at, memory


def _describe_note(listed: ListedBackup, manifest: BackupManifest, member: ManifestMember) -> OlderVersion:
    return OlderVersion(listed.name, manifest.made_at, manifest.made_at, member.size, member.sha256)


def _describe_memory(listed: ListedBackup, manifest: BackupManifest, memory: PastMemory) -> OlderVersion:
    size, at = len(memory.content.encode("utf-8", "surrogatepass")), manifest.made_at
    return OlderVersion(listed.name, at, at, size, memory.digest, title=memory.title, version=memory.version)


async def _read_manifests(
    vault: Vault, backups: Sequence[ListedBackup], bounds: SearchBounds, found: OlderVersions
) -> AsyncIterator[tuple[ListedBackup, BackupSource, BackupManifest]]:
    """The backups of this very vault that can be read here, as far as the bounds go."""
    until = time.monotonic() + bounds.seconds
    for number, listed in enumerate(backups):
        if found.looked_at >= bounds.backups or time.monotonic() > until:
            found.left_out = len(backups) - number
            return
        try:
            source = await asyncio.to_thread(listed.open)
            manifest = await asyncio.to_thread(source.read_manifest)
            if manifest.vault_id == vault.entry.vault_id:  # else of another vault that had its name
                restored_vault.check_manifest(manifest)
                yield listed, source, manifest
        except (InvalidArgument, NotFound, VaultQuarantined):
            found.closed += 1


async def _extract_memory(
    vault: Vault, source: BackupSource, manifest: BackupManifest, memory_id: str, viewer: Actor | None
) -> PastMemory | None:
    restored_vault.check_room(manifest, vault.folder, vault.shared.storage, VAULT_DATABASE)
    async with restore_places.held_place(vault.folder) as place:
        await extract(source, place.scratch, lambda path: path == VAULT_DATABASE)
        return await on_thread(_find_memory, place.scratch / VAULT_DATABASE, memory_id, viewer)


def _find_memory(database: Path, memory_id: str, viewer: Actor | None) -> PastMemory | None:
    """Reads a database of any version as it is: these columns were always there. Blocking."""
    with open_copy(database) as tx:
        row = tx.one(
            "SELECT id, title, content, version, updated_at FROM memories"
            " WHERE id = :id AND (:viewer IS NULL OR visibility = 'shared' OR stored_by = :viewer)",
            {"id": memory_id, "viewer": None if viewer is None else viewer.identity},
        )
        return None if row is None else PastMemory(*row)
