"""Whether a database is this installation's, in this layout and as it was laid out, before a server relies on it.

Everything here is refused with one line that says what to do, and holds no secret.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import conninfo

from vaults.cluster.postgres.connections import Connection, Connections, DatabaseLogin, in_transaction
from vaults.cluster.postgres.driver_errors import translate_driver_errors
from vaults.cluster.postgres.layout_steps import LAYOUT, SCHEMAS, expected_shape, first_tables, newer_tables
from vaults.errors import InvalidArgument

SETTING = "cluster.url"
OLDEST = 14
"""The first release of PostgreSQL that libpq can ask for the primary without a round trip; older ones get no fixes."""

_LOCK = 0x5354524F4E47  # no two servers lay the tables out at once

_SHAPE = """
SELECT line FROM (
  SELECT 1 AS kind, c.relname::text AS name, a.attnum::int AS number,
         format('%%s.%%s %%s%%s%%s%%s%%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
                CASE WHEN a.attcollation = t.typcollation THEN '' ELSE ' collate ' || a.attcollation::regcollation END,
                CASE WHEN a.attnotnull THEN ' not null' ELSE '' END,
                CASE WHEN a.atthasdef THEN ' default ' || pg_get_expr(d.adbin, d.adrelid) ELSE '' END,
                CASE WHEN a.attidentity <> '' THEN ' identity' ELSE '' END) AS line
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid
  LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE c.relnamespace = to_regnamespace(%(schema)s::text) AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT 2, c.relname, 0,
         format('%%s: %%s', c.relname, replace(pg_get_constraintdef(k.oid), %(schema)s::text || '.', ''))
  FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
  WHERE c.relnamespace = to_regnamespace(%(schema)s::text) AND k.contype <> 'n'
  UNION ALL
  SELECT 3, c.relname, 0,
         format('%%s: %%s', c.relname, CASE c.relpersistence WHEN 'p' THEN 'logged' ELSE 'not logged' END)
  FROM pg_class c WHERE c.relnamespace = to_regnamespace(%(schema)s::text) AND c.relkind NOT IN ('i', 'S', 't', 'c')
  UNION ALL
  SELECT 4, c.relname, 0, format('%%s: trigger %%s', c.relname, t.tgname)
  FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
  WHERE c.relnamespace = to_regnamespace(%(schema)s::text) AND NOT t.tgisinternal
  UNION ALL
  SELECT 5, c.relname, 0, format('%%s: rule %%s', c.relname, r.rulename)
  FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class WHERE c.relnamespace = to_regnamespace(%(schema)s::text)
  UNION ALL
  SELECT 6, c.relname, 0, format('%%s: rows are hidden by policies', c.relname)
  FROM pg_class c WHERE c.relnamespace = to_regnamespace(%(schema)s::text) AND c.relrowsecurity
) AS shape ORDER BY kind, name COLLATE "C", number, line COLLATE "C"
"""


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
    if not _has_schema(connection):
        return None
    _check_layout(connection)
    _check_shape(connection)
    row = connection.execute("SELECT id FROM strongroom.installation").fetchone()
    return None if row is None else str(row[0])


def lay_out(login: DatabaseLogin, installation: str) -> None:
    """Make the tables where there are none, and check those that are there. Raises as ``open_database``."""
    connections = _connections(login)
    with _first_connection(connections, login) as connection, translate_driver_errors():
        _check_server(connection)
        in_transaction(connection, lambda opened: _lay_out_once(opened, installation))
        check_database(connection, installation)


def bring_up(login: DatabaseLogin) -> int | None:
    """Bring tables of an older layout to this release's, whole or not at all, and check them. Returns the layout they
    had, or None where nothing was to do. Raises as ``open_database``."""
    connections = _connections(login)
    with _first_connection(connections, login) as connection, translate_driver_errors():
        _check_server(connection)
        if not _has_schema(connection) or _read_layout(connection) >= LAYOUT:
            return None
        return in_transaction(connection, _bring_up)


def check_database(connection: Connection, installation: str) -> None:
    """Raises ``InvalidArgument`` for the first thing that is wrong."""
    _check_server(connection)
    if not _has_schema(connection):
        raise InvalidArgument(SETTING, "has no tables of strongroom", hint="run: strongroom cluster init")
    try:
        _check_installation(connection, installation)
    except psycopg.ProgrammingError:
        _check_shape(connection)  # which says what is wrong with that table
        raise
    _check_shape(connection)


def shape(connection: Connection, schema: str = "strongroom") -> list[str]:
    """The tables as they are: a line for each column, constraint and trigger."""
    return [line for (line,) in connection.execute(_SHAPE, {"schema": schema})]


def _lay_out_once(connection: Connection, installation: str) -> None:
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
    if _has_schema(connection):
        return
    for statements in (*first_tables(installation), *newer_tables(1)):
        connection.execute(statements.encode())


def _bring_up(connection: Connection) -> int | None:
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
    layout = _read_layout(connection)
    if layout >= LAYOUT:  # somebody else was faster
        return None
    for statements in newer_tables(layout):
        connection.execute(statements.encode())
    _check_shape(connection)
    return layout


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


def _has_schema(connection: Connection) -> bool:
    return connection.execute("SELECT to_regnamespace('strongroom') IS NOT NULL").fetchone() == (True,)


def _check_shape(connection: Connection) -> None:
    """Raises with the first line that is not as it was laid out."""
    for schema in SCHEMAS:
        for line in difflib.ndiff(expected_shape(schema), shape(connection, schema)):
            sign, what = line[:2], line[2:]
            if sign in ("- ", "+ "):
                how = "lacks" if sign == "- " else "has, beyond what was laid out,"
                raise InvalidArgument(
                    SETTING, f"{how} {schema}.{what}", hint="nothing was changed; restore the tables as they were"
                )


def _check_installation(connection: Connection, installation: str) -> None:
    row = connection.execute("SELECT id FROM strongroom.installation").fetchone()
    if row != (installation,):
        raise InvalidArgument(
            SETTING,
            "belongs to another installation",
            hint="two installations on one database would take each other's vaults: give each a database of its own",
        )
    _check_layout(connection)


def _check_layout(connection: Connection) -> None:
    layout = _read_layout(connection)
    if layout < LAYOUT:
        raise InvalidArgument(
            SETTING,
            f"has layout {layout}, and this release needs {LAYOUT}",
            hint="run strongroom cluster init of this release as the owner of the tables; running servers go on",
        )
    if layout > LAYOUT:
        raise InvalidArgument(
            SETTING, f"has layout {layout}, and this release knows {LAYOUT}", hint="run one release on all servers"
        )


def _read_layout(connection: Connection) -> int:
    """Raises as ``_check_shape`` where the tables do not even say."""
    try:
        row = connection.execute("SELECT layout FROM strongroom.installation").fetchone()
    except psycopg.ProgrammingError:
        _check_shape(connection)
        raise
    return LAYOUT if row is None else int(row[0])


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
