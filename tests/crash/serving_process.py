"""``strongroom serve`` as a process of its own, as an operator starts it."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2

from tests.blanks import lay_out_listings
from tests.server.cli.command import ENVIRONMENT
from tests.server.http.serving import BOTH, MODERN, enveloped
from tests.work import PROGRAM_PATIENCE_S
from vaults.db.engine import sqlite


class Serving:
    """``strongroom serve`` with some workers."""

    def __init__(self, data: Path, workers: int = 1, **environment: str) -> None:
        argv = [sys.executable, "-m", "server", "serve", "--port", "0", "--metrics-port", "0"]
        self.data = data
        lay_out_listings(data)
        self.process = subprocess.Popen(
            [*argv, "--workers", str(workers)],
            env={**ENVIRONMENT, "STRONGROOM_DATA": str(data), **environment},
            cwd=data.parent, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        said = ""
        assert self.process.stdout is not None
        while (found := re.search(r"serves (http\S+)/v/<vault>/mcp", said)) is None:
            line = self.process.stdout.readline()
            assert line, said
            said += line
        token = re.search(r"Bearer ([\w.~+/=-]+)", said)
        assert token is not None, said
        self.url, self.token = f"{found.group(1)}/v/main/mcp?tools=full", token.group(1)

    def http(self) -> httpx2.AsyncClient:
        """Each its own connection, so that any worker may have it."""
        headers = {"authorization": f"Bearer {self.token}", "accept": BOTH, "mcp-protocol-version": MODERN}
        return httpx2.AsyncClient(headers=headers, timeout=PROGRAM_PATIENCE_S)

    async def ready(self) -> None:
        """Until the first call is answered."""
        async with self.http() as http, asyncio.timeout(PROGRAM_PATIENCE_S):
            answered = False
            while not answered:
                with suppress(httpx2.TransportError):
                    answered = "error" not in await self.call(http, "status")

    def workers(self) -> dict[str, int]:
        """Processor time of each worker so far, in ticks."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        stats = {child: Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split() for child in children}
        return {child: int(stat[11]) + int(stat[12]) for child, stat in stats.items()}

    async def call(self, http: httpx2.AsyncClient, tool: str, session: str = "", **arguments: Any) -> dict[str, Any]:
        """The result of a tool call."""
        named = {"x-strongroom-session": session} if session else {}
        headers = {"mcp-method": "tools/call", "mcp-name": tool, **named}
        message = enveloped("tools/call", {"name": tool, "arguments": arguments})
        answer = (await http.post(self.url, json=message, headers=headers)).json()
        result: dict[str, Any] = answer["result"]["structuredContent"]
        return result

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        raw = sqlite.connect(self.data / "vaults" / "main" / "vault.db", timeout=PROGRAM_PATIENCE_S)
        try:
            return list(raw.execute(statement))
        finally:
            raw.close()


@asynccontextmanager
async def serving(data: Path, workers: int = 1, **environment: str) -> AsyncIterator[Serving]:
    """One that answers; in the end it is killed, if it is still there."""
    server = await asyncio.to_thread(Serving, data, workers, **environment)
    try:
        await server.ready()
        yield server
    finally:
        server.process.terminate()
        try:
            await asyncio.to_thread(server.process.communicate, timeout=PROGRAM_PATIENCE_S)
        finally:
            server.process.kill()
