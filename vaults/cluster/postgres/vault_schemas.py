"""Up to which migration the vaults of the installation may have come: there is no way back for a vault, so from then on
no server may join that does not know it.

Joining and going on to a migration lock the same row, so one of them comes first and the other finds out.
"""

from __future__ import annotations

from vaults.cluster.postgres.connections import Connection, Connections, in_transaction
from vaults.cluster.rendezvous import schema_in
from vaults.errors import InvalidArgument, VaultUnavailable

_REACHED = "SELECT vault_schema FROM strongroom.installation"

_SERVING = "SELECT version FROM strongroom.servers WHERE state = 'serving'"

_REACH = "UPDATE strongroom.installation SET vault_schema = %(schema)s"


def reach(connections: Connections, schema: int) -> None:
    """Let vaults be migrated up to ``schema``, for good; again for nothing. Blocking. Raises ``VaultUnavailable`` while
    a server serves that does not know it, ``LogUnavailable``."""

    def work(connection: Connection) -> None:
        if _reached(connection, f"{_REACHED} FOR UPDATE") >= schema:
            return
        if any(0 < schema_in(version) < schema for (version,) in connection.execute(_SERVING)):
            raise VaultUnavailable("a server of an older release serves vaults", hint="call again, or upgrade it")
        connection.execute(_REACH, {"schema": schema})

    with connections.use() as connection:
        if _reached(connection, _REACHED) < schema:
            in_transaction(connection, work)


def refuse_older_release(connection: Connection, schema: int) -> None:
    """Raises ``InvalidArgument`` where vaults may be of a migration that a server of ``schema`` does not know."""
    reached = _reached(connection, _REACHED)
    if schema < reached:
        raise InvalidArgument(
            "cluster.url",
            f"holds vaults of a newer release (schema {reached}, this one knows {schema})",
            hint="upgrade this server: there is no way back once vaults were migrated",
        )


def _reached(connection: Connection, statement: str) -> int:
    row = connection.execute(statement.encode()).fetchone()
    return 0 if row is None else int(row[0])
