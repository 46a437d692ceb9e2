"""Which servers are alive: one row and one heartbeat each, whatever number of vaults it holds.

A row that is removed never comes back, so that whoever finds a holder without a row may take its vaults. Removing and
beating change the same row: one of them comes first, and the other finds out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import psycopg

from vaults.cluster.failures import Fenced
from vaults.cluster.postgres.connections import Connection, Connections, in_transaction
from vaults.cluster.postgres.driver_errors import translate_driver_errors
from vaults.cluster.postgres.vault_schemas import refuse_older_release
from vaults.cluster.rendezvous import schema_in
from vaults.cluster.server_watch import ServerBeat, ServerState
from vaults.db.sql import Reader
from vaults.errors import AlreadyExists

_JOIN = """
WITH known AS (SELECT FROM strongroom.installation WHERE vault_schema <= %(schema)s FOR SHARE)
INSERT INTO strongroom.servers (id, name, address, version, state, certificate, weight, beat, lease_s, expires)
SELECT %(id)s, %(name)s, %(address)s, %(version)s, %(state)s, %(certificate)s, %(weight)s, 1, %(lease_s)s,
       clock_timestamp() + make_interval(secs => %(lease_s)s)
FROM known ON CONFLICT DO NOTHING
"""
"""While the row of the installation is shared, no server goes on to a migration that this one does not know."""

_BEAT = """
WITH own AS (
  UPDATE strongroom.servers
  SET beat = beat + 1, state = CASE state WHEN 'draining' THEN state ELSE %(state)s END,
      cpu = %(cpu)s, memory = %(memory)s, expires = clock_timestamp() + make_interval(secs => lease_s)
  WHERE id = %(id)s RETURNING *
)
SELECT id, address, version, beat, lease_s, name, state, certificate, weight, cpu, memory FROM (
  SELECT * FROM own UNION ALL SELECT * FROM strongroom.servers s WHERE s.id <> %(id)s
) AS servers
"""

_REMOVE = """
DELETE FROM strongroom.servers
WHERE id = %(id)s AND beat = %(beat)s
  AND clock_timestamp() NOT BETWEEN expires - make_interval(secs => lease_s) AND expires
"""
"""Over by PostgreSQL's clock, or that clock was put: time before a lease began is none of it."""

_LEAVE = (
    "UPDATE strongroom.placement SET server = NULL WHERE server = %(id)s",
    "DELETE FROM strongroom.servers WHERE id = %(id)s",
)


_SERVES = "SELECT 1 FROM strongroom.servers WHERE name = :name AND state = 'serving'"


class Servers:
    """The rows of all servers, as one of them keeps them. ``beat`` and ``remove`` are called by one thread, and have a
    connection of their own: no upload may keep a heartbeat waiting."""

    def __init__(self, connections: Connections, lease_s: float) -> None:
        self._connections = connections
        self._lease_s = lease_s
        self._own: Connection | None = None
        self.state: ServerState = "serving"
        """Told with the next beat. Another process may have said ``draining`` of this one: that stands."""
        self.load = 0.0, 0.0
        """The shares of its cores and its memory for vectors that it uses. Told with the next beat."""
        self.weight = 1.0
        """How many vaults it is to have, beside servers of other weights. Told when it joins."""

    def join(self, server: str, address: str, version: str, name: str = "", certificate: str = "") -> None:
        """Add a server under an id that was never used before. Raises ``AlreadyExists``, ``LogUnavailable``, and
        ``InvalidArgument`` for a release that is too old for the vaults there are."""
        said = {"name": name, "address": address, "version": version, "certificate": certificate}
        schema = schema_in(version)
        row = {
            "id": server,
            **said,
            "state": self.state,
            "weight": self.weight,
            "lease_s": self._lease_s,
            "schema": schema,
        }
        with self._connections.use() as connection:
            if connection.execute(_JOIN, row).rowcount != 1:
                refuse_older_release(connection, schema)
                raise AlreadyExists(f"server {server} is there already")

    def beat(self, server: str) -> list[ServerBeat]:
        """Every server, this one with its new beat. Raises ``Fenced`` where it was removed, ``LogUnavailable``."""
        with self._kept() as connection:
            cpu, memory = self.load
            said = {"id": server, "state": self.state, "cpu": cpu, "memory": memory}
            rows = connection.execute(_BEAT, said).fetchall()
        beats = [ServerBeat(*row) for row in rows]
        if all(beat.id != server for beat in beats):
            raise Fenced("this server was taken for dead, and its vaults may be elsewhere")
        return beats

    def remove(self, silent: ServerBeat) -> bool:
        """Whether it was removed, for ever: it did not beat since, and its time is over by PostgreSQL's clock too."""
        row = {"id": silent.id, "beat": silent.beat}
        with self._kept() as connection:
            return connection.execute(_REMOVE, row).rowcount == 1

    def leave(self, server: str) -> None:
        """Give back all its vaults and remove it, with its vaults closed already. Raises ``LogUnavailable``."""

        def work(connection: Connection) -> None:
            for statement in _LEAVE:
                connection.execute(statement, {"id": server})

        with self._connections.use() as connection:
            in_transaction(connection, work)

    def close(self) -> None:
        """With no beat under way."""
        if self._own is not None:
            self._own.close()
            self._own = None

    @contextlib.contextmanager
    def _kept(self) -> Iterator[Connection]:
        """The heartbeat's own connection, a new one after any failure."""
        with translate_driver_errors():
            if self._own is None or not self._connections.is_living(self._own):
                self.close()
                self._own = self._connections.connect()
                self._own.answer_s = self._lease_s / 2  # else one dead connection would cost the lease
            try:
                yield self._own
            except psycopg.Error:
                self.close()
                raise


def serves_in(tx: Reader, name: str) -> bool:
    """Whether a server of this name serves."""
    return tx.one(_SERVES, {"name": name}) is not None
