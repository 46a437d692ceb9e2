"""An installation as an operator sets it up: PostgreSQL, servers as programs with folders and ports of their own,
vaults and tokens by the command, and callers who take any server there is. Without a database, one server alone."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psycopg

from server.cluster.join import join_cluster
from server.settings import load
from tests.cluster.network_rooms import NetworkRoom
from tests.kept_ports import kept_port
from tests.server.cli.command import ENVIRONMENT
from tests.server.http.serving import BOTH, MODERN, browser, enveloped, ground
from tests.work import PROGRAM_PATIENCE_S

UNLIMITED = {"limits.calls_per_minute": 10**9, "limits.vault_calls_per_minute": 10**9}
PLAIN = {"storage.reserve_mb": 0, "embedding.engine": "off"}
LOOK_S = 0.02


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a call of a tool came to. ``code``: of the error, None where it was answered well."""

    content: Any
    text: str
    code: str | None


class ServerProcess:
    """``strongroom serve`` on one port, started again and again. What it says goes into ``log``."""

    def __init__(
        self, name: str, folder: Path, port: int, environment: dict[str, str], room: NetworkRoom | None = None
    ) -> None:
        self.name, self.folder, self.port = name, folder, port
        self.url = f"http://127.0.0.1:{port}" if room is None else f"http://{room.address}:{port}"
        self._prefix = () if room is None else room.prefix
        self.log = folder / "log"
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self.is_offered = True
        """Whether callers who take any server take this one."""
        self.http = browser()

    def start(self) -> None:
        """Returns at once; ``ready`` waits."""
        self.folder.mkdir(parents=True, exist_ok=True)
        program = (*self._prefix, sys.executable, "-m", "server")
        command = (*program, "serve", "--port", str(self.port), "--metrics-port", "0")
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, env=self._environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def set(self, name: str, value: object) -> None:
        """From its next start on."""
        self._environment |= _named({name: value})

    def run_from(self, sources: Path) -> None:
        """From its next start on, another release."""
        self._environment |= {"PYTHONPATH": str(sources)}

    def forget(self) -> None:
        """Lose its disk."""
        shutil.rmtree(self.folder)

    async def ready(self) -> None:
        """Until it says that it takes requests."""
        until = time.monotonic() + PROGRAM_PATIENCE_S
        while not await self._is_ready():
            assert self._process is not None
            assert self._process.poll() is None, self.log.read_text()[-3000:]
            assert time.monotonic() < until, f"{self.name} is not ready: {self.log.read_text()[-3000:]}"
            await asyncio.sleep(LOOK_S)

    async def _is_ready(self) -> bool:
        with contextlib.suppress(httpx2.TransportError):
            return (await self.http.get(f"{self.url}/health/ready")).status_code == httpx2.codes.OK
        return False

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def signal(self, which: signal.Signals) -> None:
        if self.is_running:
            os.kill(self.pid, which)

    async def kill(self) -> None:
        self.signal(signal.SIGKILL)
        await self.wait()

    async def end(self) -> None:
        """As an operator ends it: SIGTERM, and its hand-overs."""
        self.signal(signal.SIGTERM)
        await self.wait()

    async def wait(self) -> None:
        if self._process is not None:
            await asyncio.to_thread(self._process.wait, PROGRAM_PATIENCE_S)

    async def close(self) -> None:
        self.signal(signal.SIGCONT)
        await self.kill()
        await self.http.aclose()


@dataclass
class Installation:
    """``servers`` run. ``token`` opens every vault, as an admin."""

    folder: Path
    environment: dict[str, str]
    servers: list[ServerProcess] = field(default_factory=list)
    token: str = ""
    database: str | None = None
    chance: random.Random = field(default_factory=lambda: random.Random(21))

    async def command(self, *arguments: str) -> str:
        """What ``strongroom`` printed. Fails where it fails."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "server", *arguments),
            env=self.environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        out, err = await process.communicate()
        assert process.returncode == 0, f"{arguments}: {err.decode()} {out.decode()}"
        return out.decode()

    async def issue_token(self, subject: str, role: str = "admin", *vaults: str) -> str:
        named = [each for vault in vaults or ("*",) for each in ("--vault", vault)]
        said = await self.command("token", "create", "--subject", subject, "--role", role, *named, "--json")
        return str(json.loads(said)["token"])

    def any_server(self) -> ServerProcess:
        return self.chance.choice([each for each in self.servers if each.is_running and each.is_offered])

    async def call(
        self, server: ServerProcess, vault: str, tool: str, arguments: dict[str, Any], token: str = ""
    ) -> ToolAnswer:
        """Of one server, once. Raises ``TransportError`` of httpx where it gave no answer, and ``LookupError`` for
        anything but the answer of a tool."""
        headers = {
            "authorization": f"Bearer {token or self.token}",
            "accept": BOTH,
            "mcp-protocol-version": MODERN,
            "mcp-method": "tools/call",
            "mcp-name": tool,
        }
        message = enveloped("tools/call", {"name": tool, "arguments": arguments})
        url = f"{server.url}/v/{vault}/mcp?tools=full"
        answer = await server.http.post(url, json=message, headers=headers)
        said = answer.json() if answer.headers.get("content-type", "").startswith("application/json") else {}
        if "result" not in said:
            raise LookupError(f"{answer.status_code}: {answer.text[:500]}")
        return _answer_of(said["result"])

    async def ask(self, vault: str, tool: str, arguments: dict[str, Any]) -> ToolAnswer:
        """Of any server."""
        return await self.call(self.any_server(), vault, tool, arguments)

    def holders(self) -> dict[str, str]:
        """The name of the server that holds each vault that somebody holds, by the vault's name."""
        return dict(self.rows(_HOLDERS))

    def rows(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        """Of the database, past all servers."""
        assert self.database is not None
        with psycopg.connect(self.database) as connection:
            done = connection.execute(statement, values)
            return [] if done.description is None else done.fetchall()

    def commit_times(self, statement: str, times: int) -> list[float]:
        """Seconds that each of as many commits of a statement took, on one connection."""
        assert self.database is not None
        took = []
        with psycopg.connect(self.database, autocommit=True) as connection:
            for _ in range(times):
                began = time.perf_counter()
                connection.execute(statement)
                took.append(time.perf_counter() - began)
        return took

    async def start_all(self) -> None:
        for each in self.servers:
            each.start()
        await asyncio.gather(*(each.ready() for each in self.servers))


_HOLDERS = """
SELECT v.name, s.name FROM strongroom.placement p
JOIN strongroom.servers s ON s.id = p.server JOIN strongroom_control.vaults v ON v.vault_id = p.vault
"""


def _answer_of(result: dict[str, Any]) -> ToolAnswer:
    content = result.get("structuredContent")
    text = "\n".join(each.get("text", "") for each in result.get("content", ()))
    code = (content or {}).get("error", {}).get("code", "error") if result.get("isError") else None
    return ToolAnswer(content, text, code)


@asynccontextmanager
async def installed(
    folder: Path,
    vaults: list[str],
    *,
    servers: int = 1,
    database: str | None = None,
    rooms: Sequence[NetworkRoom] = (),
    **settings: Any,
) -> AsyncIterator[Installation]:
    """One that answers. ``rooms``: where each server runs, if not all here; ``database``: the address of an empty one,
    by which several servers are one installation; ``settings`` by name, with ``__`` between section and name."""
    async with AsyncExitStack() as stack:
        made = {name.replace("__", "."): value for name, value in settings.items()} | UNLIMITED
        if database is not None:
            made["cluster.url"] = database
        operator = folder / "operator"
        operator.mkdir(parents=True)
        installation = Installation(folder, _environment(operator if database else folder / "server-0", made))
        installation.database = database
        for number in range(servers):
            own = made | ({"cluster.name": f"server-{number}"} if database else {})
            name, data = f"server-{number}", folder / f"server-{number}"
            port = stack.enter_context(kept_port())
            room = rooms[number] if rooms else None
            own |= {"server.host": room.address} if room else {}
            server = ServerProcess(name, data, port, _environment(data, own), room)
            stack.push_async_callback(server.close)
            installation.servers.append(server)
        await _lay_out(folder / "server-0" if database is None else folder / "before", vaults, made)
        installation.token = await installation.issue_token("operator")
        await installation.start_all()
        yield installation


async def _lay_out(data: Path, vaults: list[str], settings: dict[str, Any]) -> None:
    """With these vaults; and have it join the cluster, where there is one."""
    loaded = load(data, flags={**PLAIN, **settings}, environment={})
    async with ground(load(data, flags=PLAIN, environment={}), vaults):
        pass
    if loaded.settings.cluster.is_on:
        joined = await join_cluster(loaded.settings, data, lambda done, count, what: None)
        assert joined.is_joined


def _environment(data: Path, settings: dict[str, Any]) -> dict[str, str]:
    return {**ENVIRONMENT, **_named(settings), "STRONGROOM_DATA": str(data)}


def _named(settings: dict[str, Any]) -> dict[str, str]:
    return {f"STRONGROOM_{name.upper().replace('.', '__', 1)}": str(value) for name, value in settings.items()}
