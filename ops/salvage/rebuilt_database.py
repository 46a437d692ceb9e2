"""The new database: made by the migrations, filled with rows that are believed, checked, and searchable.

Everything here runs on the thread of the new database's writer. Until the very end nobody but this process knows the
file, so it is written without waiting for the disk, and flushed once.
"""

from __future__ import annotations

from collections.abc import Iterable

from ops.salvage import row_versions
from ops.salvage.content_proof import find_unproven
from ops.salvage.database_image import DatabaseImage
from ops.salvage.found_rows import FoundRow, TableRemains
from ops.salvage.leftovers import Leftovers
from ops.salvage.salvage_report import SalvageReport
from ops.salvage.table_shapes import TableShape
from vaults.db.engine import sqlite
from vaults.db.sql import Reader, Writer
from vaults.domain.documents import indexing as document_indexing
from vaults.domain.memories import indexing
from vaults.domain.memories.indexing import NewMemories
from vaults.graph.link_feedback import link_trust

CACHE_KIB = 200_000
MARGIN = 1_000_000
"""Added to a counter of numbers that is lost: none that was given before is given again."""

_PAGE = 500
_STALE_MARKS = ("reindex", "recut", "links", "scored", "integrity")
"""Keys of ``vault_info`` that speak of what is derived, which is made anew, or of the state of what was damaged."""


def insert_found(
    tx: Writer, remains: TableRemains, rows: Iterable[FoundRow], report: SalvageReport, leftovers: Leftovers
) -> None:
    """Insert the rows of one table that are believed; keep the others aside. Of a number that comes twice, because a
    page of an earlier time was left, the newest is taken."""
    shape, taken = remains.shape, set[int]()
    for row in rows:
        problem = row.problem
        if problem is None and row.number in taken:
            problem = _take_newer(tx, remains, row, report)
        elif problem is None:
            problem = insert_row(tx, shape, row.number, row.values)
        if problem is None:
            taken.add(row.number)
            _note_origin(remains, row)
        else:
            remains.doubted.add(row.number)
            leftovers.add(shape.name, row.number, shape.names, row.values, problem)
    remains.doubted -= taken


def _take_newer(tx: Writer, remains: TableRemains, row: FoundRow, report: SalvageReport) -> str | None:
    """Put a row in the place of another state of it, if it is newer; returns why it is not taken."""
    shape, number = remains.shape, row.number
    there = tx.one(f"SELECT * FROM {shape.name} WHERE rowid = :number", {"number": number}) or ()
    is_newer = row_versions.compare_numbers(shape.names, row.values, there) or row_versions.compare_times(
        shape.names, row.values, there
    )
    if is_newer > 0 or (is_newer == 0 and number in remains.older and not row.is_older):
        report.note_conflict(f"{shape.name} {number}: the file holds two states; the newer one was taken")
        return replace_row(tx, shape, number, row.values)
    return "another state of it was found"


def _note_origin(remains: TableRemains, row: FoundRow) -> None:
    marks = (
        (remains.logged, row.origin == "log"),
        (remains.older, row.is_older),
        (remains.unproven, row.is_partly_proven),
    )
    for numbers, applies in marks:
        if applies:
            numbers.add(row.number)
        else:
            numbers.discard(row.number)


def replace_row(tx: Writer, shape: TableShape, number: int, row: tuple[object, ...]) -> str | None:
    """Put another state in the place of a row; returns why it could not be, and then the row is what it was."""
    columns = ", ".join(f'"{name}" = :v{at}' for at, name in enumerate(shape.names) if at != shape.number)
    params: dict[str, object] = {f"v{at}": value for at, value in enumerate(row) if at != shape.number}
    return _refusal_of(tx, f"UPDATE {shape.name} SET {columns} WHERE rowid = :number", {**params, "number": number})


def insert_row(tx: Writer, shape: TableShape, number: int, row: tuple[object, ...]) -> str | None:
    """Insert one row under its number; returns why it could not be."""
    names = [f'"{name}"' for name in shape.names]
    marks = [f":v{at}" for at in range(len(names))]
    params: dict[str, object] = {f"v{at}": value for at, value in enumerate(row)}
    if shape.number is None:
        names, marks, params = ["rowid", *names], [":number", *marks], {**params, "number": number}
    return _refusal_of(tx, f"INSERT INTO {shape.name} ({', '.join(names)}) VALUES ({', '.join(marks)})", params)


def _refusal_of(tx: Writer, sql: str, params: dict[str, object]) -> str | None:
    """Why SQLite does not take a row; None where it did."""
    try:
        tx.run(sql, params)
    except sqlite.IntegrityError as failure:
        return f"it does not fit: {failure}"
    except OverflowError:
        return "a number of it is too large"
    return None


def remove_unproven(tx: Writer, remains: dict[str, TableRemains], leftovers: Leftovers) -> None:
    """Take out again what its hash does not prove."""
    while any((found := find_unproven(tx)).values()):  # without one, others that build on it may not be proven either
        for table, numbers in found.items():
            for number in numbers:
                _take_out(tx, remains[table], number, "its content does not match its hash", leftovers)


def _take_out(tx: Writer, remains: TableRemains, number: int, why: str, leftovers: Leftovers) -> None:
    name = remains.shape.name
    row = tx.one(f"SELECT * FROM {name} WHERE rowid = :number", {"number": number})
    if row is not None:
        leftovers.add(name, number, remains.shape.names, row, why)
        tx.run(f"DELETE FROM {name} WHERE rowid = :number", {"number": number})
        remains.doubted.add(number)


def count_origins(tx: Reader, tables: dict[str, TableRemains], report: SalvageReport) -> None:
    """Say of each table how many rows came from where, as it is now."""
    for name, left in tables.items():
        told, there = report.of(name), {int(number) for (number,) in tx.all(f"SELECT rowid FROM {name}")}
        told.from_backup = len(left.restored & there)
        told.from_log = len((left.logged - left.restored) & there)
        told.from_file = len(there) - told.from_log - told.from_backup
        told.older, told.unproven = len(left.older & there), len(left.unproven & there)
        told.doubtful = len(left.doubted - there)
        named = left.named.numbers if left.named is not None else set[int]()
        told.lost = len(named - there - left.doubted)
        is_whole = left.tree is not None and left.tree.is_whole
        told.may_miss = not is_whole and (left.named is None or not left.named.is_whole)


def settle_references(tx: Writer, remains: dict[str, TableRemains], leftovers: Leftovers) -> None:
    """Rows that refer to lost ones: as when those are deleted, they forget them or are kept aside."""
    while broken := tx.all("PRAGMA foreign_key_check"):
        for table, number, _, key in broken:
            rules = tx.all(f"PRAGMA foreign_key_list({table})")
            columns, action = [rule[3] for rule in rules if rule[0] == key], next(r[6] for r in rules if r[0] == key)
            if action == "SET NULL":
                forget = ", ".join(f'"{column}" = NULL' for column in columns)
                tx.run(f"UPDATE {table} SET {forget} WHERE rowid = :number", {"number": number})
            else:
                _take_out(tx, remains[table], number, "what it belongs to is lost", leftovers)


def restore_counters(tx: Writer, counters: dict[str, int], remains: dict[str, TableRemains], *, is_whole: bool) -> None:
    """Numbers that were given are not given again. ``is_whole``: all counters are known."""
    tables = [str(name) for (name,) in tx.all("SELECT name FROM sqlite_schema WHERE sql LIKE '%AUTOINCREMENT%'")]
    for table in tables:
        used = int(tx.value(f"SELECT COALESCE(MAX(rowid), 0) FROM {table}"))
        left = remains.get(table)
        named = max(left.named.numbers, default=0) if left is not None and left.named is not None else 0
        last = counters.get(table)
        known = last if last is not None else max(used, named) + (0 if is_whole else MARGIN)
        tx.run("DELETE FROM sqlite_sequence WHERE name = :name", {"name": table})
        tx.run(
            "INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)",
            {"name": table, "last": max(known, used, named)},
        )


def stamp(tx: Writer, vault_id: str, image: DatabaseImage | None, *, has_notes: bool) -> None:
    """Make the database the vault's own."""
    for key in _STALE_MARKS:
        tx.run("DELETE FROM vault_info WHERE key = :key", {"key": key})
    known = {"vault_id": vault_id, **({"notes": "kept"} if has_notes else {})}
    for key, value in known.items():
        tx.run(
            "INSERT INTO vault_info (key, value) VALUES (:key, :value) ON CONFLICT (key) DO UPDATE"
            " SET value = excluded.value",
            {"key": key, "value": value},
        )
    tx.run("INSERT INTO vault_info VALUES ('cursor_key', lower(hex(randomblob(32)))) ON CONFLICT (key) DO NOTHING")
    change = image.change if image is not None and image.change is not None else MARGIN
    tx.run(f"PRAGMA user_version = {(change + 1) % 2**31}")


def make_searchable(tx: Writer, passage_tokens: int) -> None:
    """Build passages, full text and facets of memories and documents, and what links have learned. Vectors are queued;
    notes are read when the vault opens."""
    model = tx.value("SELECT value FROM vault_info WHERE key = 'model'")
    after = -1
    while page := indexing.load_sources(tx, after, _PAGE):
        new = NewMemories()
        for source in page:
            new.add(tx, source, source.cut(passage_tokens), model)
        new.index(tx, model)
        after = page[-1].item.number
    after = -1
    while documents := document_indexing.read_page(tx, after, _PAGE):
        for document in documents:
            document_indexing.rebuild(tx, document, passage_tokens, model)
        after = documents[-1].seq
    link_trust.relearn(tx)


def count_memories(tx: Reader) -> int:
    return int(tx.value("SELECT COUNT(*) FROM memories"))
