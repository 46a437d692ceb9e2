"""Backups to restore, without the cost of archives, and the installation they are restored into."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auth.principal import owner
from auth.roles import Role
from ops.backup.manifest import BackupManifest
from ops.backup.restore import LivingInstallation
from ops.backup.source import everything
from ops.backup.staging import stage
from ops.backup.subject import read_subject
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, asker


@dataclass
class Staged:
    """A backup that lies in a folder."""

    folder: Path
    manifest: BackupManifest

    def read_manifest(self) -> BackupManifest:
        return self.manifest

    def extract(self, into: Path, wanted: Callable[[str], bool] = everything) -> BackupManifest:
        for each in self.manifest.members:
            if wanted(each.path):
                (into / each.path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(self.folder / each.path, into / each.path)
        return self.manifest

    def saying(self, **said: Any) -> Staged:
        """The same with a manifest that says otherwise."""
        return Staged(self.folder, self.manifest.model_copy(update=said))


def installation(services: Services) -> LivingInstallation:
    return LivingInstallation(services.data, services.control, services.pool, services.settings.storage)


async def back_up(services: Services, to: Path, vault: str = "main") -> Staged:
    """What a backup of the vault holds now, in the folder ``to``."""
    subject = await read_subject(
        services.control,
        services.data,
        services.registry_cache.entry(vault),
        version="1",
        storage=services.settings.storage,
        notes=services.settings.notes,
    )
    to.mkdir(parents=True)
    done = await asyncio.to_thread(stage, subject, to)
    return Staged(done.folder, done.manifest)


def as_owner_of(services: Services, vault: str) -> Asking:
    return asker(services, Caller(owner("cli"), vault, Role.ADMIN, "cli"))


async def contents_of(ask: Asking) -> set[str]:
    """What every memory of a vault says."""
    page = (await ask("memory_list", limit=200, max_tokens=50_000)).content["memories"]
    return {memory["content"] for memory in page}
