"""Three real servers over one PostgreSQL, callers of real tools, and servers that are killed, stopped, cut off, drained
and restarted meanwhile. In the end all of them are killed, and a fresh one says what PostgreSQL holds."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx2

from tests.cluster.cut_proxy import CutProxy, proxied
from tests.cluster.grown_sets import GrownOutcome, ToolOperation
from tests.cluster.installation import Installation, ServerProcess, ToolAnswer, installed
from tests.cluster.network_rooms import NetworkRoom
from tests.cluster.postgres_pair import PostgresPair
from tests.cluster.postgres_server import PostgresServer
from tests.cluster.wrong_clocks import put_clock
from tests.work import PROGRAM_PATIENCE_S

SERVERS, CALLERS, LEASE_S = 3, 8, 2.0
HOUR_S = 3600
NOTE = "log.md"
MAY_FAIL = {"vault_unavailable", "overloaded", "timeout", "read_only", "storage_full", "audit_unavailable", "conflict"}
"""Codes of answers that say to call again. ``conflict``: somebody else changed the note in between."""

PATIENCE_S = (2.0, 15.0)
"""How long a caller waits: some longer than a server is stopped, some not."""

_ID = re.compile(r"\bid-(\d+)\b")


LISTING = {"order": "oldest", "limit": 200, "max_tokens": 100_000}
READING = {"path": NOTE, "part": "full", "max_tokens": 100_000}


@dataclass(frozen=True, slots=True)
class _Asked:
    vault: str
    tool: str
    arguments: dict[str, Any]


@dataclass
class ToolRun:
    """``go`` gives what callers did and were told, and what every place holds in the end."""

    postgres: PostgresServer | PostgresPair
    folder: Path
    vaults: int
    faults: int
    seed: int
    weights: dict[str, int] = field(default_factory=lambda: TOOL_WEIGHTS)
    """How often each fault is had, of all of them."""
    rooms: Sequence[NetworkRoom] = ()
    """Where the servers run, if not all here; then nothing is between them and PostgreSQL."""
    injected: Counter[str] = field(default_factory=Counter)
    operations: list[ToolOperation] = field(default_factory=list)

    async def go(self) -> dict[str, tuple[int, ...]]:
        self._random = random.Random(self.seed)
        self._numbers = iter(range(1, 10**9))
        self._names = [f"vault-{number}" for number in range(self.vaults)]
        self._restarting: set[asyncio.Task[None]] = set()
        name = self.postgres.create_database().rpartition("/")[2]
        with contextlib.ExitStack() as stack:
            ports = () if self.rooms else self.postgres.ports
            self._proxies = [[stack.enter_context(proxied(port)) for port in ports] for _ in range(SERVERS)]
            ways = [self.postgres.conninfo(name, *(proxy.port for proxy in each)) for each in self._proxies]
            async with installed(
                self.folder,
                self._names,
                servers=SERVERS,
                database=self.postgres.conninfo(name),
                rooms=self.rooms,
                cluster__lease_s=LEASE_S,
            ) as installation:
                for server, way in zip(installation.servers, ways, strict=True):
                    server.set("cluster.url", way)
                return await self._work(installation)

    async def _work(self, installation: Installation) -> dict[str, tuple[int, ...]]:
        self._installation = installation
        for name in self._names:
            await self._call(name, "note_write", {"path": NOTE, "content": "# Log\n", "mode": "create"})
        done = asyncio.Event()
        callers = [asyncio.create_task(self._call_until(done)) for _ in range(CALLERS)]
        try:
            for _ in range(self.faults):
                await self._inject()
                await asyncio.sleep(self._random.uniform(0.1, 1.5) * LEASE_S)
            await asyncio.gather(*self._restarting)
            await asyncio.sleep(2 * LEASE_S)
        finally:
            done.set()
            await asyncio.gather(*callers)
        return await self._read_anew()

    async def _call_until(self, done: asyncio.Event) -> None:
        while not done.is_set():
            name = self._random.choice(self._names)
            work = self._random.choices((self._remember, self._list, self._edit, self._read), (30, 25, 25, 20))[0]
            await work(name)
            await asyncio.sleep(0.02)

    async def _remember(self, vault: str) -> None:
        number = next(self._numbers)
        content = f"What id-{number} stands for was written down by number {number}."
        await self._operate(f"{vault}/memories", number, _Asked(vault, "remember", {"content": content}))

    async def _list(self, vault: str) -> None:
        await self._operate(f"{vault}/memories", None, _Asked(vault, "memory_list", LISTING))

    async def _edit(self, vault: str) -> None:
        number = next(self._numbers)
        line = {"path": NOTE, "content": f"- id-{number}", "section": "Log"}
        await self._operate(f"{vault}/note", number, _Asked(vault, "note_edit", line))

    async def _read(self, vault: str) -> None:
        await self._operate(f"{vault}/note", None, _Asked(vault, "note_read", READING))

    async def _operate(self, place: str, added: int | None, asked: _Asked) -> None:
        """One call of any server that runs, once; and one for each page that is left."""
        server = self._installation.any_server()
        began = time.monotonic()
        outcome: GrownOutcome = "unknown"
        ids: tuple[int, ...] = ()
        said = ""
        try:
            async with asyncio.timeout(self._random.uniform(*PATIENCE_S)):
                answer, ids = await _whole(asked, partial(self._installation.call, server))
            outcome, said = _outcome(answer)
        except httpx2.ConnectError:
            return  # nobody was asked
        except (httpx2.TransportError, TimeoutError):
            pass
        except LookupError as failure:
            outcome, said = _refusal(str(failure)), str(failure)
        ids = ids if added is None and outcome == "ok" else ()
        said = f"{asked.tool}: {said}"
        self.operations.append(ToolOperation(place, began, time.monotonic(), outcome, added, ids, server.name, said))

    async def _call(self, vault: str, tool: str, arguments: dict[str, Any]) -> ToolAnswer:
        """Until it is answered well: for what comes before the faults, and after them."""
        until = time.monotonic() + PROGRAM_PATIENCE_S
        while True:
            with contextlib.suppress(httpx2.TransportError, LookupError):
                answer = await self._installation.ask(vault, tool, arguments)
                if answer.code is None:
                    return answer
                assert time.monotonic() < until, f"{vault}: {tool}: {answer.text}"
            await asyncio.sleep(0.1)

    async def _read_anew(self) -> dict[str, tuple[int, ...]]:
        """By one server, whose folder is empty, with all others gone."""
        for server in self._installation.servers:
            await server.kill()
        fresh = self._installation.servers[0]
        fresh.forget()
        fresh.start()
        await fresh.ready()
        last: dict[str, tuple[int, ...]] = {}
        for name in self._names:
            for place, tool, arguments in (("memories", "memory_list", LISTING), ("note", "note_read", READING)):
                last[f"{name}/{place}"] = (await _whole(_Asked(name, tool, arguments), self._call))[1]
        return last

    async def _inject(self) -> None:
        server = await self._next_victim()
        fault = self._random.choices(list(self.weights), list(self.weights.values()))[0]
        self.injected[fault] += 1
        await TOOL_FAULTS[fault](self, server)

    async def _next_victim(self) -> ServerProcess:
        """One that is ready, where another one is."""
        until = time.monotonic() + PROGRAM_PATIENCE_S
        while True:
            troubled = {task.get_name() for task in self._restarting if not task.done()}
            well = [each for each in self._installation.servers if each.is_running and each.name not in troubled]
            if len(well) > 1:
                return self._random.choice(well)
            assert time.monotonic() < until, "no server came back"
            await asyncio.sleep(0.05)

    def _until_well(self, server: ServerProcess, work: Awaitable[None]) -> None:
        async def wait() -> None:
            await work

        self._restarting.add(asyncio.create_task(wait(), name=server.name))

    async def _kill(self, server: ServerProcess) -> None:
        await server.kill()
        self._until_well(server, _start(server))

    async def _end(self, server: ServerProcess) -> None:
        async def restart() -> None:
            await server.end()
            await _start(server)

        self._until_well(server, restart())

    async def _stop(self, server: ServerProcess) -> None:
        async def go_on() -> None:
            await asyncio.sleep(self._random.uniform(0.3, 3.0) * LEASE_S)
            server.signal(signal.SIGCONT)

        server.signal(signal.SIGSTOP)
        self._until_well(server, go_on())

    async def _cut(self, server: ServerProcess) -> None:
        for proxy in self._ways_of(server):
            proxy.cut()

    async def _stall(self, server: ServerProcess) -> None:
        self._disturb(server, CutProxy.stall)

    async def _refuse(self, server: ServerProcess) -> None:
        self._disturb(server, CutProxy.refuse)

    async def _lose_answers(self, server: ServerProcess) -> None:
        self._disturb(server, CutProxy.lose_answers)

    def _disturb(self, server: ServerProcess, how: Callable[[CutProxy], object]) -> None:
        async def flow() -> None:
            await asyncio.sleep(self._random.uniform(0.1, 2.5) * LEASE_S)
            for proxy in self._ways_of(server):
                proxy.flow()

        for proxy in self._ways_of(server):
            how(proxy)
        self._until_well(server, flow())

    async def _cut_off(self, server: ServerProcess) -> None:
        self._split(server, NetworkRoom.cut_off)

    async def _cut_from_database(self, server: ServerProcess) -> None:
        self._split(server, lambda room: room.cut_from_database(self.postgres.ports[0]))

    async def _cut_from_servers(self, server: ServerProcess) -> None:
        self._split(server, lambda room: room.cut_from(self.rooms))

    async def _cut_from_callers(self, server: ServerProcess) -> None:
        self._split(server, lambda room: room.cut_from_callers(server.port))

    def _split(self, server: ServerProcess, how: Callable[[NetworkRoom], object]) -> None:
        room = self.rooms[self._installation.servers.index(server)]

        async def heal() -> None:
            await asyncio.sleep(self._random.uniform(0.1, 2.5) * LEASE_S)
            room.heal()

        how(room)
        self._until_well(server, heal())

    async def _put_clock(self, server: ServerProcess) -> None:
        put_clock(server.folder, self._random.randint(-HOUR_S, HOUR_S))

    def _ways_of(self, server: ServerProcess) -> list[CutProxy]:
        return self._proxies[self._installation.servers.index(server)]

    async def _restart_postgres(self, server: ServerProcess) -> None:
        await asyncio.to_thread(self._random.choice([self.postgres.stop, self.postgres.kill]))
        await asyncio.to_thread(self.postgres.start)


async def _start(server: ServerProcess) -> None:
    """Until it is ready. Where PostgreSQL is away it ends at once, and is started again as a supervisor does."""
    until = time.monotonic() + PROGRAM_PATIENCE_S
    while True:
        server.start()
        with contextlib.suppress(AssertionError):
            await server.ready()
            return
        assert time.monotonic() < until, f"{server.name} does not start"


async def _whole(
    asked: _Asked, call: Callable[[str, str, dict[str, Any]], Awaitable[ToolAnswer]]
) -> tuple[ToolAnswer, tuple[int, ...]]:
    """The last answer, and the ids of all its pages."""
    answer = await call(asked.vault, asked.tool, asked.arguments)
    ids = _ids_in(answer)
    while answer.code is None and (cursor := answer.content.get("cursor")):
        answer = await call(asked.vault, asked.tool, {**asked.arguments, "cursor": cursor})
        ids += _ids_in(answer)
    return answer, ids


def _refusal(said: str) -> GrownOutcome:
    """What an answer means that is none of a tool."""
    if "is not known" in said:
        return "unknown"
    return "refused" if re.match(r"50[234]|429", said) else "bug"


def _outcome(answer: ToolAnswer) -> tuple[GrownOutcome, str]:
    if answer.code is None:
        return "ok", ""
    return ("refused" if answer.code in MAY_FAIL else "bug"), f"{answer.code}: {answer.text[:300]}"


def _ids_in(answer: ToolAnswer) -> tuple[int, ...]:
    """As often as each stands there: what a memory's title repeats of its text counts once."""
    content = answer.content or {}
    if "memories" in content:
        texts = [str(each.get("content") or each.get("title") or "") for each in content["memories"]]
    else:
        texts = str(content.get("content") or content.get("text") or answer.text).splitlines()
    return tuple(int(found[1]) for text in texts if (found := _ID.search(text)))


ToolFault = Callable[[ToolRun, ServerProcess], Awaitable[None]]

TOOL_FAULTS: dict[str, ToolFault] = {
    "SIGKILL": ToolRun._kill,
    "SIGTERM": ToolRun._end,
    "SIGSTOP": ToolRun._stop,
    "cut": ToolRun._cut,
    "stall": ToolRun._stall,
    "refuse": ToolRun._refuse,
    "lost answers": ToolRun._lose_answers,
    "PostgreSQL restart": ToolRun._restart_postgres,
    "cut off": ToolRun._cut_off,
    "cut from PostgreSQL": ToolRun._cut_from_database,
    "cut from servers": ToolRun._cut_from_servers,
    "cut from callers": ToolRun._cut_from_callers,
    "clock": ToolRun._put_clock,
}

SPLITS = {"cut off": 25, "cut from PostgreSQL": 30, "cut from servers": 25, "cut from callers": 10, "SIGKILL": 10}
"""Where servers have ``rooms``."""

TOOL_WEIGHTS = {
    "SIGKILL": 20,
    "SIGTERM": 15,
    "SIGSTOP": 25,
    "cut": 8,
    "stall": 10,
    "refuse": 6,
    "lost answers": 8,
    "PostgreSQL restart": 8,
}
