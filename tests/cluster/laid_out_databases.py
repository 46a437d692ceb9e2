"""Databases with the tables of an installation: the tables are made once per PostgreSQL, and copied.

Covers nothing by itself: used by the tests of the cluster.
"""

from __future__ import annotations

from functools import cache

import psycopg

from tests.cluster.postgres_server import PostgresServer
from vaults.cluster.postgres.connections import Connections, DatabaseLogin
from vaults.cluster.postgres.layout_steps import SCHEMAS, first_tables, installation_rows
from vaults.cluster.postgres.schema import lay_out

INSTALLATION = "installation-1"

_TABLES = "SELECT format('%%I.%%I', schemaname, tablename) FROM pg_tables WHERE schemaname = ANY(%s)"
_NUMBERED = "SELECT format('%%I.%%I', schemaname, sequencename) FROM pg_sequences WHERE schemaname = ANY(%s)"


def laid_out_database(server: PostgresServer, name: str | None = None) -> str:
    """The conninfo of a new one, as ``lay_out`` leaves it for ``INSTALLATION``. With a ``name`` it stays."""
    return server.create_database(template=_template(server), name=name)


@cache
def _template(server: PostgresServer) -> str:
    """Its name. Nobody connects to it again: what has a connection cannot be copied."""
    conninfo = server.create_database(name="laid_out")
    lay_out(DatabaseLogin(conninfo), INSTALLATION)
    return conninfo.rpartition("/")[2]


def first_layout_database(server: PostgresServer) -> str:
    """The conninfo of a new one, as the first release left it for ``INSTALLATION``."""
    conninfo = server.create_database()
    with psycopg.connect(conninfo) as connection:
        for statements in first_tables(INSTALLATION):
            connection.execute(statements.encode())
    return conninfo


def empty_again(connections: Connections) -> None:
    """Have every row as ``lay_out`` leaves it: a sixth of the work of another database."""
    with connections.use() as connection:
        tables = [f"DELETE FROM {name};" for (name,) in connection.execute(_TABLES, [list(SCHEMAS)])]
        numbers = [f"ALTER SEQUENCE {name} RESTART;" for (name,) in connection.execute(_NUMBERED, [list(SCHEMAS)])]
        rows = (*installation_rows(INSTALLATION), "INSERT INTO strongroom_control.control_version (number) VALUES (0);")
        in_any_order = "SET LOCAL session_replication_role = replica;"  # without foreign keys
        connection.execute(f"BEGIN;{in_any_order}{''.join(tables + numbers)}{''.join(rows)}COMMIT".encode())
