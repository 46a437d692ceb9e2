"""The rows of control.db, carried into the cluster's database and out of it: which vaults there are, who may do what.

All of them move in one transaction, which is what makes an installation that joins the cluster's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from server.cluster.table_rows import MovedTable, RowDigest, describe_tables, digest_rows, empty, insert, read_all
from vaults import registry
from vaults.db.sql import Reader, Row, Writer
from vaults.db.transactions import Transactions
from vaults.errors import Conflict, VaultUnavailable

FOLDERS = "folder_moves"
"""Of folders of one machine."""

_INSTALLATION = "installation"
_VAULTS = "vaults"


async def describe_control(control: Transactions) -> list[MovedTable]:
    """The tables of control.db that move. ``control`` is SQLite."""
    return await control.read(partial(describe_tables, leave_out=(FOLDERS,)))


async def move_control(source: Transactions, target: Transactions, tables: Sequence[MovedTable]) -> int:
    """Have the cluster's database hold the rows of ``source``, which nobody changes, unless it has vaults of its own;
    returns how many there are. Vaults served in place do not move. Raises ``Conflict``, ``VaultUnavailable``."""
    rows = await source.read(partial(_read_moving, tables=tables))
    await target.write(partial(_replace, tables=tables, rows=rows))
    found = await target.read(partial(digest_rows, tables=_but_installation(tables)))
    if found != {table.name: RowDigest.of(rows[table.name]) for table in _but_installation(tables)}:
        raise VaultUnavailable("the rows of control.db did not arrive as they are", hint="call again")
    return sum(map(len, rows.values()))


async def copy_control(source: Transactions, target: Transactions, tables: Sequence[MovedTable]) -> int:
    """Have a new control.db hold the rows of the cluster's; returns how many there are. Raises ``VaultUnavailable``."""
    rows = await source.read(partial(_read_rows, tables=tables))
    rows[_INSTALLATION] = [row for row in rows[_INSTALLATION] if not _is_of_cluster(row[0])]

    def write(tx: Writer) -> None:
        empty(tx, tables)
        for table in tables:
            insert(tx, table, rows[table.name])

    await target.write(write)
    found = await target.read(partial(digest_rows, tables=tables))
    if found != {table.name: RowDigest.of(rows[table.name]) for table in tables}:
        raise VaultUnavailable("the rows of the cluster did not arrive as they are", hint="call again")
    return sum(map(len, rows.values()))


def _is_of_cluster(key: str) -> bool:
    return key == registry.JOINED or key.startswith(registry.NEW)


def _replace(tx: Writer, tables: Sequence[MovedTable], rows: dict[str, list[Row]]) -> None:
    if registry.joined_at(tx) is not None or tx.one("SELECT 1 FROM vaults LIMIT 1") is not None:
        raise Conflict("the cluster has vaults of its own", hint="join a database of which nothing was served yet")
    empty(tx, tables)
    for table in tables:
        insert(tx, table, rows[table.name])
    _count_on(tx)
    registry.note_joined(tx)


def _count_on(tx: Writer) -> None:
    """Have PostgreSQL number new rows after those that came with their numbers."""
    identities = tx.all(
        "SELECT table_name, column_name FROM information_schema.columns"
        " WHERE table_schema = 'strongroom_control' AND is_identity = 'YES'"
    )
    for table, column in identities:
        last = tx.value(f"SELECT MAX({column}) FROM {table}")
        if last is not None:
            sequence = {"table": f"strongroom_control.{table}", "column": column, "last": last}
            tx.value("SELECT setval(pg_get_serial_sequence(:table, :column), :last)", sequence)


def _read_moving(tx: Reader, tables: Sequence[MovedTable]) -> dict[str, list[Row]]:
    rows = _read_rows(tx, tables)
    staying = {each.name for each in registry.list_vaults(tx) if each.path is not None}
    rows[_VAULTS] = [row for row in rows[_VAULTS] if row[0] not in staying]
    return rows


def _read_rows(tx: Reader, tables: Sequence[MovedTable]) -> dict[str, list[Row]]:
    return {table.name: list(read_all(tx, table)) for table in tables}


def _but_installation(tables: Sequence[MovedTable]) -> list[MovedTable]:
    return [table for table in tables if table.name != _INSTALLATION]
