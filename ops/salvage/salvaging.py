"""Building a vault's database anew, from all there is, newest first: the damaged file, its log, backups, and the notes.

Nothing is written to the damaged files. The new database is built in a folder beside them and takes their place in one
rename, under the gate, once it is whole, checked and searchable.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import AsyncExitStack, ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from uuid_utils import uuid7

from ops.backup.archive_reader import NO_KEYS, Opener
from ops.salvage import exchange, known_vectors, rebuilt_database
from ops.salvage.backup_rows import WholeSource, fill_lost
from ops.salvage.found_rows import TableRemains
from ops.salvage.harvesting import insert_remains, open_remains
from ops.salvage.leftovers import Leftovers
from ops.salvage.log_frames import read_log
from ops.salvage.salvage_report import SalvageReport, SourceReport
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
from vaults.errors import StrongroomError, VaultQuarantined, VaultUnavailable
from vaults.files.permissions import make_private_folder
from vaults.registry import VaultEntry
from vaults.settings import StorageSettings
from vaults.vault import DATABASE_FILE, notes_root
from vaults.vault_gate import hold_exclusively

T = TypeVar("T")

GATE_WAIT_S = 10.0
"""Seconds a salvage waits for others to close the vault."""


@dataclass(frozen=True, slots=True)
class SalvageSubject:
    """The vault to salvage, and what it takes. ``passage_tokens``: how long passages are cut;
    ``thread``: of its own, for what blocks;
    ``opener``: of encrypted archives."""

    entry: VaultEntry
    folder: Path
    storage: StorageSettings
    passage_tokens: int
    thread: Executor
    opener: Opener = NO_KEYS


async def salvage(
    subject: SalvageSubject, backups: Sequence[Path] = (), *, found: Sequence[Path] = (), dry_run: bool = False
) -> SalvageReport:
    """Build the vault's database anew and put it in place; on a dry run only say what would come of it. ``backups``
    must be of use; those that were only ``found`` may not be: the report says so. Both newest first. Raises
    ``VaultUnavailable`` while others have the vault open, ``VaultQuarantined`` (foreign, future) for files that are
    not this vault's or newer than this program, ``StorageFull``."""
    report = SalvageReport(subject.entry.name, clock.now(), dry_run=dry_run)
    async with AsyncExitStack() as held:
        await held.enter_async_context(hold_exclusively(subject.folder, GATE_WAIT_S))
        exchange.sweep(subject.folder)
        if await run_in(subject.thread, _is_sound, subject):
            report.sound = True
            return report
        scratch = subject.folder / f"{exchange.SCRATCH_PREFIX}{uuid7()}"
        make_private_folder(scratch)
        held.callback(shutil.rmtree, scratch, ignore_errors=True)
        await _build(subject, scratch, _Backups(backups, found), report)
        if not dry_run:
            await run_in(subject.thread, _take_place, subject, scratch, report)
    return report


def _is_sound(subject: SalvageSubject) -> bool:
    """Whether there is nothing to salvage. The log is looked at first: SQLite drops what it cannot read of it."""
    files = exchange.find_damaged(subject.folder / DATABASE_FILE)
    if not files.exists or (files.log.exists() and read_log(files.log.read_bytes()).damaged):
        return False
    try:
        # Read-only, so that closing it moves nothing of the log into a file that may be damaged.
        target = f"file:{quote(str(files.database))}?mode=ro"
        with translate_sqlite_errors(), closing(sqlite.connect(target, uri=True)) as raw:
            has_tables = raw.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is not None
            return has_tables and bool(raw.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok")
    except (VaultQuarantined, VaultUnavailable):
        return False


def _take_place(subject: SalvageSubject, scratch: Path, report: SalvageReport) -> None:
    stamp = report.at.replace("-", "").replace(":", "").partition(".")[0].removesuffix("Z") + "Z"
    path = subject.folder / DATABASE_FILE
    leftovers = scratch / "leftovers.jsonl"
    if leftovers.stat().st_size:
        kept = path.with_name(f"{path.name}.{exchange.KEPT}{stamp}.jsonl")
        os.replace(leftovers, kept)  # noqa: PTH105  both are in one file system
        report.leftovers = str(kept)
    found = exchange.exchange(path, scratch / DATABASE_FILE, stamp)
    report.kept_as = str(found) if found is not None else None


@dataclass(frozen=True, slots=True)
class _Backups:
    given: Sequence[Path]
    found: Sequence[Path]


async def _build(subject: SalvageSubject, scratch: Path, backups: _Backups, report: SalvageReport) -> None:
    files = exchange.find_damaged(subject.folder / DATABASE_FILE)
    with ExitStack() as held:
        remains = await run_in(subject.thread, open_remains, held, files, scratch, report)
        leftovers = held.enter_context(Leftovers(scratch / "leftovers.jsonl"))
        chain = load_migrations("vault")
        db = Database(scratch / DATABASE_FILE, subject.storage)
        try:
            await migrate(db, "vault", chain[: remains.steps])
            await db.run_on_writer(_write_fast)
            tables = await db.run_on_writer(
                lambda raw: _in_one_go(raw, lambda tx: insert_remains(tx, remains, report, leftovers))
            )
            await migrate(db, "vault")
            tables = await db.read(lambda tx: _renew_shapes(tx, tables))
            for path in backups.given:
                await _fill_from(db, subject, scratch, path, _Target(tables, report))
            for path in backups.found:
                try:
                    await _fill_from(db, subject, scratch, path, _Target(tables, report))
                except StrongroomError as failure:
                    report.sources.append(SourceReport(path.name, used=False, note=failure.message))
            has_notes = notes_root(subject.entry, subject.folder).is_dir()

            def finish(tx: Writer) -> None:
                rebuilt_database.settle_references(tx, tables, report, leftovers)
                _refuse_foreign(tx, subject.entry.vault_id)
                rebuilt_database.restore_counters(tx, remains.counters, tables)
                rebuilt_database.stamp(tx, subject.entry.vault_id, remains.image, has_notes=has_notes)
                rebuilt_database.make_searchable(tx, subject.passage_tokens)
                report.vectors = known_vectors.carry_over(tx, remains)
                _count_lost(tx, tables, report)

            await db.run_on_writer(lambda raw: _in_one_go(raw, finish))
            await db.run_on_writer(_flush)
        finally:
            await db.close()
    _tell_notes(subject, report)


@dataclass(frozen=True, slots=True)
class _Target:
    tables: dict[str, TableRemains]
    report: SalvageReport


def _write_fast(raw: sqlite.Connection) -> None:
    for setting in ("foreign_keys=OFF", "synchronous=OFF", "secure_delete=OFF"):
        raw.execute(f"PRAGMA {setting}")
    raw.execute(f"PRAGMA cache_size=-{rebuilt_database.CACHE_KIB}")


def _in_one_go(raw: sqlite.Connection, work: Callable[[Writer], T]) -> T:
    raw.execute("BEGIN IMMEDIATE")
    try:
        found = work(Writer(raw))
        raw.execute("COMMIT")
    except BaseException:
        if raw.in_transaction:
            raw.execute("ROLLBACK")
        raise
    return found


def _renew_shapes(tx: Reader, tables: dict[str, TableRemains]) -> dict[str, TableRemains]:
    """The remains by the tables as they are now, after migrations that were owed."""
    return {
        name: TableRemains(
            read_shape(tx, name),
            *((left.tree, left.named, left.doubted) if (left := tables.get(name)) is not None else (None,)),
        )
        for name in canonical_tables("vault")
    }


async def _fill_from(db: Database, subject: SalvageSubject, scratch: Path, path: Path, target: _Target) -> None:
    if all(left.is_whole for left in target.tables.values()):
        target.report.sources.append(SourceReport(path.name, used=False, note="nothing was missing"))
        return
    try:
        source = await open_source(path, scratch / "backup", subject)
        with closing(sqlite.connect(f"file:{source}?mode=ro", uri=True, check_same_thread=False)) as raw:
            whole = WholeSource(path.name, Reader(raw))
            await db.run_on_writer(
                lambda writer: _in_one_go(writer, lambda tx: fill_lost(tx, target.tables, whole, target.report))
            )
        target.report.sources.append(SourceReport(path.name, used=True))
    finally:
        shutil.rmtree(scratch / "backup", ignore_errors=True)


def _refuse_foreign(tx: Reader, vault_id: str) -> None:
    found = tx.value("SELECT value FROM vault_info WHERE key = 'vault_id'")
    if found is not None and found != vault_id:
        raise VaultQuarantined("the files belong to another vault", reason="foreign")


def _count_lost(tx: Reader, tables: dict[str, TableRemains], report: SalvageReport) -> None:
    for name, left in tables.items():
        told = report.of(name)
        there = {int(number) for (number,) in tx.all(f"SELECT rowid FROM {name}")} if not left.is_whole else set()
        told.doubtful = len(left.doubted - there)
        if left.tree is not None and left.tree.is_whole:
            continue
        named = left.named
        told.lost = len(named.numbers - there - left.doubted) if named is not None else 0
        told.may_miss = named is None or not named.is_whole
    report.memories = rebuilt_database.count_memories(tx)
    report.whole = not report.log_is_damaged and all(each.is_whole for each in report.tables)


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
