"""Something that one server of all does: a lock of PostgreSQL's, which ends with the connection that took it."""

from __future__ import annotations

import contextlib
import zlib

import psycopg

from vaults.cluster.failures import LogUnavailable
from vaults.cluster.postgres.connections import Connection, Connections
from vaults.cluster.postgres.driver_errors import translate_driver_errors

_LOCK_OF_LEASES = 0x4C454153


class AdvisoryLease:
    """Has a connection of its own while it is held. One thread at a time; blocking."""

    def __init__(self, connections: Connections, name: str) -> None:
        self._connections = connections
        self._key = zlib.crc32(name.encode()) - 2**31
        self._held: Connection | None = None

    def try_acquire(self) -> bool:
        """Whether this server has it now; to be asked again and again, as it is lost with its connection. False also
        where PostgreSQL does not answer."""
        try:
            with translate_driver_errors():
                return self._still_held() or self._acquire()
        except LogUnavailable:
            self.release()
            return False

    def _still_held(self) -> bool:
        if self._held is None:
            return False
        if not self._connections.is_living(self._held):
            self.release()
            return False
        self._held.execute("SELECT")
        return True

    def _acquire(self) -> bool:
        connection = self._connections.connect()
        lock = {"kind": _LOCK_OF_LEASES, "key": self._key}
        try:
            row = connection.execute("SELECT pg_try_advisory_lock(%(kind)s, %(key)s)", lock).fetchone()
        except BaseException:
            connection.close()
            raise
        if row != (True,):
            connection.close()
            return False
        self._held = connection
        return True

    def release(self) -> None:
        """Give it back, if it is held."""
        held, self._held = self._held, None
        if held is not None:
            with contextlib.suppress(psycopg.Error):
                held.close()
