"""This server among the others, as far as requests go: passing on, and taking what is passed on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from starlette.types import ASGIApp

from server.cluster.parts import Cluster
from server.http.peers.forwarding import Forwarding, ForwardingObserver
from server.http.peers.peer_listener import PeerListener
from server.http.peers.peer_pool import PeerPool

LOOK_S = 0.25
"""Seconds between two looks at which servers there are."""


class Peering:
    """``deadline_s`` of a call. ``cluster`` must have a door."""

    def __init__(self, cluster: Cluster, deadline_s: float, observer: ForwardingObserver | None) -> None:
        assert cluster.door is not None, "only who takes requests of others passes on its own"
        self._cluster = cluster
        self._door = cluster.door
        self._pool = PeerPool(self._door.identity)
        self.forwarding = Forwarding(cluster.held, self._pool, deadline_s, observer)

    @asynccontextmanager
    async def serving(self, app: ASGIApp, internal: Mapping[str, ASGIApp]) -> AsyncIterator[None]:
        """Take requests of the others inside the block: theirs for ``internal`` by path, those they pass on for
        ``app``."""
        listener = PeerListener(app, internal, self._door)
        listener.trust_only(self._cluster.membership.servers)
        async with listener.serving():
            following = asyncio.create_task(self._follow(listener), name="peers")
            try:
                yield
            finally:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
                self._pool.close()

    async def _follow(self, listener: PeerListener) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            servers = self._cluster.membership.servers
            listener.trust_only(servers)
            self._pool.forget_all_but({each.id for each in servers})
