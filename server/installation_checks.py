"""Whether all is well with what concerns no single vault: licence, plans, tokens, folders, backups and their drills."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from auth.tokens import ending_tokens
from ops.backup import drill_records
from ops.backup.backup_runs import BackupRun, list_runs, newest, newest_at
from ops.backup.due import BackupStanding
from ops.backup.stores import place_of
from ops.doctor import backups, limits, vault_folders
from ops.doctor.check import DoctorCheck
from ops.doctor.drills import VaultDrills, drills
from ops.vault_life import folder_moves
from server.services import Services
from vaults import registry
from vaults.db.sql import Reader
from vaults.registry import VaultEntry


async def examine_installation(services: Services, entries: Sequence[VaultEntry]) -> list[DoctorCheck]:
    """Every check, in order. ``entries``: the vaults whose backups are looked at."""
    ending = await services.control.read(lambda tx: ending_tokens(tx, datetime.now(UTC), limits.NOTICE))
    return [
        limits.licence(services.licence.verdict),
        limits.plans(services.plans.undefined()),
        limits.tokens(ending),
        *await _examine_folders(services),
        *await _examine_backups(services, entries),
        await _examine_drills(services, entries),
    ]


async def _examine_folders(services: Services) -> list[DoctorCheck]:
    entries = await services.control.read(registry.list_vaults)
    moves = await services.control.read(folder_moves.list_moves)

    def look() -> list[DoctorCheck]:
        return [
            vault_folders.moves(moves, services.data),
            vault_folders.strays(entries, moves, services.data),
            vault_folders.upgrade_copies(entries, services.data),
        ]

    return await asyncio.to_thread(look)


async def _examine_backups(services: Services, entries: Sequence[VaultEntry]) -> list[DoctorCheck]:
    settings = services.settings.backup
    place = place_of(settings)

    def read(tx: Reader) -> list[backups.VaultBackups]:
        def last(vault_id: str) -> BackupRun | None:
            return newest_at(tx, vault_id, place) if settings.is_scheduled else newest(tx, vault_id)

        return [
            backups.VaultBackups(
                BackupStanding(entry, last(entry.vault_id)), next(iter(list_runs(tx, entry.vault_id, 1)), None)
            )
            for entry in entries
        ]

    found = await services.control.read(read)
    target = await asyncio.to_thread(backups.target, settings, services.data)
    return [backups.age(found, settings, datetime.now(UTC)), target]


async def _examine_drills(services: Services, entries: Sequence[VaultEntry]) -> DoctorCheck:
    names = {each.vault_id: each.name for each in entries}
    held = await services.control.read(lambda tx: drill_records.read_all(tx, names))
    return drills([VaultDrills(name, held.get(id_)) for id_, name in names.items()], services.settings.backup)
