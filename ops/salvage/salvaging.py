"""Building a vault's database anew, from all there is, newest first: the damaged file, its log, backups, and the notes.

Nothing is written to the damaged files. The new database is built in a folder beside them and takes their place in one
rename, under the gate, once it is whole, checked and searchable.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from uuid_utils import uuid7

from ops.salvage import exchange, known_vectors, rebuilt_database
from ops.salvage.found_rows import TableRemains
from ops.salvage.harvesting import DatabaseRemains, insert_remains, open_remains
from ops.salvage.leftovers import Leftovers
from ops.salvage.needed_room import check_room
from ops.salvage.salvage_report import SalvageReport, SourceReport
from ops.salvage.soundness import is_sound
from ops.salvage.source_merge import SourceMerge, Sources, in_one_go
from ops.salvage.source_search import SalvageSource
from ops.salvage.table_shapes import read_shape
from ops.salvage.whole_sources import open_source
from vaults import clock
from vaults.context import run_in
from vaults.db.connection import Database
from vaults.db.engine import sqlite
from vaults.db.failures import damaged_error, translate_sqlite_errors
from vaults.db.migration import load_migrations, migrate
from vaults.db.sql import Reader, Writer
from vaults.db.table_tags import canonical_tables
from vaults.errors import VaultQuarantined
from vaults.files.permissions import make_private_folder
from vaults.registry import DATABASE_FILE, VaultEntry
from vaults.settings import StorageSettings
from vaults.vault import notes_root
from vaults.vault_gate import hold_exclusively

T = TypeVar("T")

LEFTOVERS = "leftovers.jsonl"

GATE_WAIT_S = 10.0
"""Seconds a salvage waits for others to close the vault."""


@dataclass(frozen=True, slots=True)
class SalvageSubject:
    """The vault to salvage, and what it takes. ``passage_tokens``: how long passages are cut; ``thread``: of its own,
    for what blocks."""

    entry: VaultEntry
    folder: Path
    storage: StorageSettings
    passage_tokens: int
    thread: Executor


async def salvage(
    subject: SalvageSubject,
    given: Sequence[SalvageSource] = (),
    *,
    found: Sequence[SalvageSource] = (),
    dry_run: bool = False,
) -> SalvageReport:
    """Build the vault's database anew and put it in place; on a dry run only say what would come of it. ``given``
    sources must be of use; those that were only ``found`` may not be: the report says so. Both newest first: the first
    that is whole is taken. Raises ``VaultUnavailable`` while others have the vault open, ``VaultQuarantined`` for files
    that are not this vault's (foreign), newer than this program (future), or where nothing is left of it at all
    (missing), ``StorageFull``, which says how much is needed, before anything is written."""
    report = SalvageReport(subject.entry.name, clock.now(), dry_run=dry_run)
    async with AsyncExitStack() as held:
        await held.enter_async_context(hold_exclusively(subject.folder, GATE_WAIT_S))
        exchange.sweep(subject.folder)
        files = exchange.find_damaged(subject.folder / DATABASE_FILE)
        if await run_in(subject.thread, is_sound, files):
            report.sound = True
            return report
        check_room(files, subject.folder, subject.storage, has_sources=bool(given or found))
        scratch = subject.folder / f"{exchange.SCRATCH_PREFIX}{uuid7()}"
        make_private_folder(scratch)
        held.callback(shutil.rmtree, scratch, ignore_errors=True)
        await _build(subject, scratch, Sources(given, found), report)
        if not dry_run:
            await run_in(subject.thread, _take_place, subject, scratch, report)
    return report


def _take_place(subject: SalvageSubject, scratch: Path, report: SalvageReport) -> None:
    stamp = report.at.replace("-", "").replace(":", "").partition(".")[0].removesuffix("Z") + "Z"
    path = subject.folder / DATABASE_FILE
    kept, leftovers = exchange.choose_name(path, stamp), scratch / LEFTOVERS
    if leftovers.stat().st_size:
        beside = kept.with_name(f"{kept.name}.jsonl")
        leftovers.replace(beside)
        report.leftovers = str(beside)
    found = exchange.exchange(path, scratch / DATABASE_FILE, kept)
    report.kept_as = str(found) if found is not None else None


async def _build(subject: SalvageSubject, scratch: Path, sources: Sources, report: SalvageReport) -> None:
    files = exchange.find_damaged(subject.folder / DATABASE_FILE)
    with ExitStack() as held:
        remains = await run_in(subject.thread, open_remains, held, files, scratch, report)
        leftovers = held.enter_context(Leftovers(scratch / LEFTOVERS))
        chain = load_migrations("vault")
        db = Database(scratch / DATABASE_FILE, subject.storage)
        try:
            await migrate(db, "vault", chain[: remains.steps])
            await db.run_on_writer(_write_fast)
            tables = await db.run_on_writer(
                lambda raw: in_one_go(raw, lambda tx: insert_remains(tx, remains, report, leftovers))
            )
            await migrate(db, "vault")
            tables = await db.read(lambda tx: _renew_shapes(tx, tables))
            merge = SourceMerge(
                db, partial(open_source, scratch=scratch / "source", subject=subject), remains, tables, report
            )
            is_merged = await merge.take_newest(sources)
            if remains.image is None and not is_merged:
                _refuse_empty(subject)
            await db.run_on_writer(
                lambda raw: in_one_go(raw, lambda tx: _finish(tx, subject, remains, tables, report, leftovers))
            )
            await db.run_on_writer(_flush)
        finally:
            await db.close()
    _tell_notes(subject, report)


def _finish(
    tx: Writer,
    subject: SalvageSubject,
    remains: DatabaseRemains,
    tables: dict[str, TableRemains],
    report: SalvageReport,
    leftovers: Leftovers,
) -> None:
    """Make whole and searchable what was gathered, and count it."""
    rebuilt_database.settle_references(tx, tables, leftovers)
    _refuse_foreign(tx, subject.entry.vault_id)
    rebuilt_database.restore_counters(tx, remains.counters, tables, is_whole=remains.knows_counters)
    has_notes = notes_root(subject.entry, subject.folder).is_dir()
    rebuilt_database.stamp(tx, subject.entry.vault_id, remains.image, has_notes=has_notes)
    rebuilt_database.make_searchable(tx, subject.passage_tokens)
    report.vectors = known_vectors.carry_over(tx, remains)
    rebuilt_database.count_origins(tx, tables, report)
    report.memories = rebuilt_database.count_memories(tx)
    report.whole = not report.log_is_damaged and all(each.is_whole for each in report.tables)


def _write_fast(raw: sqlite.Connection) -> None:
    for setting in ("foreign_keys=OFF", "synchronous=OFF", "secure_delete=OFF"):
        raw.execute(f"PRAGMA {setting}")
    raw.execute(f"PRAGMA cache_size=-{rebuilt_database.CACHE_KIB}")


def _renew_shapes(tx: Reader, tables: dict[str, TableRemains]) -> dict[str, TableRemains]:
    """The remains by the tables as they are now, after migrations that were owed."""
    shapes = {name: read_shape(tx, name) for name in canonical_tables("vault")}
    return {
        name: replace(tables[name], shape=shape) if name in tables else TableRemains(shape, None)
        for name, shape in shapes.items()
    }


def _refuse_empty(subject: SalvageSubject) -> None:
    """Raise ``VaultQuarantined`` unless there are notes to begin with: an empty vault in the place of one whose disk
    is not mounted would hide that."""
    notes = notes_root(subject.entry, subject.folder)
    if not notes.is_dir() or next(notes.rglob("*.md"), None) is None:
        raise VaultQuarantined(
            "nothing is left of the vault: no database, no log, no backup and no notes",
            hint="look whether its disk is mounted, or name a backup",
            reason="missing",
        )


def _refuse_foreign(tx: Reader, vault_id: str) -> None:
    found = tx.value("SELECT value FROM vault_info WHERE key = 'vault_id'")
    if found is not None and found != vault_id:
        raise VaultQuarantined("the files belong to another vault", reason="foreign")


def _flush(raw: sqlite.Connection) -> None:
    """Check the new database, and see it to the disk as one file."""
    with translate_sqlite_errors():
        if raw.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
            raise damaged_error()
        raw.execute("PRAGMA synchronous=FULL")
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _tell_notes(subject: SalvageSubject, report: SalvageReport) -> None:
    there = notes_root(subject.entry, subject.folder).is_dir()
    note = "read again when the vault opens" if there else "there is no folder of notes"
    report.sources.append(SourceReport("notes", used=there, note=note))
