"""The backup that a command restores from, or a vault as of a moment between two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.cli.restore_orders import RestoreOrder

if TYPE_CHECKING:
    from pathlib import Path

    from ops.backup.source import BackupSource
    from ops.change_log.past_source import PastSource
    from server.services import Services


async def open_backup(services: Services, asked: RestoreOrder, until: str | None = None) -> BackupSource:
    """The backup that is meant; ``until``: the latest moment that ``latest`` may be of."""
    import asyncio
    from pathlib import Path

    from ops.backup.backup_runs import list_archives
    from ops.backup.references import KnownBackups, open_source
    from ops.backup.upgrade_copies import is_upgrade_copy

    if is_upgrade_copy(path := Path(asked.archive).expanduser()):
        return await _open_upgrade_copy(services, path)
    cache = services.registry_cache
    vault_id = cache.entry(asked.vault).vault_id if asked.vault is not None and cache.known(asked.vault) else None
    recorded = await services.control.read(lambda tx: list_archives(tx, vault_id)) if vault_id else ()
    known = KnownBackups(services.settings.backup, services.data, asked.opener, asked.vault, vault_id, until, recorded)
    return await asyncio.to_thread(open_source, asked.archive, known)


async def _open_upgrade_copy(services: Services, path: Path) -> BackupSource:
    """The copy of a database that was kept before an upgrade, with the rest of its vault as it is now."""
    from ops.backup.subject import read_subject
    from ops.backup.upgrade_copies import UpgradeCopySource, vault_of
    from server.version import version
    from vaults.errors import NotFound
    from vaults.registry import list_vaults

    settings, vault_id = services.settings, vault_of(path)
    entries = await services.control.read(list_vaults)
    entry = next((each for each in entries if each.vault_id == vault_id), None)
    if entry is None:
        raise NotFound("the copy is of no vault that is registered here", hint="vault list shows what there is")
    subject = await read_subject(
        services.control, services.data, entry, version=version(), storage=settings.storage, notes=settings.notes
    )
    return UpgradeCopySource(path, subject)


async def open_past(services: Services, asked: RestoreOrder, at: str) -> PastSource:
    """The vault as of ``at``: a backup made before, and the change log of the vault it is of, which need not be known
    here. Raises ``NotFound`` and ``InvalidArgument``."""
    import asyncio

    from ops.backup.snapshot_name import compact_moment
    from ops.backup.stores import open_store
    from ops.change_log.past_source import PastSource
    from ops.change_log.points import find_point
    from ops.change_log.unsealing import make_unseal
    from vaults.errors import InvalidArgument

    moment = _parse_moment(at)
    store = open_store(services.settings.backup)
    base = await open_backup(services, asked, compact_moment(moment))
    manifest = base.read_manifest()
    if compact_moment(manifest.made_at) > compact_moment(moment):
        raise InvalidArgument("--at", f"is before the backup was made: {manifest.made_at}", hint="name an earlier one")
    unseal = make_unseal(asked.opener.identities)
    point = await asyncio.to_thread(find_point, store, manifest.vault_id, time=moment, unseal=unseal)
    return PastSource(base, store, point, unseal)


def _parse_moment(text: str) -> str:
    from datetime import UTC, datetime

    from vaults.errors import InvalidArgument

    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError
        return moment.astimezone(UTC).isoformat()
    except (ValueError, OverflowError):
        raise InvalidArgument("--at", "must be a time such as 2026-11-25T14:03:20Z") from None
