"""``subscriptions/listen``: change notifications, each vault to itself.

URIs carry no vault, so every vault has its own bus: an event of one vault has no way to a listener of another. What
is told are the writes made through this process; a client that must know of others reads again now and then.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST, SubscriptionsListenRequestParams, SubscriptionsListenResult

from auth.roles import Role
from server import resources
from server.call import Caller
from server.services import Services
from vaults.errors import Overloaded, VaultUnavailable

CHECK_S = 2.0
"""Seconds between two looks whether a listener may still listen: a withdrawn grant bites within five."""

STREAMS = 256
"""Streams open at once in a process: each holds a connection."""


@dataclass(slots=True)
class _Room:
    """The listeners of one vault."""

    bus: InMemorySubscriptionBus
    handler: ListenHandler
    streams: int = field(default=0)


class Listening:
    """Serves streams, and tells them of changes. ``close`` ends them all and admits no more."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._rooms: dict[str, _Room] = {}
        self._closed = False

    async def serve(
        self, ctx: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams, caller: Caller
    ) -> SubscriptionsListenResult:
        """One stream, until the client leaves, the grant ends or the server drains. Raises ``NotFound`` for a URI
        that is not the caller's to read."""
        await resources.check_readable(self._services, caller, params.notifications.resource_subscriptions or ())
        if self._closed or sum(room.streams for room in self._rooms.values()) >= STREAMS:
            raise Overloaded("no more change streams can be opened here", retry_after_s=10.0)
        key = self._services.roster.entry(caller.vault).vault_id
        room = self._rooms.get(key)
        if room is None:
            bus = InMemorySubscriptionBus()
            room = self._rooms[key] = _Room(bus, ListenHandler(bus, max_subscriptions=STREAMS))
        room.streams += 1
        try:
            return await self._while_granted(ctx, params, caller, room)
        finally:
            room.streams -= 1
            if not room.streams:
                self._rooms.pop(key, None)

    async def changed(self, caller: Caller, ids: Iterable[str]) -> None:
        """Tell the vault's listeners that a caller wrote. Costs nothing where nobody listens."""
        if not self._rooms:
            return
        room = self._rooms.get(self._services.roster.entry(caller.vault).vault_id)
        if room is not None:
            for uri in (resources.STATUS, *(resources.memory_uri(each) for each in ids)):
                await room.bus.publish(ResourceUpdated(uri=uri))
            await room.bus.publish(ResourcesListChanged())

    def close(self) -> None:
        """End every stream politely. For the moment a shutdown begins."""
        self._closed = True
        for room in self._rooms.values():
            room.handler.close()

    async def _while_granted(
        self,
        ctx: ServerRequestContext[Any, Any],
        params: SubscriptionsListenRequestParams,
        caller: Caller,
        room: _Room,
    ) -> SubscriptionsListenResult:
        with anyio.CancelScope() as scope:
            watching = asyncio.create_task(self._watch(caller, room, scope), name="listener-grant")
            try:
                return await room.handler(ctx, params)
            finally:
                watching.cancel()
        raise MCPError(INVALID_REQUEST, "the grant for this stream has ended")

    async def _watch(self, caller: Caller, room: _Room, scope: anyio.CancelScope) -> None:
        role: Role | None = caller.role
        while True:
            await asyncio.sleep(CHECK_S)
            now = self._role(caller)
            if now is None:
                scope.cancel()
                return
            if now != role:
                role = now
                await room.bus.publish(ToolsListChanged())

    def _role(self, caller: Caller) -> Role | None:
        expires_at = caller.principal.expires_at
        if expires_at is not None and time.time() >= expires_at:
            return None
        try:
            return self._services.role_in(caller.principal, caller.vault)
        except VaultUnavailable:
            return None  # grants cannot be read: nobody is let in, and nobody stays
