"""Two whole servers in one process, that know each other as servers of a cluster do: real sockets, TLS and certificates
between them, and a table that a test changes in place of PostgreSQL."""

from __future__ import annotations

import asyncio
import shutil
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from auth.roles import Role
from server.cluster.peer_door import PeerDoor
from server.cluster.peer_identity import make_identity
from server.http import app
from server.services import Services, open_services
from tests.server.http.serving import Site, served
from tests.work import PATIENCE_S
from vaults.errors import StrongroomError
from vaults.registry import VaultEntry
from vaults.vault_hosting import VaultElsewhere


@dataclass
class KnownServer:
    id: str
    address: str
    certificate: str


@dataclass
class Table:
    """Who has which vault, by name, and which servers there are. ``looks``: how often somebody asked."""

    holder: dict[str, str] = field(default_factory=dict)
    rows: list[KnownServer] = field(default_factory=list)
    watchers: list[Callable[[], None]] = field(default_factory=list)
    looks: list[tuple[str, str, bool]] = field(default_factory=list)
    failure: StrongroomError | None = None

    def change(self, *rows: KnownServer) -> None:
        """Other servers from now on, which each finds out with its next beat."""
        self.rows[:] = rows
        for each in self.watchers:
            each()


@dataclass
class Standing:
    """One server in the table: membership and whereabouts at once. ``believes`` what is not so any more."""

    id: str
    table: Table
    believes: set[str] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)
    on_removed: list[Callable[[], None]] = field(default_factory=list)

    @property
    def servers(self) -> list[KnownServer]:
        return self.table.rows

    @property
    def membership(self) -> Standing:
        return self

    @property
    def on_beat(self) -> list[Callable[[], None]]:
        return self.table.watchers

    def forget_location(self, vault_id: str) -> None:
        """Nothing is kept."""

    async def wait_for_others(self, at_most_s: float) -> None:
        """None comes or goes."""
        await asyncio.sleep(at_most_s)

    def is_here(self, vault_id: str) -> bool:
        name = self.names.get(vault_id)
        return name is not None and (name in self.believes or self.table.holder.get(name) == self.id)

    async def locate(self, entry: VaultEntry, *, forwarded: bool) -> KnownServer | None:
        self.names[entry.vault_id] = entry.name
        self.table.looks.append((self.id, entry.name, forwarded))
        if self.table.failure is not None:
            raise self.table.failure
        holder = self.table.holder.get(entry.name)
        if holder == self.id:
            return None
        return next(row for row in self.table.rows if row.id == holder)

    async def take(self, entry: VaultEntry, folder: Path) -> None:
        if self.table.holder.get(entry.name) != self.id:
            raise VaultElsewhere(self.table.holder.get(entry.name), None)


@dataclass
class OneOfTwo:
    """In the place of ``server.cluster.parts.Cluster``."""

    membership: Standing
    held: Standing
    door: PeerDoor
    connections: Any = None

    async def drain(self, within_s: float | None = None) -> None:
        """Nothing is handed over but by a test."""


@dataclass
class Pair:
    """``front`` takes the requests of tests, ``back`` has the vault ``main``; ``front`` has ``near``."""

    front: Site
    back: Site
    table: Table
    standing: dict[str, Standing]
    services: dict[str, Services]
    doors: dict[str, PeerDoor]

    def open_at(self, name: str) -> set[str]:
        """Vaults that are open on that server. Its own work opens those that it holds, some time."""
        services = self.services[name]
        return {each.name for each in services.registry_cache.entries() if each.vault_id in services.pool.slots}


def make_door() -> PeerDoor:
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    listener.setblocking(False)
    return PeerDoor(make_identity(), listener, f"127.0.0.1:{listener.getsockname()[1]}")


@asynccontextmanager
async def two_servers(
    tmp_path: Path, monkeypatch: Any, front_only: Mapping[str, Any] | None = None, **flags: Any
) -> AsyncIterator[Pair]:
    """Both over the same grants and keys."""
    table, standing, opened, doors = Table(), {}, {}, {}
    names = iter(("front", "back"))

    @asynccontextmanager
    async def opening(*args: Any, **options: Any) -> AsyncIterator[Services]:
        name = next(names)
        standing[name] = mine = Standing(name, table)
        doors[name] = door = make_door()
        table.change(*table.rows, KnownServer(name, door.address, door.identity.certificate))
        async with open_services(*args, **options) as services:
            opened[name] = clustered = replace(services, cluster=OneOfTwo(mine, mine, door))
            lease = services.pool.lease

            @asynccontextmanager
            async def leasing(entry: VaultEntry) -> AsyncIterator[Any]:
                await mine.take(entry, Path())
                async with lease(entry) as vault:
                    yield vault

            monkeypatch.setattr(services.pool, "lease", leasing)
            yield clustered

    monkeypatch.setattr(app, "open_services", opening)
    tokens: dict[str, str] = {}

    async def prepare(ground: Any) -> dict[str, str]:
        tokens["both"] = await ground.token("both", Role.ADMIN, "*")
        tokens["reader"] = await ground.token("reader", Role.READER, "main")
        shutil.copytree(tmp_path / "front", tmp_path / "back")
        return {}

    options = {"application": {"extra_tools": ("tests.server.http.odd_tools",)}, **flags}
    async with AsyncExitStack() as stack:
        make = {"vaults": ("main", "near"), **options}
        front = await stack.enter_async_context(
            served(tmp_path / "front", prepare=prepare, **make, **(front_only or {}))
        )
        back = await stack.enter_async_context(served(tmp_path / "back", **make))
        front.tokens |= tokens
        back.tokens |= tokens
        table.holder |= {"main": "back", "near": "front"}
        yield Pair(front, back, table, standing, opened, doors)


async def until(happened: Callable[[], object]) -> None:
    """Wait for what another task does."""
    async with asyncio.timeout(PATIENCE_S):
        while not happened():  # noqa: ASYNC110  what happens is in the program, and tells nobody
            await asyncio.sleep(0.005)
