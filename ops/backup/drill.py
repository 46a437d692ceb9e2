"""A drill: a backup is restored into a scratch folder, proven, asked what it was asked when it was made, and removed
again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from ops.backup import questions, restore_places, restored_vault
from ops.backup.manifest import BackupManifest
from ops.backup.source import BackupSource
from vaults import clock
from vaults.db.migration import load_migrations
from vaults.errors import StrongroomError
from vaults.pool import VaultPool
from vaults.registry import VaultEntry
from vaults.settings import StorageSettings
from vaults.vault import Vault

DRILLED = ".drill"
"""Stands for the place of the vault: no name of a vault, so nothing is ever put there."""


@dataclass(frozen=True, slots=True)
class DrillStep:
    """One thing that was tried, and what came of it."""

    name: str
    ok: bool
    message: str


@dataclass(slots=True)
class DrillReport:
    """Whether a backup can be restored. ``vault`` and ``made_at`` are '' for one that cannot even be read."""

    vault: str = ""
    made_at: str = ""
    steps: list[DrillStep] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return bool(self.steps) and all(step.ok for step in self.steps)


async def run_drill(source: BackupSource, pool: VaultPool, storage: StorageSettings, data: Path) -> DrillReport:
    """Prove a backup. Whatever is wrong with it stands in the report; only what is wrong here is raised:
    ``StorageFull``, ``ReadOnly``. Nothing is left of it."""
    report = DrillReport()
    folder = data / "vaults" / DRILLED
    await asyncio.to_thread(restore_places.sweep, folder.parent)
    try:
        async for step in _try_all(report, source, pool, storage, folder):
            report.steps.append(step)
    except StrongroomError as failure:
        if failure.code in ("storage_full", "read_only"):
            raise
        report.steps.append(DrillStep("archive", ok=False, message=failure.message))
    return report


async def _try_all(
    report: DrillReport, source: BackupSource, pool: VaultPool, storage: StorageSettings, folder: Path
) -> AsyncIterator[DrillStep]:
    manifest = await asyncio.to_thread(source.read_manifest)
    report.vault, report.made_at = manifest.vault, manifest.made_at
    restored_vault.check_manifest(manifest)
    restored_vault.check_room(manifest, folder, storage)
    entry = VaultEntry(manifest.vault, manifest.vault_id, None, "active", "agent", "auto", clock.now())
    with restore_places.hold_place(folder) as place:
        await asyncio.to_thread(source.extract, place.scratch)
        yield DrillStep(
            "archive", ok=True, message=f"{len(manifest.members)} members, {manifest.size:,} bytes, all as written"
        )
        await asyncio.to_thread(restored_vault.lay_out, place.scratch, manifest, manifest.vault_id, storage)
        rows = sum(manifest.counts.values())
        yield DrillStep("rows", ok=True, message=f"{rows:,} rows and the digest of their ids are those of the backup")
        async with restored_vault.open_restored(pool, entry, place.scratch) as vault:
            yield _describe_schema(manifest)
            yield await _verify(vault)
            yield await _ask(vault, manifest)


def _describe_schema(manifest: BackupManifest) -> DrillStep:
    now = len(load_migrations("vault"))
    if manifest.schema_steps == now:
        return DrillStep("schema", ok=True, message=f"{now}, that of this version")
    return DrillStep("schema", ok=True, message=f"{manifest.schema_steps}, brought to {now}")


async def _verify(vault: Vault) -> DrillStep:
    found = await restored_vault.verify_restored(vault)
    wrong = [each for each in found.findings if each.severity == "error"]
    sizes = f"{found.memories} memories, {found.notes} notes, {found.documents} documents, {found.passages} passages"
    message = "; ".join(f"{each.message} ({each.count})" for each in wrong) or f"agrees; {sizes}"
    return DrillStep("verify", ok=found.agrees, message=message)


async def _ask(vault: Vault, manifest: BackupManifest) -> DrillStep:
    differing = 0
    for question in manifest.questions:
        answers = await vault.db.read(lambda tx, text=question.text: questions.ask(tx, text))  # type: ignore[misc]
        differing += answers != question.answers
    asked = len(manifest.questions)
    if differing:
        return DrillStep("questions", ok=False, message=f"{differing} of {asked} are answered otherwise than then")
    return DrillStep("questions", ok=True, message=f"{asked} of {asked} are answered as then")
