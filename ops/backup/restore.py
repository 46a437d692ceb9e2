"""Restoring a vault: everything is taken out, proven and opened in a scratch folder before one step replaces what
stands there, and that is kept until the restored vault has been opened in its place."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ops.backup import (
    notes_in_place,
    place_checks,
    restore_leftovers,
    restore_places,
    restored_registration,
    restored_vault,
)
from ops.backup.extraction import extract, on_thread
from ops.backup.manifest import BackupManifest
from ops.backup.notes_in_place import PlacedNotes
from ops.backup.restore_places import RestorePlace
from ops.backup.restored_registration import RestoreTarget
from ops.backup.source import BackupSource
from vaults.context import run_to_completion
from vaults.db.migration import load_migrations
from vaults.db.sql import Writer
from vaults.db.transactions import Transactions
from vaults.domain.maintenance.verification import VerificationReport
from vaults.errors import StrongroomError
from vaults.files.disk_sync import sync_tree
from vaults.pool import VaultPool
from vaults.registry import list_vaults
from vaults.settings import StorageSettings
from vaults.vault_gate import hold_exclusively

GATE_WAIT_S = 60.0
"""Seconds others have to close the vault."""


@dataclass(frozen=True, slots=True)
class PlacedVault:
    """A proven vault that is served now. ``grants``: who was given what; ``away_s``: seconds in which callers were
    turned away."""

    grants: Sequence[str]
    away_s: float


RegisterVault = Callable[[Writer], Sequence[str]]
"""Says in control's tables that the target was restored, unless it changed meanwhile; returns who was given what."""

PutInPlace = Callable[[RestoreTarget, Path, RegisterVault], Coroutine[Any, Any, PlacedVault]]
"""Has a proven vault that lies in a folder be served as the target from the moment it is registered."""


@dataclass(frozen=True, slots=True)
class LivingInstallation:
    """What is restored into. The pool must not hold the vault open for anybody. ``put_in_place``: where a vault is
    served from elsewhere than its folder."""

    data: Path
    control: Transactions
    pool: VaultPool
    storage: StorageSettings
    put_in_place: PutInPlace | None = None


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
    and prove it, ``away_s`` in which callers were turned away. ``waiting``: why notes of a folder in place were not
    written yet; whoever opens the vault goes on. ``kept``: what stood there, where it could not be removed."""

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
    waiting: str | None = None
    kept: Path | None = None
    extract_s: float = 0.0
    verify_s: float = 0.0
    away_s: float = 0.0

    @property
    def complete(self) -> bool:
        """Whether all of the backup is in place."""
        return self.waiting is None and (self.notes is None or not self.notes.failed)


async def restore(installation: LivingInstallation, source: BackupSource, request: RestoreRequest) -> RestoreReport:
    """Restore a vault. Whatever fails, or is killed, leaves the vault as it was or as it is in the backup. Raises what
    ``BackupSource`` raises, ``AlreadyExists`` for a vault that is another one than the backup's and was not named,
    ``VaultQuarantined`` (reason ``future``, ``disagrees``), ``StorageFull``, ``VaultUnavailable``, ``Conflict`` where
    its folder cannot be exchanged or the vault was moved meanwhile."""
    manifest, target = await find_target(installation, source, request)
    await asyncio.to_thread(place_checks.refuse_unfit, target.entry, target.folder, registered=not target.is_new)
    if target.entry.path is not None:
        await asyncio.to_thread(restore_leftovers.sweep, target.folder.parent)
    restored_vault.check_room(manifest, target.folder, installation.storage)
    async with restore_places.held_place(target.folder) as place:
        return await _Restore(installation, source, request, target, place).run()


async def find_target(
    installation: LivingInstallation, source: BackupSource, request: RestoreRequest
) -> tuple[BackupManifest, RestoreTarget]:
    """What the backup says of itself, and which vault would be restored. What a killed restore left goes first: it must
    not pass for somebody's files. Raises as ``restore``."""
    manifest = await asyncio.to_thread(source.read_manifest)
    restored_vault.check_manifest(manifest)
    names = {each.name for each in await installation.control.read(list_vaults)}
    await asyncio.to_thread(restore_leftovers.sweep, installation.data / "vaults", names)
    target = await restored_registration.choose_target(
        installation.control, installation.data, manifest, request.vault, request.as_new
    )
    return manifest, target


@dataclass(slots=True)
class _Restore:
    """One restore under way."""

    installation: LivingInstallation
    source: BackupSource
    request: RestoreRequest
    target: RestoreTarget
    place: RestorePlace
    times: dict[str, float] = field(default_factory=dict)

    async def run(self) -> RestoreReport:
        at = time.monotonic()
        manifest = await extract(self.source, self.place.scratch)
        restored_vault.check_manifest(manifest)
        self.times["extract_s"] = time.monotonic() - at
        report = await self._prove(manifest)
        if self.request.dry_run:
            return report
        if self.installation.put_in_place is not None:
            return await self._put_elsewhere(report, self.installation.put_in_place)
        return await run_to_completion(self._put_in_place(report))

    async def _prove(self, manifest: BackupManifest) -> RestoreReport:
        """Open and verify what was taken out, make it durable, and say so."""
        at, scratch, entry = time.monotonic(), self.place.scratch, self.target.entry
        record = await on_thread(restored_vault.take_record, scratch)
        self.target = replace(self.target, record=record)
        await on_thread(restored_vault.lay_out, scratch, manifest, entry.vault_id, self.installation.storage)
        async with restored_vault.open_restored(self.installation.pool, entry, scratch) as opened:
            verified = await restored_vault.verify_restored(opened.vault)
            restored_vault.refuse_disagreeing(verified)
            if entry.path is not None:
                await notes_in_place.let_wait(opened.vault, self.place.token)
        await on_thread(sync_tree, scratch)
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

    async def _put_elsewhere(self, report: RestoreReport, put: PutInPlace) -> RestoreReport:
        target, grants = self.target, self.request.grants

        def register(tx: Writer) -> Sequence[str]:
            return restored_registration.register_in(tx, target, with_grants=grants)

        placed = await run_to_completion(put(target, self.place.scratch, register))
        return replace(report, replaced=not target.is_new, grants=placed.grants, away_s=placed.away_s)

    async def _put_in_place(self, report: RestoreReport) -> RestoreReport:
        control, place = self.installation.control, self.place
        await self.installation.pool.close_vault(self.target.entry.name)
        async with AsyncExitStack() as gates:
            # Both, because the locks go along with the folders: nobody opens either before it was looked at.
            await gates.enter_async_context(hold_exclusively(place.scratch, 0.0))
            if place.target.exists():
                await gates.enter_async_context(hold_exclusively(place.target, GATE_WAIT_S))
            await restored_registration.require_unchanged(control, self.target)
            at = time.monotonic()
            report = await self._exchange(report)
            report = await self._place_notes(report)
            report = replace(report, away_s=time.monotonic() - at)
        return replace(report, kept=await asyncio.to_thread(restore_places.finish, place))

    async def _exchange(self, report: RestoreReport) -> RestoreReport:
        """Have the folders change places; back again, unless the restored vault opens and is registered."""
        replaced = await asyncio.to_thread(restore_places.put_in_place, self.place)
        try:
            async with self.installation.pool.open_apart(self.target.entry, self.place.target):
                pass
            grants = await restored_registration.register(
                self.installation.control, self.target, with_grants=self.request.grants
            )
        except BaseException:
            await asyncio.to_thread(restore_places.put_back, self.place)
            raise
        return replace(report, replaced=replaced, grants=grants)

    async def _place_notes(self, report: RestoreReport) -> RestoreReport:
        """Write notes that lie elsewhere. There is no way back any more: what they replaced is kept in the restored
        folder, so that may not be taken away again."""
        try:
            async with self.installation.pool.open_apart(self.target.entry, self.place.target) as vault:
                return replace(report, notes=await notes_in_place.place_waiting(vault))
        except StrongroomError as failure:
            return replace(report, waiting=failure.message)
