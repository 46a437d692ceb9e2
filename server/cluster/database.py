"""The connections of this server to the cluster's database."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from server.cluster_settings import ClusterSettings
from vaults.cluster.postgres.connections import Connections, DatabaseLogin
from vaults.cluster.postgres.schema import open_database


async def open_connections(stack: AsyncExitStack, settings: ClusterSettings, installation: str) -> Connections:
    """The pool over the database of this installation; ``stack`` closes it. Raises ``InvalidArgument`` with what is
    wrong with it."""
    url = await asyncio.to_thread(settings.read_url)
    # Nothing may wait longer than a lease: who waits that long has lost its vaults.
    login = DatabaseLogin(url, settings.connections, max(2, int(settings.lease_s)), settings.lease_s)
    connections = await asyncio.to_thread(open_database, login, installation)
    stack.push_async_callback(asyncio.to_thread, connections.close)
    return connections
