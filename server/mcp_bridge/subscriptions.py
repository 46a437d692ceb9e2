"""``subscriptions/listen``: change notifications, kept apart by vault.

URIs carry no vault, so listeners are kept by vault: an event of one vault cannot reach a listener of another. Every
listener has its own bus, because one may hear of a memory that another may not. Published are the writes
made through this process and, where it follows the files, changes of notes by any program; a client that must know of
others reads again now and then.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import event_matches
from mcp_types import (
    INVALID_REQUEST,
    SubscriptionFilter,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)

from auth.roles import Role
from server import resources
from server.call import Caller
from server.services import Services
from vaults.domain.memories import visibility
from vaults.errors import Overloaded, StrongroomError, VaultUnavailable
from vaults.files.paths import collision_key

GRANT_CHECK_S = 2.0
"""Seconds between two checks whether a listener may still listen: a withdrawn grant takes effect within five."""

MAX_STREAMS = 256
"""Max streams open at once in a process: each holds a connection."""


@dataclass(slots=True, eq=False)
class _ListenerStream:
    """One listener."""

    caller: Caller
    vault_id: str
    wanted: SubscriptionFilter
    uris: frozenset[str]
    bus: InMemorySubscriptionBus
    handler: ListenHandler

    @classmethod
    def of(cls, caller: Caller, vault_id: str, wanted: SubscriptionFilter) -> _ListenerStream:
        bus = InMemorySubscriptionBus()
        uris = frozenset(wanted.resource_subscriptions or ())
        return cls(caller, vault_id, wanted, uris, bus, ListenHandler(bus, max_subscriptions=1))

    async def tell(self, event: ServerEvent) -> None:
        if event_matches(self.wanted, self.uris, event):
            await self.bus.publish(event)


@dataclass(slots=True)
class _VaultListeners:
    """The listeners of one vault."""

    streams: set[_ListenerStream] = field(default_factory=set)
    # Memory → who alone may hear of it, None for all, as last found. It outlives the memory, so that the end of a
    # private one is not published either.
    seen_by: dict[str, str | None] = field(default_factory=dict)
    notes: set[str] = field(default_factory=set)  # keys of changed notes that ``publishing`` has yet to publish
    publishing: asyncio.Task[None] | None = None


class Subscriptions:
    """Serves streams, and publishes changes to them. ``close`` ends them all and admits no more."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._listeners: dict[str, _VaultListeners] = {}
        self._closed = False
        services.change_listeners.add(self.on_notes_changed)

    async def serve(
        self, ctx: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams, caller: Caller
    ) -> SubscriptionsListenResult:
        """Serve one stream until the client leaves, the grant ends, the vault goes to another server or this one
        drains. Raises ``NotFound`` for a URI the caller may not read."""
        await resources.check_readable(self._services, caller, params.notifications.resource_subscriptions or ())
        if self._closed or sum(len(listeners.streams) for listeners in self._listeners.values()) >= MAX_STREAMS:
            raise Overloaded("no more change streams can be opened here", retry_after_s=10.0)
        entry = self._services.registry_cache.entry(caller.vault)
        await self._services.begin_stream(entry)
        vault = entry.vault_id
        listeners = self._listeners.setdefault(vault, _VaultListeners())
        stream = _ListenerStream.of(caller, vault, params.notifications)
        listeners.streams.add(stream)
        try:
            return await self._while_granted(ctx, params, stream)
        finally:
            listeners.streams.discard(stream)
            if not listeners.streams:
                self._listeners.pop(vault, None)
                _stop_publishing(listeners)

    async def changed(self, caller: Caller, ids: Iterable[str], resource: str | None = None) -> None:
        """Tell the vault's listeners that a caller wrote: which memories, and which fixed resource besides the status;
        notes go through ``on_notes_changed``. Costs nothing where nobody listens."""
        if not self._listeners:
            return
        listeners = self._listeners.get(self._services.registry_cache.entry(caller.vault).vault_id)
        if listeners is None:
            return
        for uri in filter(None, (resources.STATUS, resource)):
            await _publish(listeners.streams, ResourceUpdated(uri=uri))
        subscribed, changed = frozenset[str]().union(*(stream.uris for stream in listeners.streams)), list(ids)
        if wanted := [each for each in changed if resources.memory_uri(each) in subscribed]:
            await self._tell_of_memories(listeners, caller.vault, wanted)
        if changed:
            await _publish(listeners.streams, ResourcesListChanged())

    def on_notes_changed(self, name: str, paths: Sequence[str]) -> None:
        """Tell a vault's listeners that notes changed on disk; returns at once. Changes that come while others are
        being published are published together."""
        if not self._listeners or not self._services.registry_cache.known(name):
            return
        listeners = self._listeners.get(self._services.registry_cache.entry(name).vault_id)
        if listeners is None or self._closed:
            return
        listeners.notes.update(map(collision_key, paths))
        if listeners.publishing is None:
            listeners.publishing = asyncio.create_task(_publish_note_changes(listeners), name="note-listeners")

    async def _tell_of_memories(self, listeners: _VaultListeners, name: str, ids: list[str]) -> None:
        """Publish changed memories to those who may see them: visibility may have changed since a stream began, so it
        is looked up again."""
        try:
            async with self._services.pool.lease(self._services.registry_cache.entry(name)) as vault:
                listeners.seen_by.update(await visibility.find_sole_viewers(vault, ids))
                who = {stream: stream.caller.actor.identity for stream in listeners.streams}
        except StrongroomError:
            return  # the write is done and reports itself; what cannot be looked up is not published
        for memory_id in ids:
            alone = listeners.seen_by.get(memory_id)
            allowed = [stream for stream, identity in who.items() if alone in (None, identity)]
            await _publish(allowed, ResourceUpdated(uri=resources.memory_uri(memory_id)))

    def close(self) -> None:
        """End every stream politely, as soon as a shutdown begins."""
        self._closed = True
        for listeners in self._listeners.values():
            _stop_publishing(listeners)
        for stream in [stream for listeners in self._listeners.values() for stream in listeners.streams]:
            stream.handler.close()

    async def _while_granted(
        self, ctx: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams, stream: _ListenerStream
    ) -> SubscriptionsListenResult:
        with anyio.CancelScope() as scope:
            grant_watch = asyncio.create_task(self._watch(stream, scope), name="listener-grant")
            try:
                return await stream.handler(ctx, params)
            finally:
                grant_watch.cancel()
        raise MCPError(INVALID_REQUEST, "the grant for this stream has ended")

    async def _watch(self, stream: _ListenerStream, scope: anyio.CancelScope) -> None:
        role: Role | None = stream.caller.role
        while True:
            await asyncio.sleep(GRANT_CHECK_S)
            now = self._role(stream.caller)
            if now is None:
                scope.cancel()
                return
            if not self._services.holds(stream.vault_id):
                stream.handler.close()  # another server does: whoever listens again hears of it there
                return
            if now != role:
                role = now
                await stream.tell(ToolsListChanged())
                await stream.tell(PromptsListChanged())

    def _role(self, caller: Caller) -> Role | None:
        expires_at = caller.principal.expires_at
        if expires_at is not None and time.time() >= expires_at:
            return None
        try:
            return self._services.role_in(caller.principal, caller.vault)
        except VaultUnavailable:
            return None  # grants cannot be read: nobody is let in, and nobody stays


async def _publish(streams: Iterable[_ListenerStream], event: ServerEvent) -> None:
    for stream in list(streams):  # listeners come and go meanwhile
        await stream.tell(event)


async def _publish_note_changes(listeners: _VaultListeners) -> None:
    try:
        while listeners.notes:
            changed, listeners.notes = listeners.notes, set()
            for stream in list(listeners.streams):
                # A picture shows many notes: finding out which is not worth it just to say that it may have changed.
                for uri in sorted(
                    u for u in stream.uris if resources.note_key(u) in changed or resources.is_picture(u)
                ):
                    await stream.tell(ResourceUpdated(uri=uri))
            await _publish(listeners.streams, ResourcesListChanged())
    finally:
        listeners.publishing = None


def _stop_publishing(listeners: _VaultListeners) -> None:
    if listeners.publishing is not None:
        listeners.publishing.cancel()
