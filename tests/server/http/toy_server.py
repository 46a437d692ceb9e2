"""A small application behind the real ``run_server``, for tests: a script, because workers import the main module.

``toy_server.py JSON``: ``{"options": {...}, "ops": {...}}``. Prints one line of JSON with its two ports.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ops.metrics import Metrics
from ops.settings import OpsSettings
from server.http import process
from server.http.serve import Instruments, ServeOptions, address, bind, run_server
from vaults.errors import InvalidArgument, StorageFull


class Toy:
    """The application of one process. Every public method is a route."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._closing = asyncio.Event()
        self._never = asyncio.Event()

    async def echo(self, request: Request) -> Response:
        try:
            body = await request.body()
        except ClientDisconnect:
            return Response(status_code=400)
        self._metrics.on_call("echo", "ok", 0.001)
        assert request.client is not None
        said = {"pid": os.getpid(), "client": request.client.host, "scheme": request.url.scheme, "bytes": len(body)}
        return JSONResponse(said)

    async def slow(self, _: Request) -> Response:
        """A call that ends well after shutdown has begun."""
        return StreamingResponse(self._two_parts(b"begun\n", b"answered\n", 0.3))

    async def stream(self, _: Request) -> Response:
        """A stream that ends as soon as shutdown begins, and never before."""
        return StreamingResponse(self._two_parts(b"open\n", b"closed\n", 0))

    async def _two_parts(self, first: bytes, second: bytes, delay: float) -> AsyncIterator[bytes]:
        yield first
        await self._closing.wait()
        await asyncio.sleep(delay)
        yield second

    async def flood(self, _: Request) -> Response:
        """More than any buffer takes, for a client that does not read."""

        async def chunks() -> AsyncIterator[bytes]:
            while True:
                yield b"x" * 65536

        return StreamingResponse(chunks())

    async def never(self, _: Request) -> Response:
        """A call that does not end by itself."""

        async def chunks() -> AsyncIterator[bytes]:
            yield b"begun\n"
            await self._never.wait()

        return StreamingResponse(chunks())

    async def die(self, _: Request) -> Response:
        os._exit(9)

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[dict[str, Any]]:
        if FAIL == "lifespan":
            raise StorageFull("no room to start in")
        self._metrics.on_open_vaults(1)
        yield {"drain": self._closing.set}
        if FAIL == "closing":
            await self._never.wait()


def make_app(instruments: Instruments) -> Starlette:
    if FAIL == "factory":
        raise InvalidArgument("toy", "does not fit")
    toy = Toy(Metrics(instruments.registry, tools=["echo"], version="0"))
    routes = [
        Route(f"/{handler.__name__}", handler, methods=["GET", "POST"])
        for handler in (toy.echo, toy.slow, toy.stream, toy.flood, toy.never, toy.die)
    ]
    return Starlette(routes=routes, lifespan=toy.lifespan)


CONFIG = json.loads(sys.argv[1])
FAIL = CONFIG.get("fail")

if __name__ == "__main__":
    listener, exposed = bind("127.0.0.1", 0), bind("127.0.0.1", 0)
    print(json.dumps({"port": address(listener)[1], "metrics": address(exposed)[1]}), flush=True)
    process.CLOSING_SHARE = CONFIG.get("closing_share", process.CLOSING_SHARE)
    raised = ServeOptions(ops=OpsSettings(**CONFIG.get("ops", {})), **CONFIG.get("options", {}))
    sys.exit(run_server(make_app, raised, listener, exposed))
