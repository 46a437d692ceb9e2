"""A tiny application behind the real protocol class on 127.0.0.1, spoken to byte by byte."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn

from ops.refusals import RefusalLine
from ops.settings import OpsSettings
from server.http.options import ServeOptions, address
from server.http.process import uvicorn_config
from server.listening_socket import bind
from tests.work import PATIENCE_S

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
WAIT = b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n"
ADMIT = b"GET /admit HTTP/1.1\r\nHost: x\r\n\r\n"


@dataclass
class Wire:
    """``lines`` as the application would log them, ``scopes`` and ``bodies`` as it saw them; ``/admit`` lets the
    caller in, ``/wait`` answers when ``gate`` is set, everything else is answered with the size of the body."""

    port: int = 0
    lines: list[RefusalLine] = field(default_factory=list)
    scopes: list[Any] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            scope["state"]["refused"] = self.lines.append
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        self.scopes.append(scope)
        if scope["path"] == "/admit":
            scope["state"]["admitted"]()
        if scope["path"] == "/wait":
            self.waiting.release()
            await self.gate.wait()
        body, more = b"", scope["path"] != "/early"
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        self.bodies.append(body)
        said = b"%d" % len(body)
        headers = [(b"content-length", b"%d" % len(said))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": said})

    async def keep_busy(self, count: int) -> list[Client]:
        """Connections with a request under way."""
        clients = [await self.open() for _ in range(count)]
        for client in clients:
            await client.send(WAIT)
        for _ in clients:
            await self.waiting.acquire()
        return clients

    async def open(self, *, source: str = "127.0.0.1") -> Client:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(source, 0))
        return Client(reader, writer)

    async def ask(self, request: bytes, *, source: str = "127.0.0.1") -> bytes:
        """Everything answered on a connection of its own until it is closed."""
        client = await self.open(source=source)
        try:
            # It is read while it is still sent: an answer that comes early is lost to a reader who looks for it only
            # after the connection was reset.
            _, answer = await asyncio.gather(client.send(request), client.rest())
            return answer
        finally:
            client.close()

    @property
    def reasons(self) -> list[str]:
        return [line.reason for line in self.lines]


@dataclass
class Client:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        """In pieces, as a network would; a server that has hung up ends it."""
        try:
            for start in range(0, len(data), 1 << 16):
                self.writer.write(data[start : start + (1 << 16)])
                await self.writer.drain()
        except ConnectionError:
            pass

    async def answer(self) -> int | None:
        """The status of the next answer, read whole; None: closed without one."""
        async with asyncio.timeout(PATIENCE_S):
            try:
                head = await self.reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):
                return None
            size = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            await self.reader.readexactly(int(size))
            return int(head[9:12])

    async def rest(self) -> bytes:
        """What comes until the connection is closed, or reset."""
        read = bytearray()
        async with asyncio.timeout(PATIENCE_S):
            with contextlib.suppress(ConnectionError):
                while more := await self.reader.read(1 << 16):
                    read += more
        return bytes(read)

    def close(self) -> None:
        self.writer.close()


@asynccontextmanager
async def wired(**options: Any) -> AsyncIterator[Wire]:
    wire, listener = Wire(), bind("127.0.0.1", 0)
    wire.port = address(listener)[1]
    server = uvicorn.Server(uvicorn_config(wire.app, ServeOptions(ops=OpsSettings(shutdown_grace_s=1), **options)))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        assert not serving.done(), serving.exception()
        await asyncio.sleep(0.005)
    try:
        yield wire
    finally:
        wire.gate.set()
        server.should_exit = True
        await serving
        listener.close()
