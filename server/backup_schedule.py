"""The backups that a serving process makes unasked."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from auth.kept_secrets import open_secret
from auth.keys import KEYS_FOLDER, open_key_ring
from server.services import Services
from server.version import version
from vaults.registry import VaultEntry

if TYPE_CHECKING:
    from ops.backup.control_archive import ControlSubject
    from ops.backup.run_reports import BackupObserver
    from ops.backup.schedule import BackupSchedule
    from ops.backup.snapshot_run import SnapshotOrder
    from ops.backup.subject import BackupSubject

NAMES_KEY = "backup-names.key"
"""In the folder of keys: what names of encrypted pieces are made with. Lost, it costs one whole backup."""


@asynccontextmanager
async def keep_backups(services: Services, config: Path) -> AsyncIterator[None]:
    """Back up every vault as ``backup.every`` says, as long as the block runs. ``config``: the settings file. Raises
    ``InvalidArgument`` or ``VaultUnavailable`` for settings with which no backup could ever be made."""
    settings = services.settings.backup
    if not settings.is_scheduled:
        yield
        return
    from ops.backup.run_reports import NoBackupObserver

    await asyncio.to_thread(prepare_order, services)
    schedule = make_schedule(services, services.recorders.metrics or NoBackupObserver(), config)
    looking = asyncio.create_task(schedule.run(), name="backups")
    try:
        yield
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        await schedule.close()


def make_schedule(services: Services, observer: BackupObserver, config: Path) -> BackupSchedule:
    """The schedule of the settings; ``close`` it."""
    from ops.backup.schedule import BackupSchedule, ScheduledWork, SchedulePace
    from ops.backup.stores import place_of

    settings = services.settings.backup
    work = ScheduledWork(
        control=services.control,
        entries=services.registry_cache.entries,
        lease=services.pool.lease,
        describe=lambda entry: _describe(services, entry),
        # Where several servers share the installation it is rows of their database, which is backed up as a whole.
        installation=_installation(services, config) if settings.recipients and services.cluster is None else None,
        place=place_of(settings),
        share=_share(services),
    )
    pace = SchedulePace(settings.every_s, settings.bytes_per_s)
    return BackupSchedule(work, lambda: prepare_order(services), services.data, pace, observer)


def prepare_order(services: Services) -> SnapshotOrder:
    """How scheduled backups are made now. Blocking: reads keys and credentials."""
    from ops.backup.archive_writer import Seal
    from ops.backup.rotation import parse_plan
    from ops.backup.snapshot_run import SnapshotOrder
    from ops.backup.stores import open_store
    from ops.backup.turns import SCRATCH_FOLDER

    settings, keys = services.settings.backup, services.data / KEYS_FOLDER
    passphrase = services.settings.auth.key_passphrase_file
    return SnapshotOrder(
        store=open_store(settings),
        seal=Seal(settings.recipients, key=open_key_ring(keys, passphrase).newest if settings.sign else None),
        names=_names_secret(open_secret(keys, NAMES_KEY, passphrase), settings.recipients)
        if settings.recipients
        else None,
        plan=parse_plan(settings.keep),
        scratch=services.data / SCRATCH_FOLDER,
    )


def _names_secret(secret: bytes, recipients: Sequence[str]) -> bytes:
    """Another for other recipients: a piece that is there by its name may be opened by none of them, so it is sent
    again."""
    return hmac.digest(secret, "\n".join(sorted(recipients)).encode(), "sha256")


def _installation(services: Services, config: Path) -> ControlSubject:
    from ops.backup.control_archive import ControlSubject

    return ControlSubject(services.data, config, services.instance_id, version(), services.settings.storage)


def _share(services: Services) -> Callable[[Sequence[VaultEntry]], Awaitable[Sequence[VaultEntry]]] | None:
    if services.cluster is None:
        return None
    from server.cluster.backup_share import own_share

    return partial(own_share, services.cluster.held)


async def _describe(services: Services, entry: VaultEntry) -> BackupSubject:
    from ops.backup.subject import read_subject

    subject = await read_subject(
        services.control,
        services.data,
        entry,
        version=version(),
        storage=services.settings.storage,
        notes=services.settings.notes,
    )
    return replace(subject, folder=services.pool.folder_of(entry))
