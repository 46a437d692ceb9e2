"""This server among the others, as far as requests go: passing on, and taking what is passed on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from starlette.types import ASGIApp

from server.cluster.parts import Cluster
from server.http.peers.call_endpoints import CallEndpoints
from server.http.peers.forwarding import Forwarding, ForwardingObserver
from server.http.peers.passed_calls import PassedCalls
from server.http.peers.peer_listener import PeerListener
from server.http.peers.peer_pool import PeerPool
from server.http.peers.vault_forwarding import VaultForwarding
from server.protocol import Protocol
from server.services import Services

DRAINING_SHARE = 0.8
"""Of the grace period, for the others to take over: the rest is for closing."""


class Peering:
    """``cluster`` must have a door."""

    def __init__(
        self, cluster: Cluster, services: Services, protocol: Protocol, observer: ForwardingObserver | None
    ) -> None:
        assert cluster.door is not None, "only who takes requests of others passes on its own"
        self._cluster = cluster
        self._services = services
        self._protocol = protocol
        self._door = cluster.door
        self._pool = PeerPool(self._door.identity)
        self._forwarding = Forwarding(cluster.held, self._pool, services.settings.server.call_timeout_s, observer)
        self._calls = PassedCalls(self._forwarding, cluster, services)
        self._grace_s = services.settings.ops.shutdown_grace_s
        self._draining: asyncio.Task[None] | None = None

    def drain(self) -> None:
        """Begin to hand every vault over, as the process is about to end; ``serving`` ends once that is done."""
        self._forwarding.end_lasting()
        if self._draining is None:
            work = self._cluster.drain(self._grace_s * DRAINING_SHARE)
            self._draining = asyncio.create_task(work, name="drain-cluster")

    def before(self, behind: ASGIApp) -> ASGIApp:
        """What stands behind the gate, for vaults wherever they are."""
        return VaultForwarding(behind, self._forwarding, self._services, self._protocol)

    @asynccontextmanager
    async def serving(self, app: ASGIApp) -> AsyncIterator[None]:
        """Inside the block calls go where their vaults are, and requests of the others are taken: those they pass on
        for ``app``."""
        endpoints = CallEndpoints(self._forwarding, self._services, self._protocol)
        listener = PeerListener(app, endpoints.by_path, self._door)
        listener.trust_only(self._cluster.membership.servers)
        routes = self._services.routes
        routes.call, routes.search, routes.stream = self._calls.call, self._calls.search, self._calls.stream
        routes.vaults = self._calls.vaults
        follow = partial(self._follow, listener)
        followed = (self._cluster.membership.on_beat, self._cluster.membership.on_removed)
        async with listener.serving():
            for each in followed:
                each.append(follow)
            try:
                yield
            finally:
                if self._draining is not None:  # until then calls of the others are served
                    await asyncio.gather(self._draining, return_exceptions=True)
                routes.call = routes.search = routes.stream = routes.vaults = None
                for each in followed:
                    each.remove(follow)
                self._pool.close()

    def _follow(self, listener: PeerListener) -> None:
        servers = self._cluster.membership.servers
        listener.trust_only(servers)
        self._pool.forget_all_but({each.id for each in servers})
