"""The tables of control.db in a PostgreSQL for tests."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tests.cluster.laid_out_databases import empty_again, laid_out_database
from tests.cluster.postgres_server import PostgresServer
from vaults.cluster.control.postgres_control import PostgresControl
from vaults.cluster.postgres.connections import Connections, DatabaseLogin


@contextlib.contextmanager
def connected(server: PostgresServer) -> Iterator[Connections]:
    """To a database for one test after the other."""
    connections = Connections(DatabaseLogin(laid_out_database(server, "control"), pool_size=4))
    connections.open()
    try:
        yield connections
    finally:
        connections.close()


def shared_control(connections: Connections) -> PostgresControl:
    """Those of a new installation; whoever uses them closes them."""
    empty_again(connections)
    return PostgresControl(connections)


@contextlib.contextmanager
def same_control(control: PostgresControl) -> Iterator[PostgresControl]:
    """As another server has it; whoever uses it closes it before the block ends."""
    connections = Connections(control._connections._login)
    connections.open()
    try:
        yield PostgresControl(connections)
    finally:
        connections.close()
