"""What the tool ``backup`` reads in backups of its vault, and in no others."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from server.call import Call
from vaults.domain.notes.policy_paths import parse_path
from vaults.errors import Forbidden, InvalidArgument, NotFound, VaultUnavailable

if TYPE_CHECKING:
    from ops.backup.older_versions import OlderVersion, OlderVersions
    from ops.backup.references import ListedBackup
    from ops.backup.source import BackupSource


@dataclass(frozen=True, slots=True)
class BackupVersion:
    """What a note or memory said. ``backup``: the newest that has it, made at ``made_at``; as many ``backups`` in a row
    say the same, back to the one of ``since``."""

    backup: str
    made_at: str
    since: str
    backups: int
    bytes: int
    sha256: str
    title: str = ""
    version: int | None = None


@dataclass(frozen=True, slots=True)
class BackupVersionsResult:
    """Newest first. ``looked_at``: backups; ``without``: those of them that do not have it. ``closed``: backups that
    cannot be read here; ``left_out``: older ones, which were not looked at."""

    versions: list[BackupVersion] = field(default_factory=list)
    looked_at: int = 0
    without: int = 0
    closed: int = 0
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class BackupText:
    """What a note or memory said in a backup."""

    text: str
    made_at: str
    title: str = ""
    version: int | None = None


@dataclass(frozen=True, slots=True)
class RestoredMemory:
    """A memory that is there again, as ``version`` of it."""

    id: str
    title: str
    version: int


async def list_known(call: Call) -> list[ListedBackup]:
    """The backups that go by this vault's name or id, newest first."""
    from ops.backup.references import KnownBackups, list_backups
    from server.backups import make_opener

    settings, data, entry = call.services.settings, call.services.data, call.vault.entry
    opener = await asyncio.to_thread(make_opener, settings, data)
    known = KnownBackups(settings.backup, data, opener, entry.name, entry.vault_id)
    with naming_no_place():
        return await asyncio.to_thread(list_backups, known)


async def open_named(call: Call, name: str) -> BackupSource:
    """The backup of this vault with this name, or its newest. A name is never taken for a path, and an archive of
    another vault that once had this one's name is none of its backups. Raises ``NotFound``."""
    from ops.backup.references import LATEST

    for listed in await list_known(call):
        if name in (LATEST, listed.name):
            with naming_no_place():
                source = await asyncio.to_thread(listed.open)
                manifest = await asyncio.to_thread(source.read_manifest)
            if manifest.vault_id == call.vault.entry.vault_id:
                return source
    raise NotFound("there is no such backup of this vault", hint="history names those that hold a note or memory")


async def find_versions(call: Call, path: str | None, memory_id: str | None, limit: int) -> BackupVersionsResult:
    """Which versions of a note or memory there are in the newest ``limit`` backups."""
    from ops.backup import older_versions

    backups, bounds = await list_known(call), older_versions.SearchBounds(limit)
    with naming_no_place():
        if memory_id is not None:
            found = await older_versions.find_memory_versions(call.vault, backups, memory_id, call.actor, bounds)
        else:
            found = await older_versions.find_note_versions(call.vault, backups, note_path(call, path), bounds)
    return _to_result(found)


async def read_version(call: Call, path: str | None, memory_id: str | None, name: str) -> BackupText:
    """What a note or memory said in a backup."""
    from ops.backup import older_versions, single_items

    source = await open_named(call, name)
    with naming_no_place():
        if memory_id is not None:
            made_at, memory = await older_versions.read_memory(call.vault, source, memory_id, call.actor)
            return BackupText(memory.content, made_at, memory.title, memory.version)
        manifest, data = await single_items.read_note(call.vault, source, note_path(call, path))
    return BackupText(data.decode("utf-8", "replace"), manifest.made_at)


async def restore_memory(call: Call, memory_id: str, name: str, *, replacing: bool) -> RestoredMemory:
    """Have a memory again as a backup has it."""
    from ops.backup import single_items

    source = await open_named(call, name)
    with naming_no_place():
        done = await single_items.restore_memory(call.vault, source, memory_id, replacing=replacing, viewer=call.actor)
    return RestoredMemory(done.id, done.title, done.version)


def note_path(call: Call, path: str | None) -> str:
    """The whole path of the note that is meant."""
    if path is None:
        raise InvalidArgument("path", "or id is required: of what?")
    return parse_path(call.vault.notes.settings.policies, path)


@contextmanager
def naming_no_place() -> Iterator[None]:
    """Stores name folders of the machine in their errors, which are nobody's business out there."""
    try:
        yield
    except (Forbidden, VaultUnavailable) as failure:
        if isinstance(failure, VaultUnavailable) and failure.details.get("reason") != "target":
            raise
        raise VaultUnavailable("the place of the backups does not answer", reason="target") from failure


def _to_result(found: OlderVersions) -> BackupVersionsResult:
    return BackupVersionsResult(
        _to_versions(found.versions), found.looked_at, found.without, found.closed, found.left_out
    )


def _to_versions(versions: Sequence[OlderVersion]) -> list[BackupVersion]:
    return [
        BackupVersion(
            each.backup, each.made_at, each.since, each.backups, each.size, each.digest, each.title, each.version
        )
        for each in versions
    ]
