"""A drill: a backup is restored into a scratch folder, proven, asked what it was asked when it was made, and removed
again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from ops.backup import questions, restore_leftovers, restore_places, restored_vault
from ops.backup.extraction import extract, on_thread
from ops.backup.manifest import BackupManifest
from ops.backup.member_paths import VAULT_DATABASE
from ops.backup.restored_vault import OpenedVault
from ops.backup.source import BackupSource
from vaults import clock
from vaults.db.database_copy import open_copy
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


@dataclass(frozen=True, slots=True)
class DrillGround:
    """Where drills are held. ``bytes_per_s``: read from the target at most."""

    pool: VaultPool
    storage: StorageSettings
    data: Path
    bytes_per_s: float | None = None


async def run_drill(source: BackupSource, ground: DrillGround) -> DrillReport:
    """Prove a backup. Whatever is wrong with it stands in the report; only what is wrong here is raised:
    ``StorageFull``, ``ReadOnly``. Nothing is left of it."""
    drill = _Drill(source, ground)
    folder = ground.data / "vaults" / DRILLED
    await asyncio.to_thread(restore_leftovers.sweep, folder.parent)
    try:
        async for step in drill.try_all(folder):
            drill.report.steps.append(step)
    except StrongroomError as failure:
        if failure.code in ("storage_full", "read_only"):
            raise
        drill.report.steps.append(DrillStep(drill.trying, ok=False, message=failure.message))
    return drill.report


@dataclass(slots=True)
class _Drill:
    """One drill under way. ``trying``: the step that comes next."""

    source: BackupSource
    ground: DrillGround
    report: DrillReport = field(default_factory=DrillReport)
    trying: str = "archive"

    async def try_all(self, folder: Path) -> AsyncIterator[DrillStep]:
        ground = self.ground
        manifest = await asyncio.to_thread(self.source.read_manifest)
        self.report.vault, self.report.made_at = manifest.vault, manifest.made_at
        restored_vault.check_manifest(manifest)
        restored_vault.check_room(manifest, folder, ground.storage)
        entry = VaultEntry(manifest.vault, manifest.vault_id, None, "active", "agent", "auto", clock.now())
        async with restore_places.held_place(folder) as place:
            await extract(self.source, place.scratch, bytes_per_s=ground.bytes_per_s)
            yield self._passed(f"{len(manifest.members)} members, {manifest.size:,} bytes, all as written", "rows")
            differing = await on_thread(_count_differing, place.scratch / VAULT_DATABASE, manifest)
            await on_thread(restored_vault.lay_out, place.scratch, manifest, manifest.vault_id, ground.storage)
            rows = sum(manifest.counts.values())
            yield self._passed(f"{rows:,} rows and the digest of their ids are those of the backup", "schema")
            async with restored_vault.open_restored(ground.pool, entry, place.scratch) as opened:
                yield self._passed(_describe_schema(manifest), "verify")
                yield await _verify(opened.vault)
                self.trying = "questions"
                yield await _ask(opened, manifest, differing)

    def _passed(self, message: str, following: str) -> DrillStep:
        step, self.trying = DrillStep(self.trying, ok=True, message=message), following
        return step


def _describe_schema(manifest: BackupManifest) -> str:
    now = len(load_migrations("vault"))
    return (
        f"{now}, that of this version" if manifest.schema_steps == now else f"{manifest.schema_steps}, brought to {now}"
    )


async def _verify(vault: Vault) -> DrillStep:
    found = await restored_vault.verify_restored(vault)
    wrong = [each for each in found.findings if each.severity == "error"]
    sizes = f"{found.memories} memories, {found.notes} notes, {found.documents} documents, {found.passages} passages"
    message = "; ".join(f"{each.message} ({each.count})" for each in wrong) or f"agrees; {sizes}"
    return DrillStep("verify", ok=found.agrees, message=message)


def _count_differing(database: Path, manifest: BackupManifest) -> int:
    """How many questions the database as it was written answers otherwise than then; of an older version, whose tables
    may be others, it is asked none before it was brought to this one. Blocking."""
    if manifest.schema_steps != len(load_migrations("vault")) or not database.is_file():
        return 0
    with open_copy(database) as tx:
        return sum(questions.ask(tx, each.text) != each.answers for each in manifest.questions)


async def _ask(opened: OpenedVault, manifest: BackupManifest, differing: int) -> DrillStep:
    """Ask the restored vault too, unless notes were read into it that were saved right before the backup: then it
    rightly ranks otherwise."""
    asked = manifest.questions
    if not asked:
        return DrillStep(
            "questions", ok=True, message="none: nothing in it can be found by words that anybody may read"
        )
    if not opened.read_anew:
        for question in asked if not differing else ():
            answers = await opened.vault.db.read(lambda tx, text=question.text: questions.ask(tx, text))  # type: ignore[misc]
            differing += answers != question.answers
    if differing:
        return DrillStep("questions", ok=False, message=f"{differing} of {len(asked)} are answered otherwise than then")
    return DrillStep("questions", ok=True, message=f"{len(asked)} of {len(asked)} are answered as then")
