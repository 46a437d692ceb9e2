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
from tests.cluster.held_vault import entries_of
from tests.cluster.history import History, Operation, TakeOver
from tests.cluster.postgres_pair import PostgresPair
from tests.cluster.postgres_server import PostgresServer
from tests.cluster.serving_child import INSTALLATION
from tests.work import PROGRAM_PATIENCE_S
from vaults.cluster.postgres.connections import DatabaseLogin
from vaults.cluster.postgres.log import PostgresVaultLog
from vaults.cluster.postgres.placements import Placements
from vaults.cluster.postgres.schema import lay_out, open_database

ROOT = Path(__file__).resolve().parents[2]
SERVERS, CLIENTS, RIVALS = 3, 18, 6
"""Rivals want vaults of others, and ask whoever had one once they have written into it."""

LEASE_S = 0.6
HEALTHY = 1
"""Servers that nothing is done to at a time: where all are away nothing can go wrong."""

PATIENCE_LEASES = (0.2, 3.0)
"""How long a client waits for its answer: most not for as long as a server may be stopped, else all would stand still
with it."""


class Child:
    """A server: its process, which is another one after each death, and its ways to PostgreSQL."""

    def __init__(self, conninfo: str, folder: Path, proxies: list[CutProxy]) -> None:
        self.proxies, self.id = proxies, ""
        self._conninfo, self._folder, self._lives = conninfo, folder, 0
        self.process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._stopping = False
        self.deaths, self.troubles = 0, 0

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

    @property
    def is_serving(self) -> bool:
        return self._writer is not None

    async def ask(self, number: int, asked: dict[str, Any], patience_s: float) -> dict[str, Any]:
        """Its answer. Raises ``OSError`` where it is not there, and ``TimeoutError``: the outcome is unknown then."""
        assert self._writer is not None
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(json.dumps({"number": number, **asked}).encode() + b"\n")
            return await asyncio.wait_for(answer, patience_s)
        finally:
            del self._waiting[number]

    def signal(self, which: signal.Signals) -> None:
        if self.process is not None and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, which)

    def end(self) -> None:
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

    postgres: PostgresServer | PostgresPair
    folder: Path
    vaults: int
    faults: int
    seed: int
    weights: dict[str, int] = field(default_factory=lambda: WEIGHTS)
    """How often each fault is had, of all of them."""
    injected: Counter[str] = field(default_factory=Counter)
    rebased: int = 0
    """Vaults with a base that took the place of entries."""
    _later: set[asyncio.Task[None]] = field(default_factory=set)

    async def go(self) -> History:
        self._random = random.Random(self.seed)
        self._names = [f"vault-{number}" for number in range(self.vaults)]
        self._quiet = set(self._names[self.vaults // 2 :])
        self._numbers = iter(range(1, 10**9))
        self._operations: list[Operation] = []
        self._hints: dict[str, str] = {}
        database = self.postgres.create_database()
        self._log = self._lay_out(database)
        with contextlib.ExitStack() as stack:
            name = database.rpartition("/")[2]
            self._children = [self._child(stack, name, number) for number in range(SERVERS)]
            await self._work()
        return self._history()

    def _child(self, stack: contextlib.ExitStack, database: str, number: int) -> Child:
        proxies = [stack.enter_context(proxied(port)) for port in self.postgres.ports]
        conninfo = self.postgres.conninfo(database, *(proxy.port for proxy in proxies))
        return Child(conninfo, self.folder / f"child-{number}", proxies)

    def _lay_out(self, database: str) -> PostgresVaultLog:
        login = DatabaseLogin(database)
        lay_out(login, INSTALLATION)
        self._connections = open_database(login, INSTALLATION)
        placements = Placements(self._connections)
        for name in self._names:
            placements.register(name)
        return PostgresVaultLog(self._connections)

    async def _work(self) -> None:
        """Until all faults were had, or a server can no longer be started."""
        lives = [asyncio.create_task(child.live()) for child in self._children]
        whole = asyncio.create_task(self._let_faults_happen())
        try:
            await asyncio.wait([whole, *lives], return_when=asyncio.FIRST_COMPLETED)
        finally:
            whole.cancel()
            for child in self._children:
                child.end()
            await asyncio.gather(*lives)
        await whole

    async def _let_faults_happen(self) -> None:
        done = asyncio.Event()
        clients = [asyncio.create_task(self._call_until(done)) for _ in range(CLIENTS)]
        clients += [asyncio.create_task(self._rival_until(done)) for _ in range(RIVALS)]
        try:
            await self._read_all()
            for _ in range(self.faults):
                await self._inject()
                await asyncio.sleep(self._random.uniform(0.05, 0.4) * LEASE_S)
            done.set()
            await asyncio.gather(*clients)
            await asyncio.gather(*self._later)
            await self._read_all()
        finally:
            for task in clients:
                task.cancel()
            await asyncio.gather(*clients, return_exceptions=True)

    async def _call_until(self, done: asyncio.Event) -> None:
        """Of the second half of the vaults it only reads: a server that lost PostgreSQL with a write under way shows
        nothing anyhow, and is to be asked for what it may still believe to be its own."""
        while not done.is_set():
            vault = self._random.choice(self._names)
            writes = vault not in self._quiet and self._random.random() < 0.7
            await self._call(vault, next(self._numbers) if writes else None)
            await asyncio.sleep(0.02)

    async def _rival_until(self, done: asyncio.Event) -> None:
        while not done.is_set():
            vault = self._random.choice(sorted(self._quiet))
            former = next((child for child in self._children if child.id == self._hints.get(vault)), None)
            others = [child for child in self._children if child is not former and child.is_serving]
            if others:
                written = await self._ask(self._random.choice(others), vault, next(self._numbers))
                for _ in range(3 if written.outcome == "ok" and former is not None else 0):
                    if former is not None and former.is_serving:
                        await self._ask(former, vault, None)
            await asyncio.sleep(0.02)

    async def _call(self, vault: str, wrote: int | None) -> Operation:
        """One call, to whom the vault was last with, or to anybody; once."""
        return await self._ask(await self._server_for(vault), vault, wrote)

    async def _ask(self, child: Child, vault: str, wrote: int | None) -> Operation:
        asked = {"op": "read" if wrote is None else "write", "vault": vault, "id": wrote}
        patience_s = self._random.uniform(*PATIENCE_LEASES) * LEASE_S
        began = time.monotonic()
        try:
            answer = await child.ask(next(self._numbers), asked, patience_s)
        except (OSError, TimeoutError):
            self._hints.pop(vault, None)
            answer = {"outcome": "unknown"}
        ended = time.monotonic()
        if answer["outcome"] == "elsewhere":
            self._hints[vault] = answer["holder"]
            answer = {"outcome": "fenced"}  # nothing was stored
        elif answer["outcome"] == "ok":
            self._hints[vault] = child.id
        told = {name: answer[name] for name in ("seq", "epoch", "said") if name in answer}
        operation = Operation(vault, began, ended, answer["outcome"], wrote, ids=tuple(answer.get("ids", ())), **told)
        self._operations.append(operation)
        return operation

    async def _server_for(self, vault: str) -> Child:
        while True:
            serving = [child for child in self._children if child.is_serving]
            known = [child for child in serving if child.id == self._hints.get(vault)]
            if serving:
                return self._random.choice(known if known and self._random.random() < 0.9 else serving)
            await asyncio.sleep(0.02)

    async def _read_all(self) -> None:
        """Every vault is to be had again, by whomever."""
        until = time.monotonic() + PROGRAM_PATIENCE_S

        async def read(vault: str) -> None:
            while (last := await self._call(vault, None)).outcome != "ok":
                assert last.outcome != "bug", last.said
                assert time.monotonic() < until, f"{vault} was not to be had again: {last}"

        for start in range(0, len(self._names), CLIENTS):
            await asyncio.gather(*(read(vault) for vault in self._names[start : start + CLIENTS]))

    async def _inject(self) -> None:
        child = await self._next_victim()
        fault = self._random.choices(list(self.weights), list(self.weights.values()))[0]
        self.injected[fault] += 1
        await FAULTS[fault](self, child)

    async def _next_victim(self) -> Child:
        """Any that is well, where enough others are."""
        until = time.monotonic() + PROGRAM_PATIENCE_S
        while True:
            well = [child for child in self._children if child.is_serving and not child.troubles]
            if len(well) > HEALTHY:
                return self._random.choice(well)
            assert time.monotonic() < until, "no server came back"
            await asyncio.sleep(0.02)

    def _after(self, seconds: float, child: Child, end: Callable[[], None]) -> None:
        """End a trouble of a server in a while."""
        child.troubles += 1

        async def wait() -> None:
            await asyncio.sleep(seconds)
            end()
            child.troubles -= 1

        self._later.add(asyncio.create_task(wait()))

    async def _kill(self, child: Child) -> None:
        child.signal(signal.SIGKILL)

    async def _stop(self, child: Child) -> None:
        child.signal(signal.SIGSTOP)
        self._after(self._random.uniform(0.2, 4.0) * LEASE_S, child, lambda: child.signal(signal.SIGCONT))

    async def _cut(self, child: Child) -> None:
        for proxy in child.proxies:
            proxy.cut()

    async def _lose_answers(self, child: Child) -> None:
        self._disturb(child, CutProxy.lose_answers, (0.05, 0.5))

    async def _stall(self, child: Child) -> None:
        self._disturb(child, CutProxy.stall, (0.2, 4.0))

    async def _delay(self, child: Child) -> None:
        self._disturb(child, lambda proxy: proxy.delay(0.25), (1.0, 2.0))  # there and back: half a second

    async def _refuse(self, child: Child) -> None:
        self._disturb(child, CutProxy.refuse, (0.2, 2.0))

    def _disturb(self, child: Child, how: Callable[[CutProxy], object], leases: tuple[float, float]) -> None:
        def end() -> None:
            for proxy in child.proxies:
                proxy.flow()

        for proxy in child.proxies:
            how(proxy)
        self._after(self._random.uniform(*leases) * LEASE_S, child, end)

    async def _restart_postgres(self, child: Child) -> None:
        await asyncio.to_thread(self._random.choice([self.postgres.stop, self.postgres.kill]))
        await asyncio.to_thread(self.postgres.start)

    def _history(self) -> History:
        heads = {each.vault: each.head for each in Placements(self._connections).holders()}
        logs = {name: entries_of(self._log, name, heads[name], self.folder) for name in self._names}
        self.rebased = sum((self._log.base(name) or (0,))[0] > 0 for name in self._names)
        self._connections.close()
        take_overs = [
            TakeOver(**json.loads(line))
            for journal in self.folder.rglob("take_overs")
            for line in journal.read_text().splitlines()
        ]
        return History(self._operations, logs, heads, take_overs)


Fault = Callable[[ClusterRun, Child], Awaitable[None]]

FAULTS: dict[str, Fault] = {
    "SIGKILL": ClusterRun._kill,
    "SIGSTOP": ClusterRun._stop,
    "cut": ClusterRun._cut,
    "lost answers": ClusterRun._lose_answers,
    "stall": ClusterRun._stall,
    "refuse": ClusterRun._refuse,
    "slow": ClusterRun._delay,
    "PostgreSQL restart": ClusterRun._restart_postgres,
}

WEIGHTS = {
    "SIGKILL": 20,
    "SIGSTOP": 30,
    "cut": 8,
    "lost answers": 12,
    "stall": 14,
    "refuse": 5,
    "slow": 5,
    "PostgreSQL restart": 6,
}
