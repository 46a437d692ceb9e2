"""One HTTP/1.1 connection, bounded where uvicorn is not: the size of a head, the time it may take, and who may hold
a connection while doing nothing.

What is refused here never becomes a request. The application learns of it through the lifespan state: ``"refused"``
there, if set, is called with each ``RefusalLine``. In return, the application calls ``scope["state"]["admitted"]``, a
function without arguments, when a caller was let in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from ops.refusals import RefusalLine
from server.http.connection_limiter import ConnectionLimiter
from server.http.framing import FRAMING_LIMIT, Framing
from server.http.request_head import Refusal, headers_of

LINGER_S = 2.0
"""Seconds to read and drop what a refused client still sends: closing at once would reset the connection before the
client has read the answer."""

CLOSE = (b"connection", b"close")
HEAD_TOO_LARGE: Final = Refusal(
    431, "too_large", f"the request's head is larger than {FRAMING_LIMIT} bytes", (CLOSE,), reason="head"
)
NOT_HTTP: Final = Refusal(400, "invalid_argument", "this is not an HTTP/1.1 request", (CLOSE,), reason="request")
CONNECTIONS_FULL: Final = Refusal(
    503, "overloaded", "all connections are in use", (CLOSE, (b"retry-after", b"1")), reason="connections"
)


@dataclass(frozen=True, slots=True)
class ConnectionBounds:
    """What all connections of a process share. A head has ``head_timeout_s`` from the connection, or from its first
    byte on a kept-alive one; so has the rest of a body that was answered before it was whole."""

    crowd: ConnectionLimiter
    head_timeout_s: float


class Connection(HttpToolsProtocol):
    """uvicorn's protocol within ``bounds``."""

    def __init__(self, *args: Any, bounds: ConnectionBounds, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._crowd = bounds.crowd
        self._head_timeout_s = bounds.head_timeout_s
        self._timer: asyncio.TimerHandle | None = None
        self._owing = True  # the client owes us a head, or the rest of a body nobody waits for
        self._in_head = True
        self._refused = False
        self._framing = Framing()
        self.admitted = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self._crowd.enter(self, self.client[0] if self.client else None):
            self._watch()
        else:
            self._report(CONNECTIONS_FULL)
            self._refused = True
            transport.write(self._answer(CONNECTIONS_FULL))
            transport.close()

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        super().data_received(data)
        if self._framing.is_exceeded_by(len(data)) and not self._refused:
            self._refuse(HEAD_TOO_LARGE)
        # Only here, after the parser: a head that came in one piece, as nearly all do, never starts a timer.
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._owing = self._refused = False
        self._watch()
        self._crowd.leave(self)
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._owing = self._in_head = True
        self._framing.begin()
        super().on_message_begin()
        self.scope["state"]["admitted"] = self._admit

    def on_url(self, url: bytes) -> None:
        self._framing.field(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._framing.field(len(name) + len(value))
        if self._in_head:  # else a trailer: what a proxy did not see as a header must not become one
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._owing = self._in_head = False
        self._framing.move()
        self._crowd.work(self)

    def on_body(self, body: bytes) -> None:
        self._framing.move()
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._owing = False
        self._framing.move()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # else the next request of a pipeline has begun
            self._crowd.rest(self)
            self._owing = self._owing or self.cycle.more_body
            self._watch()

    def send_400_response(self, msg: str) -> None:
        """Called for whatever the parser rejects, and for what the callbacks above refuse."""
        del msg
        self._refuse(HEAD_TOO_LARGE if self._framing.is_exceeded_by(0) else NOT_HTTP)

    def close_idle(self) -> None:
        """Close this idle connection: another needs its place."""
        self._tell(RefusalLine("crowded", None, self.client[0] if self.client else None))
        self.transport.close()

    def _admit(self) -> None:
        self.admitted = True

    def _refuse(self, refusal: Refusal) -> None:
        self._report(refusal)
        self._owing = False
        self._watch()  # what was waited for no longer matters
        self._refused = True
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            if self._in_head or self.pipeline or cycle.response_started:
                self.transport.close()  # no refusal fits into the middle of another answer
                return
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.write(self._answer(refusal))
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def _answer(self, refusal: Refusal) -> bytes:
        fields = (*self.server_state.default_headers, *headers_of(refusal))
        head = b"".join(name + b": " + value + b"\r\n" for name, value in fields)
        return STATUS_LINE[refusal.status] + head + b"\r\n" + refusal.body

    def _report(self, refusal: Refusal) -> None:
        self._tell(RefusalLine(refusal.reason, refusal.status, self.client[0] if self.client else None))

    def _tell(self, line: RefusalLine) -> None:
        refused: Callable[[RefusalLine], None] | None = self.app_state.get("refused")
        if refused is not None:
            refused(line)

    def _watch(self) -> None:
        waiting = self._owing or self._refused
        if waiting and self._timer is None:
            seconds = LINGER_S if self._refused else self._head_timeout_s
            self._timer = self.loop.call_later(seconds, self.transport.abort)
        elif not waiting and self._timer is not None:
            self._timer.cancel()
            self._timer = None
