"""Imports of files of lines into a vault of the test."""

from __future__ import annotations

from pathlib import Path

from vaults.domain.actors import Actor
from vaults.domain.import_export.source_import import ImportPlan, ImportTally, OnBatch
from vaults.domain.import_export.vault_import import import_into_vault
from vaults.domain.memories.quotas import UNLIMITED, Quota
from vaults.sources.jsonl import SOURCE
from vaults.vault import Vault


async def import_jsonl(
    vault: Vault, actor: Actor, path: Path, progress: OnBatch = lambda _: None, quota: Quota = UNLIMITED
) -> ImportTally:
    """Import a file of lines, or the folder of an export, and wait for the vectors."""
    tally = await import_into_vault(vault, actor, ImportPlan(SOURCE, path), progress, quota)
    await vault.background.wait()
    return tally
