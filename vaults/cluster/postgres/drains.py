"""Asking a server to hand its vaults over and to take no more. It finds the word in its own row with its next beat."""

from __future__ import annotations

from vaults.cluster.postgres.connections import Connection

_ASK = """
UPDATE strongroom.servers SET state = 'draining'
WHERE (name = %(name)s OR id = %(name)s) AND state <> 'command' RETURNING id
"""

_LEFT = "SELECT count(*) FROM strongroom.placement WHERE server = ANY(%(servers)s)"


def ask_to_drain(connection: Connection, name: str) -> list[str]:
    """The ids of the servers of this name or id, which drain from now on; again for nothing. None of them may be left:
    then there is no such server. Raises the driver's errors."""
    return [server for (server,) in connection.execute(_ASK, {"name": name})]


def vaults_left(connection: Connection, servers: list[str]) -> int:
    """Vaults that these servers still hold; none of a server that ended."""
    row = connection.execute(_LEFT, {"servers": servers}).fetchone()
    assert row is not None
    return int(row[0])
