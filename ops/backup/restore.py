"""Restoring a vault: everything is taken out, proven and opened in a scratch folder before one step replaces what
stands there, and that is kept until the restored vault has been opened in its place."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from ops.backup import notes_in_place, restore_places, restored_registration, restored_vault
from ops.backup.disk_sync import sync_tree
from ops.backup.manifest import BackupManifest
from ops.backup.notes_in_place import PlacedNotes
from ops.backup.restore_places import RestorePlace
from ops.backup.restored_registration import RestoreTarget
from ops.backup.restored_vault import Advance, stay
from ops.backup.source import BackupSource
from vaults.context import run_to_completion
from vaults.db.connection import Database
from vaults.db.migration import load_migrations
from vaults.domain.maintenance.verification import VerificationReport
from vaults.pool import VaultPool
from vaults.settings import StorageSettings
from vaults.vault_gate import hold_exclusively

GATE_WAIT_S = 60.0
"""Seconds others have to close the vault."""


@dataclass(frozen=True, slots=True)
class LivingInstallation:
    """What is restored into. The pool must not hold the vault open for anybody."""

    data: Path
    control: Database
    pool: VaultPool
    storage: StorageSettings


@dataclass(frozen=True, slots=True)
class RestoreRequest:
    """``vault``: the one to replace, or to make; ``as_new``: the name of a new one; neither: the vault the backup is
    of. ``grants``: give its grants also where the vault is known here."""

    vault: str | None = None
    as_new: str | None = None
    dry_run: bool = False
    grants: bool = False


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """What was restored, and how long it took: ``extract_s`` to take out and compare every byte, ``verify_s`` to open
    and prove it, ``away_s`` in which callers were turned away."""

    vault: str
    vault_id: str
    made_at: str
    schema_was: int
    schema_is: int
    size: int
    verified: VerificationReport
    is_new: bool
    replaced: bool = False
    dry_run: bool = False
    archived: bool = False
    grants: Sequence[str] = ()
    notes: PlacedNotes | None = None
    extract_s: float = 0.0
    verify_s: float = 0.0
    away_s: float = 0.0


async def restore(
    installation: LivingInstallation, source: BackupSource, request: RestoreRequest, advance: Advance = stay
) -> RestoreReport:
    """Restore a vault. Whatever fails, or is killed, leaves the vault as it was or as it is in the backup. Raises what
    ``BackupSource`` raises, ``AlreadyExists`` for a vault that is another one than the backup's and was not named,
    ``VaultQuarantined`` (reason ``future``, ``disagrees``), ``StorageFull``, ``VaultUnavailable``."""
    manifest = await asyncio.to_thread(source.read_manifest)
    restored_vault.check_manifest(manifest)
    target = await restored_registration.choose_target(
        installation.control, installation.data, manifest, request.vault, request.as_new
    )
    await asyncio.to_thread(restore_places.sweep, target.folder.parent)
    restored_vault.check_room(manifest, target.folder, installation.storage)
    with restore_places.hold_place(target.folder) as place:
        return await _Restore(installation, source, request, target, place).run(advance)


@dataclass(slots=True)
class _Restore:
    """One restore under way."""

    installation: LivingInstallation
    source: BackupSource
    request: RestoreRequest
    target: RestoreTarget
    place: RestorePlace
    times: dict[str, float] = field(default_factory=dict)

    async def run(self, advance: Advance) -> RestoreReport:
        at = time.monotonic()
        manifest = await asyncio.to_thread(self.source.extract, self.place.scratch)
        restored_vault.check_manifest(manifest)
        self.times["extract_s"] = time.monotonic() - at
        report = await self._prove(manifest, advance)
        if self.request.dry_run:
            return report
        return await run_to_completion(self._put_in_place(report))

    async def _prove(self, manifest: BackupManifest, advance: Advance) -> RestoreReport:
        """Open and verify what was taken out, make it durable, and say so."""
        at, scratch, entry = time.monotonic(), self.place.scratch, self.target.entry
        record = await asyncio.to_thread(restored_vault.read_record, scratch)
        self.target = replace(self.target, record=record)
        await asyncio.to_thread(
            restored_vault.lay_out, scratch, manifest, entry.vault_id, self.installation.storage, advance
        )
        async with restored_vault.open_restored(self.installation.pool, entry, scratch) as vault:
            verified = await restored_vault.verify_restored(vault)
            restored_vault.refuse_disagreeing(verified)
            if entry.path is not None:
                await notes_in_place.let_wait(vault, self.place.token)
        await asyncio.to_thread(sync_tree, scratch)
        self.times["verify_s"] = time.monotonic() - at
        return RestoreReport(
            vault=entry.name,
            vault_id=entry.vault_id,
            made_at=manifest.made_at,
            schema_was=manifest.schema_steps,
            schema_is=len(load_migrations("vault")),
            size=manifest.size,
            verified=verified,
            is_new=self.target.is_new,
            dry_run=self.request.dry_run,
            archived=entry.state == "archived",
            extract_s=self.times["extract_s"],
            verify_s=self.times["verify_s"],
        )

    async def _put_in_place(self, report: RestoreReport) -> RestoreReport:
        pool, entry = self.installation.pool, self.target.entry
        await pool.close_vault(entry.name)
        async with AsyncExitStack() as gates:
            # Both, because the locks go along with the folders: nobody opens either before it was looked at.
            await gates.enter_async_context(hold_exclusively(self.place.scratch, 0.0))
            if self.place.target.exists():
                await gates.enter_async_context(hold_exclusively(self.place.target, GATE_WAIT_S))
            at = time.monotonic()
            replaced = await asyncio.to_thread(restore_places.put_in_place, self.place)
            try:
                notes = await self._look_in_place()
                grants = await restored_registration.register(
                    self.installation.control, self.target, with_grants=self.request.grants
                )
            except BaseException:
                await asyncio.to_thread(restore_places.put_back, self.place)
                raise
            away_s = time.monotonic() - at
        await asyncio.to_thread(restore_places.finish, self.place)
        return replace(report, replaced=replaced, notes=notes, grants=grants, away_s=away_s)

    async def _look_in_place(self) -> PlacedNotes | None:
        """Open the vault where it will be served from, and write notes that lie elsewhere."""
        async with self.installation.pool.open_apart(self.target.entry, self.place.target) as vault:
            return await notes_in_place.place_waiting(vault)
