"""Three servers set up by the words of docs/cluster.md, and what operators do to them, while two agents work.

``make cluster``. Prints the verdict. Covers tests.cluster.balancer, tests.cluster.working_agents,
tests.cluster.documented_setup.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.balancer import balanced
from tests.cluster.documented_setup import set_up_three
from tests.cluster.installation import Installation, ServerProcess
from tests.cluster.postgres_pair import PostgresPair, running_pair
from tests.cluster.working_agents import NOTE, AnsweredCall, AnsweredWrite, WorkingAgent, ids_in
from tests.kept_ports import kept_port
from tests.server.cli.command import ENVIRONMENT
from tests.server.http.serving import LATEST_HANDSHAKE, MODERN
from tests.work import PROGRAM_PATIENCE_S

pytestmark = pytest.mark.cluster

VAULT = "research"
Held = dict[str, Counter[str]]
"""How often each id stands there, by kind."""


async def test_two_agents_lose_nothing_whatever_operators_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_pair() as pair, kept_port() as front:
        async with set_up_three(tmp_path, pair, front, VAULT) as three, balanced(three.servers, front):
            eras = {"ann": MODERN, "bob": LATEST_HANDSHAKE}
            agents = await asyncio.gather(*(hire(three, front, *each) for each in eras.items()))
            await agents[0].ask("note_write", {"path": NOTE, "content": "# Log\n", "mode": "create"})
            story = Story(three, pair, agents)
            await story.go()
            held, single, *said = await asyncio.gather(
                listed(agents[0].ask),
                listed(partial(call, story.exported)),
                three.command("audit", "verify"),
                three.command("doctor"),
            )
    writes = [each for agent in agents for each in agent.writes]
    lost, doubled = compare(writes, held)
    missing, _ = compare([each for each in writes if each.at < story.exported_at], single)
    with capsys.disabled():
        print(f"\n{story.verdict()}: {len(lost)} lost, {len(doubled)} doubled, {len(missing)} missing in the export")
        print(*story.lines(), *said, sep="\n")
    assert (lost, doubled, missing) == ([], [], [])
    assert [each.wrong for each in agents] == [[], []]
    assert len(writes) > 20


@dataclass
class Story:
    """What operators do, one thing after the other, while the agents work. ``steps``: what, and from when on."""

    three: Installation
    pair: PostgresPair
    agents: Sequence[WorkingAgent]
    steps: list[tuple[str, float]] = field(default_factory=list)

    async def go(self) -> None:
        done = asyncio.Event()
        work = [asyncio.create_task(each.work(done)) for each in self.agents]
        try:
            for name, step in (
                ("nothing", _nothing),
                ("kill -9 of the vault's server", Story._kill),
                ("cluster leave of it, and a restart", Story._drain),
                ("SIGTERM of it", Story._end),
                ("kill -9 of PostgreSQL's primary", Story._fail_over),
                ("cluster export of the vault", Story._export),
            ):
                self.steps.append((name, time.monotonic()))
                await step(self)
                await self._answered_again()
        finally:
            done.set()
            await asyncio.gather(*work)

    def verdict(self) -> str:
        calls = self._calls()
        retried = sum(bool(each.failures) for each in calls)
        longest = max(each.took for each in calls)
        return f"{len(calls):,} calls of two agents, {retried} retried, the longest {longest:.1f} s"

    def lines(self) -> Iterator[str]:
        """What callers saw of each step: of the calls that were answered then."""
        ends = [began for _, began in self.steps[1:]] + [math.inf]
        for (name, began), end in zip(self.steps, ends, strict=True):
            calls = [each for each in self._calls() if began <= each.ended < end]
            longest = max(calls, key=lambda each: each.took)
            failures = Counter(failure for each in calls for failure in each.failures)
            yield f"{name}: {len(calls)} calls, the longest {longest.took:.1f} s ({longest.tool}), {dict(failures)}"

    async def _kill(self) -> None:
        holder = await holder_of(self.three)
        await holder.kill()
        await self._answered_again()
        await restart(holder)

    async def _drain(self) -> None:
        holder = await holder_of(self.three)
        await self.three.command("cluster", "leave", holder.name)
        assert await holder_of(self.three) is not holder
        await holder.end()
        await restart(holder)

    async def _end(self) -> None:
        holder = await holder_of(self.three)
        await holder.end()
        await self._answered_again()
        await restart(holder)

    async def _fail_over(self) -> None:
        await asyncio.to_thread(self.pair.kill)
        await asyncio.to_thread(self.pair.start)

    async def _export(self) -> None:
        """The vault as one machine has it, proven by ``verify``."""
        self.exported_at, folder = time.monotonic(), self.three.folder / "exported"
        await self.three.command("cluster", "export", "--to", str(folder), "--vault", VAULT)
        self.exported = Installation(self.three.folder, {**ENVIRONMENT, "STRONGROOM_DATA": str(folder)})
        await self.exported.command("verify", "--vault", VAULT)

    async def _answered_again(self) -> None:
        """Until each of them has two writes answered that began after now."""
        until = time.monotonic() + PROGRAM_PATIENCE_S
        for agent in self.agents:
            enough = len(agent.writes) + 2
            while len(agent.writes) < enough:
                assert time.monotonic() < until, f"{agent.name} is not answered"
                await asyncio.sleep(0.05)

    def _calls(self) -> list[AnsweredCall]:
        return [each for agent in self.agents for each in agent.calls]


async def _nothing(_story: Story) -> None:
    """What it costs when nothing is done."""


async def hire(three: Installation, front: int, name: str, era: str) -> WorkingAgent:
    token = await three.issue_token(f"agent-{name}", "writer", VAULT)
    return WorkingAgent(name, f"http://127.0.0.1:{front}/v/{VAULT}/mcp?tools=full", token, era)


async def restart(server: ServerProcess) -> None:
    server.start()
    await server.ready()


async def holder_of(three: Installation) -> ServerProcess:
    """The server that has the vault, once one has it: what is done is done to that one."""
    until = time.monotonic() + PROGRAM_PATIENCE_S
    while (name := three.holders().get(VAULT)) is None:
        assert time.monotonic() < until, "nobody has the vault"
        await asyncio.sleep(0.05)
    return next(each for each in three.servers if each.name == name)


async def listed(ask: Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]) -> Held:
    """What the vault shows."""
    memories: list[str] = []
    asked = {"order": "oldest", "limit": 200, "max_tokens": 100_000}
    while asked:
        page = await ask("memory_list", asked)
        memories += [each for memory in page["memories"] for each in dict.fromkeys(ids_in(memory))]
        asked = {**asked, "cursor": page["cursor"]} if page.get("cursor") else {}
    note = await ask("note_read", {"path": NOTE, "part": "full", "max_tokens": 100_000})
    return {"memory": Counter(memories), "line": Counter(ids_in(note["text"]))}


async def call(installation: Installation, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    said = await installation.command("call", tool, json.dumps(arguments), "--vault", VAULT)
    return dict(json.loads(said))


def compare(writes: list[AnsweredWrite], held: Held) -> tuple[list[str], list[str]]:
    """Those that are not there, and all that is there more than once."""
    lost = [each.id for each in writes if not held[each.kind][each.id]]
    doubled = [id_ for counts in held.values() for id_, times in counts.items() if times > 1]
    return lost, doubled
