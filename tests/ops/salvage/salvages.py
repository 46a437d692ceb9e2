"""Salvaging a vault's folder, as the command does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import closing, contextmanager
from pathlib import Path

from ops.backup.archive_reader import NO_KEYS
from ops.salvage.salvage_report import SalvageReport
from ops.salvage.salvaging import SalvageSubject, salvage
from ops.salvage.source_search import SalvageSource
from ops.salvage.whole_sources import from_file
from tests.harmed_vault import NAME
from vaults.db.engine import sqlite
from vaults.registry import VaultEntry
from vaults.settings import IndexSettings, StorageSettings


def subject_of(folder: Path, thread: Executor, vault_id: str | None = None) -> SalvageSubject:
    """The vault whose files these are, or were."""
    if vault_id is None:
        for path in (folder / "vault.db", *folder.glob("vault.db.*")):
            vault_id = vault_id or _vault_id(path)
    entry = VaultEntry(NAME, vault_id or "", None, "active", "agent", "auto", "2026-01-01T00:00:00Z")
    return SalvageSubject(entry, folder, StorageSettings(), IndexSettings().passage_tokens, thread)


def _vault_id(path: Path) -> str | None:
    try:
        with closing(sqlite.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as raw:
            return str(raw.execute("SELECT value FROM vault_info WHERE key = 'vault_id'").fetchone()[0])
    except sqlite.Error:
        return None


def run_salvage(
    subject: SalvageSubject,
    backups: Sequence[Path] = (),
    *,
    found: Sequence[SalvageSource] = (),
    dry_run: bool = False,
) -> SalvageReport:
    given = [from_file(path, NO_KEYS) for path in backups]
    return asyncio.run(salvage(subject, given, found=found, dry_run=dry_run))


@contextmanager
def changing(path: Path) -> Iterator[sqlite.Connection]:
    """Change a database by hand, as its tools would."""
    with closing(sqlite.connect(path, isolation_level=None)) as raw:
        yield raw
        raw.execute(f"PRAGMA user_version = {raw.execute('PRAGMA user_version').fetchone()[0] + 1}")
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
