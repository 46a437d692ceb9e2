"""Rows of tables that stand under one name in SQLite and in PostgreSQL, carried from one to the other and compared.

Tables come in the order they were made, in which a row's references are there before it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from vaults.db.sql import Reader, Row, Writer

AT_ONCE = 1000
"""Rows that are read and written by one statement."""

_RECORD = "schema_steps"
"""Which migrations a SQLite database went through: PostgreSQL's layout has a number instead."""


@dataclass(frozen=True, slots=True)
class MovedTable:
    """A table, its columns, and those of its primary key."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RowDigest:
    """How many rows there are, and one digest of all of them, in the order of their keys."""

    rows: int
    digest: str

    @classmethod
    def of(cls, rows: Iterable[Row]) -> RowDigest:
        """Of rows in the order of their keys."""
        found, count = blake2b(digest_size=16), 0
        for row in rows:
            found.update(repr(row).encode())
            count += 1
        return cls(count, found.hexdigest())


def describe_tables(tx: Reader, leave_out: Collection[str] = ()) -> list[MovedTable]:
    """The tables of a SQLite database."""
    names = tx.all("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid")
    return [_describe(tx, name) for (name,) in names if name not in (*leave_out, _RECORD)]


def _describe(tx: Reader, table: str) -> MovedTable:
    columns = tx.all("SELECT name, pk FROM pragma_table_info(:table) ORDER BY cid", {"table": table})
    key = sorted((place, name) for name, place in columns if place)
    return MovedTable(table, tuple(name for name, _ in columns), tuple(name for _, name in key))


def read_after(tx: Reader, table: MovedTable, last: Row | None) -> list[Row]:
    """The next ``AT_ONCE`` rows after the one given, in the order of their keys."""
    key, where, params = ", ".join(table.key), "", {}
    if last is not None:
        values = dict(zip(table.columns, last, strict=True))
        params = {f"after_{name}": values[name] for name in table.key}
        where = f" WHERE ({key}) > ({', '.join(f':after_{name}' for name in table.key)})"
    rows = tx.all(f"SELECT {', '.join(table.columns)} FROM {table.name}{where} ORDER BY {key} LIMIT {AT_ONCE}", params)
    return [tuple(bytes(each) if isinstance(each, memoryview) else each for each in row) for row in rows]


def read_all(tx: Reader, table: MovedTable) -> Iterator[Row]:
    """Every row, in the order of their keys."""
    last: Row | None = None
    while rows := read_after(tx, table, last):
        yield from rows
        last = rows[-1]


def insert(tx: Writer, table: MovedTable, rows: Sequence[Row]) -> None:
    """Add rows."""
    values = ", ".join(f":{name}" for name in table.columns)
    tx.many(
        f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES ({values})",
        [dict(zip(table.columns, row, strict=True)) for row in rows],
    )


def empty(tx: Writer, tables: Sequence[MovedTable]) -> None:
    """Delete every row of all of them."""
    for table in reversed(tables):
        tx.run(f"DELETE FROM {table.name}")


def digest_rows(tx: Reader, tables: Sequence[MovedTable]) -> dict[str, RowDigest]:
    """What tells whether two databases hold the same rows, by table."""
    return {table.name: RowDigest.of(read_all(tx, table)) for table in tables}
