"""From the rows of another system's tables to records, one after the other."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from vaults.errors import InvalidArgument
from vaults.sources.record_fields import cut_text
from vaults.sources.source import SourceItem, SourceReading, SourceRecord, UnreadableRecord
from vaults.sources.sqlite_file import DamagedRows, Row, SqliteFile, open_sqlite

MAX_RAW = 1_000
"""Max characters of an unreadable row in a report."""

Fields: TypeAlias = dict[str, Any]


class RowRefused(ValueError):
    """A row that is no record. The message says why, for its owner."""


@dataclass(frozen=True, slots=True)
class TableReading:
    """A table, the columns that are asked for, and the lines that a row with its rowid comes to. ``to_lines`` may raise
    ``RowRefused``."""

    table: str
    columns: tuple[str, ...]
    to_lines: Callable[[int, Row], Iterable[Fields]]


def read_tables(file: SqliteFile, readings: Sequence[TableReading]) -> Iterator[SourceItem]:
    """The records of tables, table by table. A row that cannot be read is said to be so, and the next one follows."""
    done = 0
    for reading in readings:
        for found in file.rows(reading.table, reading.columns):
            if isinstance(found, DamagedRows):
                place = reading.table if found.after is None else f"{reading.table}, after row {found.after}"
                yield UnreadableRecord(place, found.reason, done)
                continue
            done += 1
            yield from read_row(reading, *found, done)
    if file.has_changed():
        yield UnreadableRecord("the file", "was written to while it was read; import it once more", done)


def read_row(reading: TableReading, rowid: int, row: Row, done: int) -> Iterator[SourceItem]:
    """The records of one row."""
    place = f"{reading.table} {rowid}"
    try:
        for fields in reading.to_lines(rowid, row):
            yield SourceRecord(place, fields, done)
    except RowRefused as refused:
        yield UnreadableRecord(place, str(refused), done, _to_raw(row))
    except (ValueError, TypeError, RecursionError, OverflowError):
        yield UnreadableRecord(place, "does not have the form it should have", done, _to_raw(row))


ToReadings: TypeAlias = Callable[[SqliteFile, Counter[str]], Sequence[TableReading]]
"""What is read of a file. Raises ``InvalidArgument`` for files of others. What is left goes to the counter."""


@contextmanager
def open_tables(
    paths: Sequence[Path], to_readings: ToReadings, counter: Counter[str] | None = None
) -> Iterator[SourceReading]:
    """One file or several as one source. Of several each is opened in its turn; one that cannot be read is passed over.
    ``counter``: of what is left; None for a new one."""
    left: Counter[str] = Counter() if counter is None else counter
    if len(paths) == 1:
        with open_sqlite(paths[0]) as file:
            readings = to_readings(file, left)
            yield SourceReading(_count_rows(file, readings), read_tables(file, readings), left)
        return
    yield SourceReading(sum(path.stat().st_size for path in paths), _read_in_turn(paths, to_readings, left), left)


def _read_in_turn(paths: Sequence[Path], to_readings: ToReadings, left: Counter[str]) -> Iterator[SourceItem]:
    before = 0
    for path in paths:
        size, name = path.stat().st_size, f"{path.parent.name}/{path.name}"
        try:
            with open_sqlite(path) as file:
                readings = to_readings(file, left)
                rows = max(1, _count_rows(file, readings))
                for item in read_tables(file, readings):
                    yield replace(
                        item, place=f"{name}: {item.place}", done=before + size * min(item.done, rows) // rows
                    )
        except InvalidArgument as refused:
            yield UnreadableRecord(name, refused.message.removeprefix("Validation error: PATH "), before)
        before += size


def _count_rows(file: SqliteFile, readings: Sequence[TableReading]) -> int:
    return sum(file.count(each.table) for each in readings)


def require(value: str | None, reason: str = "has no id") -> str:
    """The value. Raises ``RowRefused`` where there is none."""
    if value is None:
        raise RowRefused(reason)
    return value


def check_version(system: str, version: Any, known: int) -> None:
    """Raises ``InvalidArgument`` for a schema that is newer than the one that is known."""
    if str(version).isdigit() and int(version) > known:
        raise InvalidArgument("PATH", f"is of a newer {system}: its schema is {version}, {known} is known here")


def count_left(left: Counter[str], file: SqliteFile, kinds: Mapping[str, str]) -> None:
    """Count what is not carried over: ``kinds`` has names for tables, and for columns as ``table.column``, of which the
    filled ones count."""
    for place, kind in kinds.items():
        table, _, column = place.partition(".")
        count = file.count_filled(table, column) if column else file.count(table)
        if count:
            left[kind] += count


def _to_raw(row: Row) -> str | None:
    return cut_text(json.dumps(row, ensure_ascii=False, default=lambda value: f"{type(value).__name__}"), MAX_RAW)
