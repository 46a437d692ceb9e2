"""The form that rows of each table have, and whether a row has it.

The form is read from a database that the migrations have just made: never written down here. The checks that SQLite
makes of a new row (kinds, NOT NULL, CHECK, unique keys) are left to SQLite; here is what it would not notice.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from ops.salvage.record_format import Record, Value
from vaults.db.sql import Reader

_KINDS: dict[str, tuple[type, ...]] = {
    "INTEGER": (int,),
    "TEXT": (str,),
    "REAL": (float, int),
    "BLOB": (bytes,),
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column. ``default``: what rows that are older than it hold in it."""

    name: str
    kind: str
    required: bool
    default: str | None


@dataclass(frozen=True, slots=True)
class TableShape:
    """A table's columns, in order. ``number``: the column that is the row's number, if one is. ``keys``: columns that
    tell rows apart besides."""

    name: str
    columns: tuple[Column, ...]
    number: int | None
    keys: tuple[tuple[str, ...], ...]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def place(self, name: str) -> int:
        """Where a column stands in a row."""
        return self.names.index(name)


def read_shape(tx: Reader, table: str) -> TableShape:
    """The form of a table's rows."""
    found = tx.all(f"PRAGMA table_info({table})")
    columns = tuple(Column(str(name), str(kind), bool(need), default) for _, name, kind, need, default, _ in found)
    keyed = [place for place, (_, _, kind, _, _, key) in enumerate(found) if key and kind == "INTEGER"]
    single = sum(bool(key) for *_, key in found) == 1
    unique = tx.all(f"SELECT name FROM pragma_index_list('{table}') WHERE \"unique\" = 1 AND partial = 0")
    keys = []
    for (index,) in unique:
        names = [name for (name,) in tx.all(f"SELECT name FROM pragma_index_info('{index}') ORDER BY seqno")]
        if all(names):
            keys.append(tuple(str(name) for name in names))
    return TableShape(table, columns, keyed[0] if keyed and single else None, tuple(keys))


def fit_row(shape: TableShape, number: int, record: Record) -> Record | str:
    """The row that a record is of this table, or why it is none."""
    if len(record) > len(shape.columns):
        return "it has more values than the table has columns"
    values: list[Value] = list(record)
    try:
        values += [_read_default(column) for column in shape.columns[len(record) :]]
    except ValueError:
        return "it lacks values"
    if shape.number is not None:
        if values[shape.number] is not None:
            return "its number stands in it twice"
        values[shape.number] = number
    for column, value in zip(shape.columns, values, strict=True):
        if problem := _check_value(column, value):
            return f"{column.name} {problem}"
    return tuple(values)


def _check_value(column: Column, value: Value) -> str | None:
    if value is None:
        return "is missing" if column.required else None
    kinds = _KINDS.get(column.kind)
    if kinds is not None and not isinstance(value, kinds):
        return f"is no {column.kind}"
    return "holds NUL" if isinstance(value, str) and "\0" in value else None


def _read_default(column: Column) -> Value:
    if column.default is None or column.default == "NULL":
        if column.required:
            raise ValueError(column.name)
        return None
    if column.default.startswith("'"):
        return column.default.strip("'").replace("''", "'")
    value = json.loads(column.default)
    if isinstance(value, int | float):
        return value
    raise ValueError(column.name)
