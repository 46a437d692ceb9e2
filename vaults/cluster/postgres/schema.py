"""Whether a database is this installation's, in this layout and as it was laid out, before a server relies on it.

Everything here is refused with one line that says what to do, and holds no secret.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import conninfo

from vaults.cluster.postgres.connections import Connection, Connections, DatabaseLogin, in_transaction
from vaults.cluster.postgres.driver_errors import translate_driver_errors
from vaults.cluster.postgres.layout_steps import LAYOUT, first_tables, newer_tables
from vaults.cluster.postgres.server_rights import check_rights
from vaults.cluster.postgres.table_shape import check_shape
from vaults.errors import InvalidArgument

SETTING = "cluster.url"
OLDEST = 14
"""The first release of PostgreSQL that libpq can ask for the primary without a round trip; older ones get no fixes."""

_LOCK = 0x5354524F4E47  # no two change the tables at once


def open_database(login: DatabaseLogin, installation: str) -> Connections:
    """The pool over a database that is this installation's. Raises ``InvalidArgument`` with what is wrong with it."""
    connections = _connections(login)
    with _first_connection(connections, login) as connection, translate_driver_errors():
        check_database(connection, installation)
    connections.open()
    return connections


@contextmanager
def single_connection(login: DatabaseLogin) -> Iterator[Connection]:
    """One connection for who looks after the database, whoever's it is. Raises ``InvalidArgument`` with what is wrong,
    ``LogUnavailable``."""
    connections = _connections(login)
    with _first_connection(connections, login) as connection, translate_driver_errors():
        _check_server(connection)
        yield connection


def installation_of(connection: Connection) -> str | None:
    """The id of the installation whose tables these are; None where there are none. Raises ``InvalidArgument`` for
    tables that are not as they were laid out."""
    if not has_tables(connection):
        return None
    found, layout = _read_row(connection)
    _check_layout(layout)
    check_shape(connection)
    return found


def lay_out(login: DatabaseLogin, installation: str) -> None:
    """Make the tables where there are none, and check those that are there. Raises as ``open_database``."""
    connections = _connections(login)
    with _first_connection(connections, login) as connection, translate_driver_errors():
        _check_server(connection)
        in_transaction(connection, lambda opened: _lay_out_once(opened, installation))
        check_database(connection, installation)


def check_database(connection: Connection, installation: str) -> None:
    """Raises ``InvalidArgument`` for the first thing that is wrong."""
    _check_server(connection)
    if not has_tables(connection):
        raise InvalidArgument(SETTING, "has no tables of strongroom", hint="run: strongroom cluster init")
    found, layout = _read_row(connection)
    if found != installation:
        raise InvalidArgument(
            SETTING,
            "belongs to another installation",
            hint="two installations on one database would take each other's vaults: give each a database of its own",
        )
    _check_layout(layout)
    check_shape(connection)
    check_rights(connection)


def _lay_out_once(connection: Connection, installation: str) -> None:
    lock_out_others(connection)
    if has_tables(connection):
        return
    for statements in (*first_tables(installation), *newer_tables(1)):
        connection.execute(statements.encode())


def _check_server(connection: Connection) -> None:
    refuse_old_release(connection.info.server_version)
    row = connection.execute("SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::bool").fetchone()
    if row == (True,):
        raise _read_only()


def refuse_old_release(number: int) -> None:
    """``number`` as PostgreSQL tells it: 150018 is 15.18. Raises ``InvalidArgument``."""
    if number < 10_000 * OLDEST:
        raise InvalidArgument(
            SETTING, f"is PostgreSQL {number // 10_000}, which is too old", hint=f"use PostgreSQL {OLDEST} or newer"
        )


def lock_out_others(connection: Connection) -> None:
    """Wait until nobody else changes the tables, and let nobody, as long as this transaction lasts."""
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))


def read_layout(connection: Connection) -> int:
    """The layout that the tables have. Raises ``InvalidArgument`` where they do not even say."""
    return _read_row(connection)[1]


def has_tables(connection: Connection) -> bool:
    """Whether anything was laid out here."""
    return connection.execute("SELECT to_regnamespace('strongroom') IS NOT NULL").fetchone() == (True,)


def _check_layout(layout: int) -> None:
    if layout < LAYOUT:
        raise InvalidArgument(
            SETTING,
            f"has layout {layout}, and this release needs {LAYOUT}",
            hint="run strongroom cluster init of this release as the owner of the tables; running servers go on",
        )
    if layout > LAYOUT:
        raise InvalidArgument(
            SETTING,
            f"has layout {layout}, and this release knows {LAYOUT}",
            hint="run the newer release, whose strongroom cluster init was run",
        )


def _read_row(connection: Connection) -> tuple[str | None, int]:
    """Whose tables these are, and their layout. Raises ``InvalidArgument`` where they do not even say."""
    try:
        row = connection.execute("SELECT id, layout FROM strongroom.installation").fetchone()
    except psycopg.ProgrammingError:
        check_shape(connection)  # which says what is wrong with that table
        check_rights(connection)
        raise
    return (None, LAYOUT) if row is None else (str(row[0]), int(row[1]))


def _connections(login: DatabaseLogin) -> Connections:
    try:
        return Connections(login)
    except psycopg.ProgrammingError:  # whose words quote what it could not read
        raise InvalidArgument(
            SETTING, "cannot be read", hint="write postgresql://user:password@host:5432/database"
        ) from None


def _first_connection(connections: Connections, login: DatabaseLogin) -> Connection:
    """Raises ``InvalidArgument`` with what PostgreSQL or the network said, in one line."""
    try:
        return connections.connect()
    except psycopg.Error as failure:
        said = str(failure)
        if "session is read-only" in said or "server is in hot standby" in said:
            raise _read_only() from None
        raise InvalidArgument(SETTING, f"cannot be used: {_one_line(said, login)}") from None


def _read_only() -> InvalidArgument:
    return InvalidArgument(
        SETTING, "is read-only, as a standby is", hint="name the primary, or all hosts: libpq finds the primary"
    )


def _one_line(said: str, login: DatabaseLogin) -> str:
    """Without the password, which neither libpq nor PostgreSQL repeats, so far as is known."""
    secret = str(conninfo.conninfo_to_dict(login.conninfo).get("password") or "")
    line = " ".join(said.split())
    return line.replace(secret, "…") if secret else line
