"""Merging the rows of a whole database, a backup or the end of the change log, with those of the damaged one.

The newest version wins. A row that the damaged database accounts for and does not hold was deleted since; that goes for
what was purged, too, wherever its page is gone: the log of deletions names it. Of several backups the newest that is
whole is taken alone: what it lacks was deleted before it was made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ops.salvage import row_versions
from ops.salvage.found_rows import TableRemains
from ops.salvage.rebuilt_database import insert_row, replace_row
from ops.salvage.salvage_report import SalvageReport
from vaults.db.sql import Reader, Row, Writer

_DELETIONS = ("purge", "retention")
_PAGE = 1000

Values = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class WholeSource:
    """An intact database of the same vault and schema. ``is_current``: nothing that counts was changed since."""

    name: str
    rows: Reader
    is_current: bool = False


def merge_source(tx: Writer, remains: dict[str, TableRemains], source: WholeSource, report: SalvageReport) -> None:
    """Take from a backup what is lost and what is newer there, table by table; note where both differ."""
    purged = read_deleted(tx) | read_deleted(source.rows)
    for name, left in remains.items():
        merge = _TableMerge(tx, left, source, report, purged)
        after = -(1 << 63)
        while page := _read_page(source.rows, name, after):
            after = page[-1][0]
            merge.take_page(page)
        merge.judge_the_rest()


def _read_page(tx: Reader, table: str, after: int) -> list[Row]:
    return tx.all(
        f"SELECT rowid, * FROM {table} WHERE rowid > :after ORDER BY rowid LIMIT :page",
        {"after": after, "page": _PAGE},
    )


def read_deleted(tx: Reader) -> set[str]:
    """Ids of what was deleted for good."""
    actions = {f"a{at}": action for at, action in enumerate(_DELETIONS)}
    marks = ", ".join(f":{name}" for name in actions)
    return {str(target) for (target,) in tx.all(f"SELECT target FROM audit WHERE action IN ({marks})", actions)}


class _TableMerge:
    """One table under way."""

    def __init__(
        self, tx: Writer, left: TableRemains, source: WholeSource, report: SalvageReport, purged: set[str]
    ) -> None:
        self._tx, self._left, self._source, self._report, self._purged = tx, left, source, report, purged
        self._names = left.shape.names
        self._unseen = set(left.older)

    def take_page(self, page: list[Row]) -> None:
        """Merge some rows of the source, in order of their numbers."""
        span = {"first": page[0][0], "last": page[-1][0]}
        sql = f"SELECT rowid, * FROM {self._left.shape.name} WHERE rowid BETWEEN :first AND :last"
        there = {row[0]: tuple(row[1:]) for row in self._tx.all(sql, span)}
        for number, *values in page:
            row = tuple(values)
            self._unseen.discard(number)
            if number not in there:
                self._fill(number, row)
            elif there[number] == row:
                self._left.unproven.discard(number)  # a whole database says the same
            else:
                self._judge(number, there[number], row)

    def judge_the_rest(self) -> None:
        """Rows of pages whose newer state is damaged, which the source does not have: purged ones go again."""
        for number in self._unseen:
            if self._is_purged(self._read(number)):
                self._tx.run(f"DELETE FROM {self._left.shape.name} WHERE rowid = :number", {"number": number})
                self._left.older.discard(number)
            else:
                self._note(number, f"kept as found, {self._source.name} does not have it")

    def _read(self, number: int) -> Values:
        row = self._tx.one(f"SELECT * FROM {self._left.shape.name} WHERE rowid = :number", {"number": number})
        return tuple(row or ())

    def _is_purged(self, row: Values) -> bool:
        return "id" in self._names and bool(row) and row[self._names.index("id")] in self._purged

    def _fill(self, number: int, row: Values) -> None:
        if not self._left.may_have_held(number) or self._is_purged(row):
            return
        problem = insert_row(self._tx, self._left.shape, number, row)
        if problem is None:
            self._count(number)
            self._left.doubted.discard(number)
        else:
            self._note(number, f"{self._source.name} has it, but {problem}")

    def _judge(self, number: int, found: Values, row: Values) -> None:
        """Both have the row, in different states."""
        by_number = row_versions.compare_numbers(self._names, row, found)
        by_time = row_versions.compare_times(self._names, row, found)
        doubtful = number in self._left.older or number in self._left.unproven
        if by_number > 0 or (doubtful and not by_number and by_time >= 0):
            self._replace(number, row)
        elif not by_number and by_time > 0:
            self._note(number, f"kept as found, {self._source.name} has a state of a later time")
        elif not (by_number or by_time) and row_versions.has_number(self._names):
            self._note(number, f"kept as found, {self._source.name} has another state of the same version")

    def _replace(self, number: int, row: Values) -> None:
        problem = replace_row(self._tx, self._left.shape, number, row)
        if problem is None:
            self._count(number)
            self._note(number, f"{self._source.name} has a newer state than the file: taken")
        else:
            self._note(number, f"kept as found, {self._source.name} has a newer state, but {problem}")

    def _count(self, number: int) -> None:
        left = self._left
        left.restored.add(number)
        left.unproven.discard(number)
        left.older.discard(number)
        if not self._source.is_current:
            left.older.add(number)

    def _note(self, number: int, line: str) -> None:
        self._report.note_conflict(f"{self._left.shape.name} {number}: {line}")
