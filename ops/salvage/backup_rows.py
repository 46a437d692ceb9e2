"""Filling what the damaged database has lost with the rows of a whole one: a backup, or a copy somebody made.

A row that the damaged database accounts for is never replaced: what it does not hold any more was deleted since. That
goes for what was purged, too, wherever its page is gone: the log of deletions names it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ops.salvage.found_rows import TableRemains
from ops.salvage.rebuilt_database import insert_row
from ops.salvage.salvage_report import SalvageReport
from vaults.db.sql import Reader, Row, Writer

_DELETIONS = ("purge", "retention")
_CONFLICTS_NAMED = 50
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class WholeSource:
    """An intact database of the same vault and schema."""

    name: str
    rows: Reader


def fill_lost(tx: Writer, remains: dict[str, TableRemains], source: WholeSource, report: SalvageReport) -> None:
    """Take what is lost from a backup, table by table; note where both differ."""
    purged = read_deleted(tx) | read_deleted(source.rows)
    for name, left in remains.items():
        if left.is_whole:
            continue
        column = left.shape.place("id") if "id" in left.shape.names else None
        after = -(1 << 63)
        while page := _read_page(source.rows, name, after):
            after = page[-1][0]
            for number, *row in page:
                if left.may_have_held(number) and (column is None or row[column] not in purged):
                    _fill_one(tx, left, number, tuple(row), source, report)


def _read_page(tx: Reader, table: str, after: int) -> list[Row]:
    return tx.all(
        f"SELECT rowid, * FROM {table} WHERE rowid > :after ORDER BY rowid LIMIT :page",
        {"after": after, "page": _PAGE},
    )


def _fill_one(
    tx: Writer,
    left: TableRemains,
    number: int,
    row: tuple[object, ...],
    source: WholeSource,
    report: SalvageReport,
) -> None:
    name = left.shape.name
    there = tx.one(f"SELECT * FROM {name} WHERE rowid = :number", {"number": number})
    if there is not None:
        if tuple(there) != row:
            _note_conflict(report, f"{name} {number}: kept as found, {source.name} has another state")
        return
    problem = insert_row(tx, left.shape, number, row)
    if problem is None:
        report.of(name).from_backup += 1
        left.doubted.discard(number)
    else:
        _note_conflict(report, f"{name} {number} of {source.name}: {problem}")


def _note_conflict(report: SalvageReport, line: str) -> None:
    if len(report.conflicts) < _CONFLICTS_NAMED:
        report.conflicts.append(line)


def read_deleted(tx: Reader) -> set[str]:
    """Ids of what was deleted for good."""
    actions = {f"a{at}": action for at, action in enumerate(_DELETIONS)}
    marks = ", ".join(f":{name}" for name in actions)
    return {str(target) for (target,) in tx.all(f"SELECT target FROM audit WHERE action IN ({marks})", actions)}
