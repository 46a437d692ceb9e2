"""Thousands of idle connections of one address, against whole servers: a caller with a grant gets in all the same."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.server.http.wired import Client, Wire

IDLE = 5000
ENV = {**os.environ, "STRONGROOM_EMBEDDING__ENGINE": "off", "STRONGROOM_STORAGE__RESERVE_MB": "0"}


@contextmanager
def running(data: Path, *flags: str, files: int = 1024) -> Iterator[Wire]:
    """A server with a soft limit of ``files`` open files, as most systems have it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    command = [
        sys.executable,
        "-m",
        "server",
        "serve",
        "--data",
        str(data),
        "--port",
        "0",
        "--metrics-port",
        "0",
        *flags,
    ]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=ENV,
    )
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (files, hard))  # before it has imported anything
    try:
        assert process.stdout is not None
        yield Wire(next(int(found[1]) for line in process.stdout if (found := re.search(r"serves .*:(\d+)/", line))))
    finally:
        process.terminate()
        process.communicate(timeout=60)


def token(data: Path) -> str:
    command = [sys.executable, "-m", "server", "token", "create", "--data", str(data)]
    made = subprocess.run(
        [*command, "--subject", "alice", "--vault", "main", "--role", "writer", "--ttl", "1h"],
        capture_output=True,
        text=True,
        env=ENV,
        check=True,
    )
    return made.stdout.split()[-1]


def call(token: str) -> bytes:
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"status","arguments":{}}}'
    head = (
        "POST /v/main/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n"
        f"Content-Length: {len(body)}\r\nAuthorization: Bearer {token}\r\n\r\n"
    )
    return head.encode() + body


async def granted(wire: Wire, request: bytes, source: str) -> int | None:
    """The status of one call on a new connection. One connection that was closed for another is tried again, as
    clients do."""
    for _ in range(2):
        client = await wire.open(source=source)
        await client.send(request)
        status = await client.answer()
        client.close()
        if status is not None:
            return status
    return None


@pytest.mark.load
@pytest.mark.parametrize("workers", ["1", "3"])
async def test_a_granted_caller_gets_in_beside_five_thousand_idle_connections(tmp_path: Path, workers: str) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 3 * IDLE), hard))
    idle: list[Client] = []
    try:
        with running(tmp_path, "--workers", workers) as wire:
            request = call(await asyncio.to_thread(token, tmp_path))
            assert await granted(wire, request, "127.0.0.1") == 200
            seen = []
            for number in range(IDLE):
                client = await wire.open()
                await client.send(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n" * (number % 2))
                idle.append(client)
                if number % 250 == 249:
                    seen += [await granted(wire, request, source) for source in ("127.0.0.1", "127.0.0.2")]
            assert seen == [200] * len(seen)
    finally:
        for client in idle:
            client.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
