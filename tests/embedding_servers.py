"""Embedding servers on loopback, in each of three protocols: what they answer, and what they were asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import JSONResponse, Response, StreamingResponse

from tests.fakes import HashEmbedder
from vaults.embed.backend import Embedder
from vaults.settings import EmbeddingProtocol

PATHS: dict[str, EmbeddingProtocol] = {"/api/embed": "ollama", "/v1/embeddings": "openai", "/embed": "tei"}
KEY = "sk-made-up-9f2"

Json = Any


@dataclass
class Seen:
    """One request, as it came."""

    path: str
    headers: dict[str, str]
    body: Json

    @property
    def texts(self) -> list[str]:
        found: list[str] = self.body.get("input", self.body.get("inputs"))
        return found


@dataclass
class EmbeddingServer:
    """``model`` embeds. ``key``: who brings none gets 401. ``reply``: what is answered instead, None: as usual.
    ``start`` and ``stop`` have it come and go at one address."""

    model: Embedder = field(default_factory=HashEmbedder)
    key: str | None = None
    reply: Callable[[Seen], Awaitable[Response | None]] | None = None
    seen: list[Seen] = field(default_factory=list)
    port: int = 0
    _listening: asyncio.Server | None = None
    _connections: set[asyncio.StreamWriter] = field(default_factory=set)

    def url(self, path: str = "/api/embed") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    @property
    def texts(self) -> list[str]:
        """Everything that was sent to be embedded, in order."""
        return [text for each in self.seen for text in each.texts]

    async def start(self) -> None:
        self._listening = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._listening.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        for each in list(self._connections):
            each.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *rows = head.decode().strip().split("\r\n")
                headers = {name.lower(): value.strip() for name, _, value in (row.partition(":") for row in rows)}
                body = json.loads(await reader.readexactly(int(headers["content-length"])))
                await _send(writer, await self._answer(Seen(first.split(" ")[1].partition("?")[0], headers, body)))
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client has gone, or the test has ended
        finally:
            self._connections.discard(writer)
            writer.close()

    async def _answer(self, seen: Seen) -> Response:
        self.seen.append(seen)
        if self.key is not None and seen.headers.get("authorization") != f"Bearer {self.key}":
            return JSONResponse({"error": "no key"}, 401)
        if self.reply is not None and (instead := await self.reply(seen)) is not None:
            return instead
        vectors = await asyncio.to_thread(self.model.embed, seen.texts)
        return answered(seen.path, vectors.tolist())


async def _send(writer: asyncio.StreamWriter, response: Response) -> None:
    rows = [b": ".join(pair) for pair in response.raw_headers]
    writer.write(b"\r\n".join([f"HTTP/1.1 {response.status_code} X".encode(), *rows, b"", b""]))
    if isinstance(response, StreamingResponse):  # ends with the connection
        async for chunk in response.body_iterator:
            writer.write(bytes(chunk))
            await writer.drain()
        writer.close()
    else:
        writer.write(bytes(response.body))
        await writer.drain()


def answered(path: str, vectors: list[list[float]]) -> Response:
    """Vectors, as the protocol of the path has them; OpenAI's in another order than asked, as it may."""
    match PATHS[path]:
        case "ollama":
            return JSONResponse({"model": "m", "embeddings": vectors, "total_duration": 1})
        case "openai":
            data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(vectors)]
            return JSONResponse({"object": "list", "data": data[::-1], "usage": {"total_tokens": 7}})
        case "tei":
            return JSONResponse(vectors)


@asynccontextmanager
async def embedding_server(**options: Any) -> AsyncIterator[EmbeddingServer]:
    """A running one."""
    server = EmbeddingServer(**options)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()
