"""The listener for other servers: whoever connects must show the certificate of a server that has a row now.

What comes in is the application's as from anybody, the whole gate with it; only who the client is, and that Host and
Origin were looked at, is taken from the other server. Requests of servers themselves go to ``internal`` by path.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

import structlog
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from server.cluster.peer_door import PeerDoor
from server.cluster.peer_identity import HANDSHAKE_S, PeerServer, to_der, trust
from server.http.peer_marks import FORWARDED, HELLO_PATH, TOOK, ForwardedFor, without_own

KEEP_ALIVE_S = 3600
"""The other server closes what it does not need; closing it here could meet a request on its way."""

log = structlog.get_logger("server.cluster")


class PeerListener:
    """On one event loop. It trusts nobody before ``trust_only``."""

    def __init__(self, app: ASGIApp, internal: Mapping[str, ASGIApp], door: PeerDoor) -> None:
        self._app = app
        self._internal = internal
        self._door = door
        self._context = door.identity.listening_context()
        self._trusted: set[bytes] = set()  # ever
        self._living: dict[bytes, str] = {}
        self._state = ServerState()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Serve inside the block; what is under way at its end is cancelled."""
        config = uvicorn.Config(
            lambda: self._serve,
            factory=True,
            interface="asgi3",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_S,
        )
        config.load()
        make = partial(_Guest, config=config, server_state=self._state, app_state={}, server_of=self.server_of)
        listening = await asyncio.get_running_loop().create_server(
            cast("Callable[[], asyncio.Protocol]", make),
            sock=self._door.listener,
            ssl=self._context,
            ssl_handshake_timeout=HANDSHAKE_S,
        )
        log.info("serving_peers", address=self._door.address)
        try:
            yield
        finally:
            listening.close()
            for task in tuple(self._state.tasks):
                task.cancel()
            for connection in tuple(self._state.connections):
                connection.transport.abort()
            await asyncio.gather(*self._state.tasks, return_exceptions=True)

    def trust_only(self, servers: Sequence[PeerServer]) -> None:
        """Trust the servers that have a row, and hang up on those that have none any more."""
        living: dict[bytes, str] = {}
        for server in servers:
            try:
                shown = to_der(server.certificate)
                if shown not in self._trusted:
                    trust(self._context, server.certificate)
                    self._trusted.add(shown)
            except ValueError:
                continue  # a server without a listener, such as a command
            living[shown] = server.id
        gone, self._living = self._living.keys() - living.keys(), living
        if gone:
            for connection in tuple(self._state.connections):
                if cast("_Guest", connection).certificate in gone:
                    connection.transport.abort()

    def server_of(self, certificate: bytes) -> str | None:
        """The id of the living server that showed a certificate."""
        return self._living.get(certificate)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == HELLO_PATH:
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        if (internal := self._internal.get(scope["path"])) is not None:
            await internal(scope, receive, send)
            return
        told = [value for name, value in scope["headers"] if name == FORWARDED]
        if len(told) != 1:
            await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})
            return
        forwarded = ForwardedFor.decode(told[0])
        scope["headers"] = without_own(scope["headers"])
        scope["scheme"] = forwarded.scheme
        scope["client"] = (forwarded.address, 0) if forwarded.address else None
        scope["state"]["forwarded"] = forwarded
        await self._app(scope, receive, _timing(send))


def _timing(send: Send) -> Send:
    """A ``send`` that adds how long the work took."""
    started = time.perf_counter()

    async def timed(message: Message) -> None:
        if message["type"] == "http.response.start":
            took = b"%.6f" % (time.perf_counter() - started)
            message = {**message, "headers": [*message.get("headers", ()), (TOOK, took)]}
        await send(message)

    return timed


class _Guest(HttpToolsProtocol):
    """uvicorn's protocol for a server that proved which one it is. TLS accepts every certificate it was ever told of,
    so it is asked here whether that server still has a row."""

    def __init__(self, *, server_of: Callable[[bytes], str | None], **options: Any) -> None:
        super().__init__(**options)
        self._server_of = server_of
        self.certificate = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        shown = transport.get_extra_info("ssl_object")
        self.certificate = (shown.getpeercert(binary_form=True) if shown is not None else None) or b""
        if self._server_of(self.certificate) is None:
            log.warning("peer_refused", address=self.client[0] if self.client else None)
            transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._server_of(self.certificate) is not None:
            super().data_received(data)
        else:
            self.transport.abort()
