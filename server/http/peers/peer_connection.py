"""One connection to another server, one request at a time: the answer is passed on as it comes.

The parser is uvicorn's. A client library's layers would cost more than the whole way otherwise takes.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, cast

import httptools

from server.http.request_head import Headers

HIGH_WATER = 64 * 1024
"""Bytes of an answer that may wait for its caller before the other server has to."""

_KEPT_ALIVE = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 11_000}
"""Seconds of silence until the other machine is asked, between two questions, and how often; and milliseconds that
what was sent may be on its way."""


class PeerGone(ConnectionError):
    """The connection ended before the answer did. ``answered``: its head had come."""

    def __init__(self, *, answered: bool) -> None:
        super().__init__("the other server hung up")
        self.answered = answered


@dataclass(frozen=True, slots=True)
class PeerRequest:
    """A request as it is sent: the first line and the headers as bytes, blank line included, and the body."""

    head: bytes
    body: bytes
    has_answer_body: bool = True  # False for HEAD


class PeerConnection(asyncio.Protocol):
    """Made by ``create_connection``. ``is_free``: open, and nothing under way."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._changed = asyncio.Event()
        self._chunks: deque[bytes] = deque()
        self._waiting = 0
        self._paused = False
        self._headers: Headers = []
        self._status: int | None = None
        self._complete = True
        self._has_body = True
        self.is_open = False

    @property
    def is_free(self) -> bool:
        return self.is_open and self._complete

    @property
    def transport(self) -> asyncio.Transport:
        assert self._transport is not None, "not connected"
        return self._transport

    async def ask(self, request: PeerRequest) -> tuple[int, Headers]:
        """Send a request; status and headers of the answer. ``chunks`` gives its body, to the end. Raises
        ``PeerGone``."""
        self._begin(request)
        while self._status is None:
            if not self.is_open:
                raise PeerGone(answered=False)
            await self._change()
        return self._status, self._headers

    async def chunks(self) -> AsyncIterator[tuple[bytes, bool]]:
        """The body, each part with whether another may come. Raises ``PeerGone`` where it ends too early."""
        more = True
        while more:
            while not self._chunks and not self._complete:
                if not self.is_open:
                    raise PeerGone(answered=True)
                await self._change()
            chunk = self._chunks.popleft() if self._chunks else b""
            self._waiting -= len(chunk)
            self._resume()
            more = bool(self._chunks) or not self._complete
            yield chunk, more

    def abort(self) -> None:
        """End it now; the call under way there is cancelled."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()
        self._changed.set()

    def _begin(self, request: PeerRequest) -> None:
        self._headers, self._status, self._complete = [], None, False
        self._has_body = request.has_answer_body
        if len(request.body) < HIGH_WATER:
            self.transport.write(request.head + request.body)
        else:
            self.transport.writelines((request.head, request.body))

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def _resume(self) -> None:
        if self._paused and self._waiting <= HIGH_WATER // 2:
            self._paused = False
            self.transport.resume_reading()

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not asked by isinstance: uvloop's transport of TLS is none of asyncio's.
        self._transport, self.is_open = cast("asyncio.Transport", transport), True
        _notice_silence(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self.abort()
        self._changed.set()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.is_open = False
        self._changed.set()

    # What the parser calls.

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self._status = self._parser.get_status_code()
        if not self._has_body:
            self._complete = True
            self.is_open = False  # the parser waits for a body that does not come

    def on_body(self, body: bytes) -> None:
        self._chunks.append(body)
        self._waiting += len(body)
        if self._waiting > HIGH_WATER and not self._paused:
            self._paused = True
            self.transport.pause_reading()

    def on_message_complete(self) -> None:
        self._complete = True
        if not self._parser.should_keep_alive():
            self.is_open = False


def _notice_silence(connected: Any) -> None:
    """Have the kernel end the connection to a machine that is gone, or cut off: the answer to a call may take long, so
    the time of none tells."""
    if connected is None:
        return
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEPT_ALIVE.items():
        if (option := getattr(socket, name, None)) is not None:  # else the system's own times hold
            connected.setsockopt(socket.IPPROTO_TCP, option, value)
