"""MCP over raw sockets: the Python client costs ten times the server, so a bench must not use it."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

from bench.servers import HOST

MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"
_ABOUT = "io.modelcontextprotocol/"


def message(method: str, params: Mapping[str, Any], era: str = MODERN) -> dict[str, Any]:
    """One JSON-RPC request, with the envelope the revision wants."""
    sent = dict(params)
    if era == MODERN:
        sent["_meta"] = {
            f"{_ABOUT}protocolVersion": MODERN,
            f"{_ABOUT}clientInfo": {"name": "bench", "version": "1"},
            f"{_ABOUT}clientCapabilities": {},
        }
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": sent}


@dataclass(frozen=True, slots=True)
class VaultEndpoint:
    """A vault's address and somebody's token."""

    port: int
    vault: str
    token: str

    def request(self, method: str, params: Mapping[str, Any], era: str = MODERN, path: str | None = None) -> bytes:
        """The bytes of one request; ``path`` sends them elsewhere than to the vault."""
        headers = {"mcp-protocol-version": era}
        if era == MODERN:
            headers["mcp-method"] = method
            if "name" in params:
                headers["mcp-name"] = params["name"]
        body = json.dumps(message(method, params, era)).encode()
        lines = [
            f"POST {path or f'/v/{self.vault}/mcp'} HTTP/1.1",
            f"host: {HOST}:{self.port}",
            f"authorization: Bearer {self.token}",
            "content-type: application/json",
            "accept: application/json, text/event-stream",
            f"content-length: {len(body)}",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    def call(self, tool: str, arguments: Mapping[str, Any], era: str = MODERN) -> bytes:
        """The bytes of one tool call."""
        return self.request("tools/call", {"name": tool, "arguments": arguments}, era)


def plain_get(port: int, path: str) -> bytes:
    """The bytes of a GET."""
    return f"GET {path} HTTP/1.1\r\nhost: {HOST}:{port}\r\naccept: application/json\r\n\r\n".encode()


def result_of(body: bytes) -> dict[str, Any]:
    """The structured result of a tool call. Raises ``RuntimeError`` for anything but success."""
    answer = json.loads(body)
    result = answer.get("result")
    if result is None or result.get("isError"):
        raise RuntimeError(f"the call failed: {body[:500].decode(errors='replace')}")
    found: dict[str, Any] = result["structuredContent"]
    return found


class RawConnection:
    """One connection, one request at a time, in this thread."""

    def __init__(self, port: int, timeout: float = 120.0) -> None:
        self._socket = socket.create_connection((HOST, port), timeout=timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> RawConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let it go."""
        self._socket.close()

    def ask(self, request: bytes) -> bytes:
        """The body of the answer. Raises ``RuntimeError`` unless it is 200."""
        self._socket.sendall(request)
        answer = _Answer()
        while not answer.complete:
            piece = self._socket.recv(1 << 16)
            if not piece:
                raise RuntimeError("the server hung up")
            answer.add(piece)
        if answer.status != 200:
            raise RuntimeError(f"HTTP {answer.status}: {answer.body[:300].decode(errors='replace')}")
        return answer.body

    def timed(self, request: bytes) -> tuple[float, bytes]:
        """Seconds and the body."""
        began = time.perf_counter()
        body = self.ask(request)
        return time.perf_counter() - began, body


@dataclass(slots=True)
class _Answer:
    raw: bytearray = field(default_factory=bytearray)
    head: int = -1
    length: int = 0
    status: int = 0

    def add(self, piece: bytes) -> None:
        self.raw += piece
        if self.head < 0 and (end := self.raw.find(b"\r\n\r\n")) >= 0:
            self.head = end + 4
            self.status = int(self.raw[9:12])
            named = self.raw[:end].lower().partition(b"\r\ncontent-length:")[2]
            if not named:
                raise RuntimeError("an answer without a length: is it a stream?")
            self.length = int(named.partition(b"\r\n")[0])

    @property
    def complete(self) -> bool:
        return self.head >= 0 and len(self.raw) >= self.head + self.length

    @property
    def body(self) -> bytes:
        return bytes(self.raw[self.head : self.head + self.length])


@dataclass(frozen=True, slots=True)
class RequestLoad:
    """Requests for one server over ``connections``; each connection sends its next when it has its answer. The bodies
    of answers are kept up to ``keep`` bytes."""

    port: int
    connections: int
    requests: Sequence[bytes]
    keep: int = 0


@dataclass(slots=True)
class LoadResult:
    """What came back, in the order of the requests. ``wall`` in seconds over all."""

    seconds: list[float]
    statuses: list[int]
    bodies: list[bytes]
    wall: float = 0.0

    @property
    def failures(self) -> int:
        """Answers that were not 200, or held an error."""
        return sum(status != 200 for status in self.statuses) + sum(b'"isError":true' in body for body in self.bodies)


def drive(load: RequestLoad) -> LoadResult:
    """Put ``load`` on a server, from this process."""
    count = len(load.requests)
    driven = LoadResult([0.0] * count, [0] * count, [b""] * count)
    asyncio.run(_drive(load, driven))
    return driven


async def _drive(load: RequestLoad, result: LoadResult) -> None:
    loop, numbers = asyncio.get_running_loop(), iter(range(len(load.requests)))
    callers = [_Caller(load, numbers, result) for _ in range(load.connections)]
    for caller in callers:
        await loop.create_connection(lambda caller=caller: caller, HOST, load.port)  # type: ignore[misc]
    began = time.perf_counter()
    for caller in callers:
        caller.next()
    await asyncio.gather(*(caller.done for caller in callers))
    result.wall = time.perf_counter() - began


class _Caller(asyncio.Protocol):
    def __init__(self, load: RequestLoad, numbers: Iterator[int], result: LoadResult) -> None:
        self._load, self._numbers, self._driven = load, numbers, result
        self._answer = _Answer()
        self._number = -1
        self._began = 0.0
        self._transport: asyncio.Transport | None = None
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def next(self) -> None:
        assert self._transport is not None
        self._number = next(self._numbers, -1)
        if self._number < 0:
            self.done.set_result(None)
            self._transport.close()
            return
        self._answer = _Answer()
        self._began = time.perf_counter()
        self._transport.write(self._load.requests[self._number])

    def data_received(self, data: bytes) -> None:
        self._answer.add(data)
        if self._answer.complete:
            self._driven.seconds[self._number] = time.perf_counter() - self._began
            self._driven.statuses[self._number] = self._answer.status
            self._driven.bodies[self._number] = self._answer.body[: self._load.keep]
            self.next()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or RuntimeError("the server hung up"))


@contextmanager
def driver() -> Iterator[ProcessPoolExecutor]:
    """A process of its own to call ``drive`` in: ``pool.submit(drive, load)``."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool
