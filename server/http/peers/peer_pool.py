"""Connections to the other servers, kept open between requests."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from server.cluster.peer_identity import HANDSHAKE_S, PeerIdentity, PeerServer, to_der
from server.http.peer_marks import HELLO_PATH
from server.http.peers.peer_connection import PeerConnection, PeerGone, PeerRequest

IDLE_KEPT = 64
"""Connections to one server that are kept while nothing goes over them."""

CONNECT_S = 2.0
"""Seconds to connect, over which a server is taken for one that is not there."""

CONNECTING = 8
"""Connections to one server that are made at a time: a thousand calls at once would have none ready in time. Those that
wait take what becomes free."""

_HELLO = PeerRequest(b"GET " + HELLO_PATH.encode() + b" HTTP/1.1\r\nhost: peer\r\n\r\n", b"")


class PeerUnreachable(ConnectionError):
    """No connection, so nothing was sent."""


@dataclass(slots=True)
class _Peer:
    """A server as it was last seen, and the free connections to it."""

    server: PeerServer
    context: ssl.SSLContext
    free: list[PeerConnection] = field(default_factory=list)
    busy: set[PeerConnection] = field(default_factory=set)
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)
    connecting: int = 0
    is_gone: bool = False

    def wake_one(self) -> None:
        """A connection is free, or another may be made."""
        while self.waiting:
            waiter = self.waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def fail_all(self, failure: PeerUnreachable) -> None:
        """The server cannot be reached: those that wait need not find that out one by one."""
        while self.waiting:
            waiter = self.waiting.popleft()
            if not waiter.done():
                waiter.set_exception(failure)


class PeerPool:
    """On one event loop. ``identity``: by which the others know this server."""

    def __init__(self, identity: PeerIdentity) -> None:
        self._identity = identity
        self._peers: dict[tuple[str, str, str], _Peer] = {}

    @asynccontextmanager
    async def connected(self, server: PeerServer) -> AsyncIterator[PeerConnection]:
        """A connection that the other server is known to serve. It is ended where the block leaves an answer unread.
        Raises ``PeerUnreachable``."""
        peer = await self._peer(server)
        connection = await _take(peer)
        peer.busy.add(connection)
        try:
            yield connection
        finally:
            peer.busy.discard(connection)
            if connection.is_free and len(peer.free) < IDLE_KEPT and not peer.is_gone:
                peer.free.append(connection)
            else:
                connection.abort()
            peer.wake_one()

    async def fetch(self, server: PeerServer, path: str) -> bytes:
        """What another server has at an address of its own. Raises ``PeerUnreachable``, ``PeerGone``."""
        head = f"GET {path} HTTP/1.1\r\nhost: peer\r\n\r\n".encode()
        async with self.connected(server) as connection:
            status, _ = await connection.ask(PeerRequest(head, b""))
            body = b"".join([chunk async for chunk, _ in connection.chunks()])
        if status != 200:
            raise PeerUnreachable(f"{server.id}: status {status}")
        return body

    def forget_all_but(self, living: Collection[str]) -> None:
        """End what leads to servers that are no more; ``living``: ids. One that was only stopped answers nobody, and
        keeps every connection open."""
        for key in [key for key, peer in self._peers.items() if peer.server.id not in living]:
            peer = self._peers.pop(key)
            peer.is_gone = True
            for connection in (*peer.free, *peer.busy):
                connection.abort()

    def close(self) -> None:
        """End every connection."""
        self.forget_all_but(())

    async def _peer(self, server: PeerServer) -> _Peer:
        key = (server.id, server.address, server.certificate)
        if (known := self._peers.get(key)) is not None:
            return known
        try:
            context = await asyncio.to_thread(self._identity.calling_context, server.certificate)
        except ValueError:
            raise PeerUnreachable(f"{server.id} shows no certificate") from None
        return self._peers.setdefault(key, _Peer(server, context))


async def _take(peer: _Peer) -> PeerConnection:
    while True:
        while peer.free:
            connection = peer.free.pop()
            if connection.is_free:
                return connection
        if peer.connecting < CONNECTING:
            peer.connecting += 1
            try:
                return await _connect(peer)
            except PeerUnreachable as failure:
                peer.fail_all(failure)
                raise
            finally:
                peer.connecting -= 1
                peer.wake_one()
        await _wait(peer)


async def _wait(peer: _Peer) -> None:
    waiter = asyncio.get_running_loop().create_future()
    peer.waiting.append(waiter)
    try:
        await waiter
    except asyncio.CancelledError:
        if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
            peer.wake_one()  # what it was woken for is for the next
        raise


async def _connect(peer: _Peer) -> PeerConnection:
    """A new connection over which the other server answered: only then has it looked at our certificate."""
    host, _, port = peer.server.address.rpartition(":")
    connection: PeerConnection | None = None
    try:
        async with asyncio.timeout(CONNECT_S):
            _, connection = await asyncio.get_running_loop().create_connection(
                PeerConnection,
                host.strip("[]"),
                int(port),
                ssl=peer.context,
                server_hostname="strongroom",
                ssl_handshake_timeout=HANDSHAKE_S,
            )
            _check_certificate(connection, peer.server)
            status, _ = await connection.ask(_HELLO)
            async for _ in connection.chunks():
                pass
    except (OSError, ValueError, TimeoutError, PeerGone) as failure:
        if connection is not None:
            connection.abort()
        raise PeerUnreachable(f"{peer.server.id}: {type(failure).__name__}") from None
    except BaseException:
        if connection is not None:
            connection.abort()
        raise
    if status != 204 or not connection.is_free:
        connection.abort()
        raise PeerUnreachable(f"{peer.server.id}: status {status}")
    return connection


def _check_certificate(connection: PeerConnection, server: PeerServer) -> None:
    """TLS trusts this one alone; looked at again, since everything rests on it."""
    shown = None
    with suppress(AttributeError):
        shown = connection.transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
    if shown != to_der(server.certificate):
        raise ConnectionError("another certificate")
