"""The tables of control.db in a PostgreSQL for tests."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tests.cluster.postgres_server import PostgresServer
from vaults.cluster.control.postgres_control import PostgresControl
from vaults.cluster.postgres.connections import Connections, DatabaseLogin
from vaults.cluster.postgres.schema import lay_out, open_database


@contextlib.contextmanager
def shared_control(server: PostgresServer) -> Iterator[PostgresControl]:
    """Those of a new installation; whoever uses them closes them before the block ends."""
    login = DatabaseLogin(server.create_database(), pool_size=4)
    lay_out(login, "installation-1")
    connections = open_database(login, "installation-1")
    try:
        yield PostgresControl(connections)
    finally:
        connections.close()


@contextlib.contextmanager
def same_control(control: PostgresControl) -> Iterator[PostgresControl]:
    """As another server has it; whoever uses it closes it before the block ends."""
    connections = Connections(control._connections._login)
    connections.open()
    try:
        yield PostgresControl(connections)
    finally:
        connections.close()
