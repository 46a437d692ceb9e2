"""Backups to restore, and the installation they are restored into."""

from __future__ import annotations

import asyncio
from pathlib import Path

from auth.principal import owner
from auth.roles import Role
from ops.backup.restore import LivingInstallation
from ops.backup.staging import stage
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, asker
from tests.ops.backup.material import subject_of
from tests.ops.backup.staged import Staged


def installation(services: Services) -> LivingInstallation:
    return LivingInstallation(services.data, services.control, services.pool, services.settings.storage)


async def back_up(services: Services, to: Path, vault: str = "main") -> Staged:
    """What a backup of the vault holds now, in the folder ``to``."""
    to.mkdir(parents=True)
    done = await asyncio.to_thread(stage, await subject_of(services, vault), to)
    return Staged(done.folder, done.manifest)


def as_owner_of(services: Services, vault: str) -> Asking:
    return asker(services, Caller(owner("cli"), vault, Role.ADMIN, "cli"))


async def contents_of(ask: Asking) -> set[str]:
    """What every memory of a vault says."""
    page = (await ask("memory_list", limit=200, max_tokens=50_000)).content["memories"]
    return {memory["content"] for memory in page}
