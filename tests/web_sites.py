"""Servers on this machine that stand for sites: what they answer, and what they were asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Answer = tuple[int, dict[str, str], bytes]


@dataclass(slots=True)
class Site:
    """A server on this machine. ``pages``: answers by target; without one, 404. ``asked``: requests, with headers."""

    port: int = 0
    pages: dict[str, Answer | Callable[[dict[str, str]], Answer]] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    hangs: str = ""  # the target that is never answered to the end

    @property
    def targets(self) -> list[str]:
        return [target for target, _ in self.asked]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                target = line.decode().split(" ")[1]
                headers = {}
                while (row := (await reader.readline()).decode().strip()) != "":
                    name, _, value = row.partition(":")
                    headers[name.lower()] = value.strip()
                self.asked.append((target, headers))
                if target == self.hangs:
                    await asyncio.Event().wait()
                page = self.pages.get(target, (404, {}, b""))
                status, more, body = page(headers) if callable(page) else page
                head = {"content-length": str(len(body)), **more}
                rows = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in head.items())]
                writer.write("\r\n".join([*rows, "", ""]).encode() + body)
                await writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(host: str = "127.0.0.1") -> AsyncIterator[Site]:
    site = Site()
    server = await asyncio.start_server(site.serve, host, 0)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()
