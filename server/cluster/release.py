"""What the release of this process means to the others: they serve what it made, or cannot any more."""

from __future__ import annotations

import asyncio

from server.version import version
from vaults.cluster.postgres import vault_schemas
from vaults.cluster.postgres.connections import Connections
from vaults.cluster.rendezvous import SCHEMA_MARK
from vaults.db.migration import load_migrations


def known_schema() -> int:
    """The number of the last migration of a vault that this release has."""
    return len(load_migrations("vault"))


def release() -> str:
    """What this process says of itself to the other servers: version and ``known_schema``."""
    return f"{version()}{SCHEMA_MARK}{known_schema()}"


async def begin_schema(connections: Connections) -> None:
    """Before a vault is of ``known_schema``: from then on older releases cannot join. Raises ``VaultUnavailable`` while
    one of them serves, ``LogUnavailable``."""
    await asyncio.to_thread(vault_schemas.reach, connections, known_schema())


async def refuse_old_release(connections: Connections) -> None:
    """Raises ``InvalidArgument`` where vaults may be of a migration that this release does not know, and
    ``LogUnavailable``."""

    def ask() -> None:
        with connections.use() as connection:
            vault_schemas.refuse_older_release(connection, known_schema())

    await asyncio.to_thread(ask)
