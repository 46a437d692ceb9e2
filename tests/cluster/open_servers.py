"""Several servers of one installation in one process: each with its own services, folder and lease, over one
PostgreSQL, and each told of the same vaults.

Covers nothing by itself: used by the tests of the cluster.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from auth.principal import owner
from auth.roles import Role
from server import vault_admin
from server.background_plan import SERVER_WORK, BackgroundPlan
from server.call import Caller
from server.cluster.parts import Cluster
from server.services import Services, open_services
from server.settings import configured_endpoints, load
from tests.conftest import QUIET, Asking, asker, the_tools
from tests.fakes import HashEmbedder
from tests.work import PATIENCE_S
from vaults.errors import StrongroomError
from vaults.registry import VaultEntry

LEASE_S = 1.0


@dataclass
class OpenServer:
    """One server. ``end`` ends it in order."""

    name: str
    services: Services
    stack: AsyncExitStack

    @property
    def cluster(self) -> Cluster:
        assert self.services.cluster is not None
        return self.services.cluster

    @property
    def id(self) -> str:
        return self.cluster.membership.id

    def die(self) -> None:
        """As a process that is stopped: it beats no more, and knows nothing of it."""
        sitting = self.cluster.membership._sitting
        assert sitting is not None
        sitting._heartbeat.stop()

    def asking(self, vault: str = "main") -> Asking:
        """Calls tools in that vault through this server, wherever it is."""
        return asker(self.services, Caller(owner("cli"), vault, Role.ADMIN, "cli"))

    def entry(self, vault: str = "main") -> VaultEntry:
        return self.services.registry_cache.entry(vault)

    async def end(self) -> None:
        await self.stack.aclose()


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for what threads and other servers make so."""
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():  # noqa: ASYNC110  nobody tells
            await asyncio.sleep(0.01)


def _knows(server: OpenServer, ids: set[str]) -> bool:
    return ids <= {each.id for each in server.cluster.membership.servers}


async def contents(server: OpenServer, vault: str = "main") -> set[str]:
    """Of a vault, as this server's callers see it."""
    found = await server.asking(vault)("memory_list", limit=100)
    assert found.ok, found.text
    return {each["content"] for each in found.content["memories"]}


@dataclass
class OpenServers:
    """Servers of one installation."""

    folder: Path
    url: str
    vaults: tuple[str, ...]
    flags: dict[str, Any] = field(default_factory=dict)
    opened: list[OpenServer] = field(default_factory=list)

    async def start(self, name: str, *, background: BackgroundPlan = SERVER_WORK, **flags: Any) -> OpenServer:
        """Another server, which holds nothing yet."""
        data = self.folder / name
        data.mkdir(mode=0o700, exist_ok=True)
        own = {"cluster.url": self.url, "cluster.name": name, "cluster.lease_s": LEASE_S, "cluster.host": "127.0.0.1"}
        loaded = load(data, flags={**QUIET, **own, **self.flags, **flags}, environment={})
        stack = AsyncExitStack()
        tools = the_tools(configured_endpoints(loaded.settings))
        opening = open_services(loaded.settings, data, tools, load_model=HashEmbedder, background=background)
        server = OpenServer(name, await stack.enter_async_context(opening), stack)
        self.opened.append(server)
        return server

    async def acquaint(self) -> None:
        """Return once each server knows all others."""
        everybody = {each.id for each in self.opened}
        for server in self.opened:
            await until(partial(_knows, server, everybody))

    async def make_vaults(self, server: OpenServer) -> None:
        """Make the vaults, and have ``server`` hold them."""
        for name in self.vaults:
            entry = await vault_admin.create(server.services, name)
            async with server.services.pool.lease(entry):
                pass


@asynccontextmanager
async def open_servers(
    folder: Path, url: str, names: tuple[str, ...] = ("a", "b"), vaults: tuple[str, ...] = ("main",), **flags: Any
) -> AsyncIterator[OpenServers]:
    """Servers of those names over a database that is laid out; the first one holds the vaults."""
    servers = OpenServers(folder, url, vaults, flags)
    try:
        for number, name in enumerate(names):
            server = await servers.start(name)
            if not number:
                await servers.make_vaults(server)
        await servers.acquaint()
        yield servers
    finally:
        for server in reversed(servers.opened):
            with contextlib.suppress(StrongroomError):
                await server.end()
