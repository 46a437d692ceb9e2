"""Three servers as processes over one PostgreSQL, clients that write and read, and whatever can happen meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cluster.cut_proxy import CutProxy, proxied
from tests.cluster.held_vault import read_log
from tests.cluster.history import Entry, History, Operation, TakeOver
from tests.cluster.postgres_server import PostgresServer
from tests.cluster.serving_child import INSTALLATION
from tests.work import PROGRAM_PATIENCE_S
from vaults.cluster.postgres.connections import DatabaseLogin
from vaults.cluster.postgres.log import PostgresVaultLog
from vaults.cluster.postgres.placements import Placements
from vaults.cluster.postgres.schema import lay_out, open_database

ROOT = Path(__file__).resolve().parents[2]
SERVERS, CLIENTS = 3, 12
LEASE_S = 1.0
ANSWER_S = 4 * LEASE_S


class Child:
    """A server: its process, which is another one after each death, and its way to PostgreSQL."""

    def __init__(self, conninfo: str, folder: Path, proxy: CutProxy) -> None:
        self.proxy, self.id = proxy, ""
        self._conninfo, self._folder, self._lives = conninfo, folder, 0
        self.process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._stopping = False
        self.deaths = 0

    async def live(self) -> None:
        """Start it again whenever it ends, for ever."""
        while not self._stopping:
            self._lives += 1
            folder = self._folder / str(self._lives)
            folder.mkdir(parents=True)
            command = (sys.executable, "-m", "tests.cluster.serving_child", self._conninfo, str(folder), str(LEASE_S))
            with (self._folder / "stderr").open("ab") as errors:
                self.process = await asyncio.create_subprocess_exec(
                    *command,
                    cwd=ROOT,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=errors,
                )
            await self._converse(self.process)
            await self.process.wait()
            self.deaths += 1

    async def ask(self, number: int, asked: dict[str, Any]) -> dict[str, Any]:
        """Its answer. Raises ``OSError`` where it is not there, and ``TimeoutError``: the outcome is unknown then."""
        if self._writer is None:
            raise ConnectionRefusedError
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(json.dumps({"number": number, **asked}).encode() + b"\n")
            return await asyncio.wait_for(answer, ANSWER_S)
        finally:
            del self._waiting[number]

    def signal(self, which: signal.Signals) -> None:
        if self.process is not None and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, which)

    async def end(self) -> None:
        self._stopping = True
        self.signal(signal.SIGKILL)

    async def _converse(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        port, _, self.id = (await process.stdout.readline()).decode().strip().partition(" ")
        if not port:
            return
        try:
            reader, self._writer = await asyncio.open_connection("127.0.0.1", int(port), limit=2**20)
            while line := await reader.readline():
                answer = json.loads(line)
                waiting = self._waiting.get(answer["number"])
                if waiting is not None and not waiting.done():
                    waiting.set_result(answer)
        except OSError:
            pass
        finally:
            if self._writer is not None:
                self._writer.transport.abort()
            self._writer = None
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(ConnectionResetError())


@dataclass
class ClusterRun:
    """One run; ``go`` gives its history. The same ``seed`` chooses the same faults, not the same moments."""

    postgres: PostgresServer
    folder: Path
    vaults: int
    faults: int
    seed: int
    injected: Counter[str] = field(default_factory=Counter)

    async def go(self) -> History:
        self._random = random.Random(self.seed)
        self._names = [f"vault-{number}" for number in range(self.vaults)]
        self._numbers = iter(range(1, 10**9))
        self._operations: list[Operation] = []
        self._hints: dict[str, str] = {}
        database = self.postgres.create_database()
        self._log = self._lay_out(database)
        with contextlib.ExitStack() as stack:
            proxies = [stack.enter_context(proxied(self.postgres.port)) for _ in range(SERVERS)]
            name = database.rpartition("/")[2]
            self._children = [
                Child(self.postgres.conninfo(name, proxy.port), self.folder / f"child-{number}", proxy)
                for number, proxy in enumerate(proxies)
            ]
            await self._work()
        return self._history()

    def _lay_out(self, database: str) -> PostgresVaultLog:
        login = DatabaseLogin(database)
        lay_out(login, INSTALLATION)
        self._connections = open_database(login, INSTALLATION)
        placements = Placements(self._connections)
        for name in self._names:
            placements.register(name)
        return PostgresVaultLog(self._connections)

    async def _work(self) -> None:
        lives = [asyncio.create_task(child.live()) for child in self._children]
        done = asyncio.Event()
        clients = [asyncio.create_task(self._call_until(done)) for _ in range(CLIENTS)]
        try:
            await self._read_all()
            for _ in range(self.faults):
                await self._inject()
                await asyncio.sleep(self._random.uniform(0.05, 0.4) * LEASE_S)
            done.set()
            await asyncio.gather(*clients)
            await self._heal()
            await self._read_all()
        finally:
            for task in clients:
                task.cancel()
            for child in self._children:
                await child.end()
            await asyncio.gather(*clients, return_exceptions=True)
            await asyncio.gather(*lives)

    async def _call_until(self, done: asyncio.Event) -> None:
        while not done.is_set():
            vault = self._random.choice(self._names)
            await self._call(vault, wrote=next(self._numbers) if self._random.random() < 0.6 else None)

    async def _call(self, vault: str, wrote: int | None) -> Operation:
        """One call, to whom the vault was last with, or to anybody; once."""
        child = next((each for each in self._children if each.id == self._hints.get(vault)), None)
        if child is None or self._random.random() < 0.1:
            child = self._random.choice(self._children)
        asked = {"op": "read" if wrote is None else "write", "vault": vault, "id": wrote}
        began = time.monotonic()
        try:
            answer = await child.ask(next(self._numbers), asked)
        except (OSError, TimeoutError):
            self._hints.pop(vault, None)
            answer = {"outcome": "unknown"}
            await asyncio.sleep(0.02)
        ended = time.monotonic()
        if answer["outcome"] == "elsewhere":
            self._hints[vault] = answer["holder"]
            await asyncio.sleep(0.01)
            answer = {"outcome": "fenced"}  # nothing was stored
        elif answer["outcome"] == "ok":
            self._hints[vault] = child.id
        told = {name: answer[name] for name in ("seq", "epoch", "said") if name in answer}
        operation = Operation(vault, began, ended, answer["outcome"], wrote, ids=tuple(answer.get("ids", ())), **told)
        self._operations.append(operation)
        return operation

    async def _read_all(self) -> None:
        """Every vault is to be had again, by whomever."""
        until = time.monotonic() + PROGRAM_PATIENCE_S

        async def read(vault: str) -> None:
            while (await self._call(vault, None)).outcome != "ok":
                assert time.monotonic() < until, f"{vault} was not to be had again"

        for start in range(0, len(self._names), CLIENTS):
            await asyncio.gather(*(read(vault) for vault in self._names[start : start + CLIENTS]))

    async def _inject(self) -> None:
        fault = self._random.choices(list(FAULTS), [weight for weight, _ in FAULTS.values()])[0]
        self.injected[fault] += 1
        await FAULTS[fault][1](self, self._random.choice(self._children))

    async def _heal(self) -> None:
        await asyncio.gather(*self._later)
        for child in self._children:
            child.proxy.flow()

    _later: set[asyncio.Task[None]] = field(default_factory=set)

    def _after(self, seconds: float, work: Callable[[], None]) -> None:
        async def wait() -> None:
            await asyncio.sleep(seconds)
            work()

        self._later.add(asyncio.create_task(wait()))

    async def _kill(self, child: Child) -> None:
        child.signal(signal.SIGKILL)

    async def _stop(self, child: Child) -> None:
        child.signal(signal.SIGSTOP)
        self._after(self._random.uniform(0.2, 3.0) * LEASE_S, lambda: child.signal(signal.SIGCONT))

    async def _cut(self, child: Child) -> None:
        child.proxy.cut()

    async def _lose_answers(self, child: Child) -> None:
        child.proxy.lose_answers()
        self._after(self._random.uniform(0.05, 0.5) * LEASE_S, child.proxy.flow)

    async def _stall(self, child: Child) -> None:
        child.proxy.stall()
        self._after(self._random.uniform(0.2, 3.0) * LEASE_S, child.proxy.flow)

    async def _delay(self, child: Child) -> None:
        child.proxy.delay(0.25)  # there and back: half a second
        self._after(self._random.uniform(1.0, 2.0) * LEASE_S, child.proxy.flow)

    async def _refuse(self, child: Child) -> None:
        child.proxy.refuse()
        self._after(self._random.uniform(0.2, 2.0) * LEASE_S, child.proxy.flow)

    async def _restart_postgres(self, child: Child) -> None:
        await asyncio.to_thread(self._random.choice([self.postgres.stop, self.postgres.kill]))
        await asyncio.to_thread(self.postgres.start)

    def _history(self) -> History:
        logs = {
            name: [Entry(seq, epoch, tuple(ids)) for seq, epoch, ids in read_log(self._log, name)]
            for name in self._names
        }
        heads = {each.vault: each.head for each in Placements(self._connections).holders()}
        self._connections.close()
        take_overs = [
            TakeOver(**json.loads(line))
            for journal in self.folder.rglob("take_overs")
            for line in journal.read_text().splitlines()
        ]
        return History(self._operations, logs, heads, take_overs)


Fault = Callable[[ClusterRun, Child], Awaitable[None]]

FAULTS: dict[str, tuple[int, Fault]] = {
    "SIGKILL": (20, ClusterRun._kill),
    "SIGSTOP": (30, ClusterRun._stop),
    "cut": (12, ClusterRun._cut),
    "lost answers": (12, ClusterRun._lose_answers),
    "stall": (10, ClusterRun._stall),
    "refuse": (5, ClusterRun._refuse),
    "slow": (5, ClusterRun._delay),
    "PostgreSQL restart": (6, ClusterRun._restart_postgres),
}
"""With how often of a hundred."""
