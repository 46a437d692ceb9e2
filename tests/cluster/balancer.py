"""What stands in front of the servers: connections go to one that says it is ready, and takes them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import httpx2

from tests.cluster.installation import ServerProcess
from tests.server.http.serving import browser

LOOK_S = 0.2
TRY_S = 10.0
"""How long a connection waits for a server that takes it."""


@dataclass
class Balancer:
    """Asks ``/health/ready`` of each in turn, as ``deploy/cluster/Caddyfile`` has it. Nothing is sticky."""

    servers: Sequence[ServerProcess]
    _ready: list[ServerProcess] = field(default_factory=list)
    _turn: int = 0

    async def look(self) -> None:
        async with browser() as http:
            while True:
                answers = await asyncio.gather(*(_is_ready(http, each) for each in self.servers))
                self._ready = [each for each, ready in zip(self.servers, answers, strict=True) if ready]
                await asyncio.sleep(LOOK_S)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError), contextlib.closing(writer):
            async with asyncio.timeout(TRY_S):
                answers, asks = await self._connect()
            with contextlib.closing(asks):
                await asyncio.gather(_pass_on(reader, asks), _pass_on(answers, writer))

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Where none takes it, surely nothing was sent: another one is asked."""
        while True:
            for _ in range(len(self._ready)):
                self._turn += 1
                server = self._ready[self._turn % len(self._ready)]
                with contextlib.suppress(OSError):
                    return await asyncio.open_connection("127.0.0.1", server.port)
            await asyncio.sleep(LOOK_S)


@contextlib.asynccontextmanager
async def balanced(servers: Sequence[ServerProcess], port: int) -> AsyncIterator[Balancer]:
    """In the loop of whoever asks, on one port."""
    balancer = Balancer(servers)
    looking = asyncio.create_task(balancer.look())
    listening = await asyncio.start_server(balancer.serve, "127.0.0.1", port)
    try:
        yield balancer
    finally:
        listening.close()
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


async def _is_ready(http: httpx2.AsyncClient, server: ServerProcess) -> bool:
    with contextlib.suppress(httpx2.TransportError):
        async with asyncio.timeout(2):
            return (await http.get(f"{server.url}/health/ready")).status_code == httpx2.codes.OK
    return False


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until one side ends, which ends the other too."""
    try:
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
    finally:
        writer.close()
