"""Vaults to back up: what backups are told of a vault that a test's server has open."""

from __future__ import annotations

from pathlib import Path

from ops.backup.back_up import Installation
from ops.backup.subject import BackupSubject, read_subject
from server.services import Services

VERSION = "0.1.0"


async def subject_of(services: Services, vault: str = "main") -> BackupSubject:
    """What there is to back up of a vault."""
    return await read_subject(
        services.control,
        services.data,
        services.registry_cache.entry(vault),
        version=VERSION,
        storage=services.settings.storage,
        notes=services.settings.notes,
    )


def installation(services: Services) -> Installation:
    """The installation that a test's server is."""
    return Installation(
        services.data,
        services.control,
        services.data / "strongroom.toml",
        VERSION,
        services.settings.storage,
        services.settings.notes,
    )


def scratch(folder: Path, name: str = "scratch") -> Path:
    """An empty folder to stage in."""
    made = folder / name
    made.mkdir(parents=True)
    return made
