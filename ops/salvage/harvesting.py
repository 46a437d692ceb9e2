"""What a damaged database still holds, laid into a new one: every canonical table, row by row."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ops.salvage import rebuilt_database
from ops.salvage.database_image import DatabaseImage, open_image
from ops.salvage.exchange import DamagedFiles
from ops.salvage.found_rows import TableRemains, find_remains, read_rows
from ops.salvage.leftovers import Leftovers
from ops.salvage.lost_schema import STEPS_TABLE, FoundSchema, complete_schema, read_records, read_schema
from ops.salvage.page_map import PageMap, read_page_map
from ops.salvage.salvage_report import SalvageReport, SourceReport
from ops.salvage.table_shapes import read_shape
from ops.salvage.table_trees import walk_table
from vaults.db.migration import load_migrations
from vaults.db.sql import Writer
from vaults.db.table_tags import canonical_tables
from vaults.errors import VaultQuarantined

_SEQUENCES = "sqlite_sequence"


@dataclass(slots=True)
class DatabaseRemains:
    """A damaged database, open; nothing where there is none. ``steps``: the migrations it had; ``counters``: the last
    numbers that its tables gave, all of them if ``knows_counters``."""

    image: DatabaseImage | None
    page_map: PageMap
    schema: FoundSchema
    steps: int
    counters: dict[str, int]
    knows_counters: bool = False

    @property
    def change(self) -> int | None:
        """The number of the last change that counts; None where nobody knows it."""
        image = self.image
        return None if image is None or 1 in image.log.stale else image.change


def nothing(steps: int) -> DatabaseRemains:
    """What is left of a database that is gone."""
    return DatabaseRemains(None, PageMap(), FoundSchema(is_whole=False), steps, {})


def open_remains(held: ExitStack, files: DamagedFiles, scratch: Path, report: SalvageReport) -> DatabaseRemains:
    """Open the damaged files; the log is copied to ``scratch`` first. Raises ``VaultQuarantined`` (future)."""
    steps = len(load_migrations("vault"))
    if not files.exists:
        report.sources.append(SourceReport("database", used=False, note="it is gone"))
        return nothing(steps)
    log = None
    if files.has_log:
        log = scratch / "log"
        shutil.copyfile(files.log, log)
    image = held.enter_context(open_image(files.database, log))
    is_there = files.database.exists()
    note = "it is gone" if not is_there else "" if image.has_header else "its header is gone"
    report.sources.append(SourceReport("database", used=is_there, note=note))
    if log is not None:
        report.log_is_damaged = image.log.damaged > 0
        damaged = f", {image.log.damaged:,} damaged" if image.log.damaged else ""
        note = f"{image.log.frames:,} pages{damaged}"
        report.sources.append(SourceReport("log", used=bool(image.log.images), note=note))
    return survey(image)


def survey(image: DatabaseImage) -> DatabaseRemains:
    """Where everything is in a damaged database."""
    page_map = read_page_map(image)
    schema = read_schema(image, page_map)
    steps = _read_steps(image, page_map, schema, len(load_migrations("vault")))
    counters, is_whole = _read_counters(image, page_map, schema)
    return DatabaseRemains(image, page_map, schema, steps, counters, is_whole)


def _read_steps(image: DatabaseImage, page_map: PageMap, schema: FoundSchema, known: int) -> int:
    """How many migrations the damaged database had. Raises ``VaultQuarantined`` where they are more than we know."""
    root = schema.tables.get(STEPS_TABLE)
    numbers = []
    if root:
        records = read_records(image, page_map, walk_table(image, page_map, root))
        numbers = [number for leaf, number, row in records if leaf.is_sound and len(row) == 4 and row[1] == "vault"]
    if numbers and max(numbers) > known:
        raise VaultQuarantined("the vault was written by a newer strongroom", hint="upgrade first", reason="future")
    return max(numbers, default=known)


def _read_counters(image: DatabaseImage, page_map: PageMap, schema: FoundSchema) -> tuple[dict[str, int], bool]:
    """The last number each table gave, as far as known, and whether all are. One of an earlier time is none."""
    root = schema.tables.get(_SEQUENCES)
    if not root:
        return {}, False
    tree, found = walk_table(image, page_map, root), dict[str, int]()
    for leaf, _, row in read_records(image, page_map, tree):
        is_right = leaf.is_sound and not leaf.is_stale and len(row) == 2
        if is_right and isinstance(row[0], str) and isinstance(row[1], int):
            found[row[0]] = row[1]
    return found, tree.is_whole


def insert_remains(
    tx: Writer, remains: DatabaseRemains, report: SalvageReport, leftovers: Leftovers
) -> dict[str, TableRemains]:
    """Fill a new database of the same schema with what is believed; returns what is known of each table."""
    shapes = {name: read_shape(tx, name) for name in canonical_tables("vault", remains.steps)}
    for name in shapes:
        tx.run(f"DELETE FROM {name}")  # what migrations put there
    image = remains.image
    if image is None:
        return {name: TableRemains(shape, None) for name, shape in shapes.items()}
    complete_schema(image, remains.page_map, remains.schema, tx)
    tables = {name: find_remains(image, remains.page_map, remains.schema, shape) for name, shape in shapes.items()}
    for left in tables.values():
        rows = read_rows(image, remains.page_map, left)
        rebuilt_database.insert_found(tx, left, rows, report, leftovers)
    if {"documents", "note_versions"} <= shapes.keys():
        rebuilt_database.remove_unproven(tx, tables, leftovers)
    rebuilt_database.count_origins(tx, tables, report)
    return tables
