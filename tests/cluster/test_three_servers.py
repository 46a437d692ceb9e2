"""Three real servers answer as one does, whichever of them is asked; and lose nothing, whatever becomes of them.

``make cluster``. Prints what was done, and the verdict. Covers tests.cluster.installation.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.cluster.grown_sets import check_grown, summary
from tests.cluster.installation import Installation, ServerProcess, installed
from tests.cluster.postgres_pair import running_pair
from tests.cluster.postgres_server import running_postgres
from tests.cluster.steady_callers import call_until
from tests.cluster.tool_run import ToolRun
from tests.cluster.tool_script import Recording, differences, steps
from tests.contracts.test_isolation import TOOLS
from tests.server.http.serving import ERAS, LATEST_HANDSHAKE, browser
from tests.work import PROGRAM_PATIENCE_S

pytestmark = pytest.mark.cluster

FAULTS = int(os.environ.get("CLUSTER_FAULTS", "60"))
VAULTS = int(os.environ.get("CLUSTER_VAULTS", "30"))
SEED = int(os.environ.get("CLUSTER_SEED", "1"))
REVOKED_S = 5.0
TAKEN_OVER = 300


async def test_every_tool_answers_through_any_of_three_as_through_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_postgres() as postgres:
        async with (
            installed(tmp_path / "one", ["main"]) as one,
            installed(tmp_path / "three", ["main"], servers=3, database=postgres.create_database()) as three,
        ):
            wrong = await differences(Recording(one), Recording(three))
    with capsys.disabled():
        print(
            f"\n{len(list(steps())):,} calls of {len(TOOLS)} tools each way: {len(wrong)} answers differ",
            *wrong,
            sep="\n",
        )
    assert wrong == []


@pytest.mark.parametrize("era", ERAS)
async def test_the_sdks_client_sees_one_vault_through_each_of_three(tmp_path: Path, era: str) -> None:
    with running_postgres() as postgres:
        async with installed(tmp_path, ["main"], servers=3, database=postgres.create_database()) as three:
            for server in three.servers:
                async with client(server.url, three.token, era) as connected:
                    assert (await connected.list_tools()).tools
                    stored = await connected.call_tool("remember", {"content": f"{server.name} took what {era} said."})
                    assert not stored.is_error
            for server in three.servers:
                async with client(server.url, three.token, era) as connected:
                    listed = str((await connected.call_tool("memory_list", {})).structured_content)
                    assert all(f"{each.name} took what {era} said." in listed for each in three.servers)


async def test_callers_of_tools_lose_nothing_and_are_shown_nothing_old(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_postgres() as postgres:
        await run_and_check(ToolRun(postgres, tmp_path, VAULTS, max(10, FAULTS // 3), SEED), capsys)


async def test_callers_of_tools_lose_nothing_when_postgresql_fails_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = {"PostgreSQL restart": 60, "SIGKILL": 20, "SIGTERM": 20}
    with running_pair() as pair:
        await run_and_check(ToolRun(pair, tmp_path, VAULTS, max(5, FAULTS // 10), SEED, weights), capsys)
        assert pair.fail_overs


async def test_a_rolling_restart_fails_no_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failed: Counter[str] = Counter()
    with running_postgres() as postgres:
        names = [f"vault-{number}" for number in range(12)]
        async with installed(tmp_path, names, servers=3, database=postgres.create_database()) as three:
            done = asyncio.Event()
            callers = [asyncio.create_task(call_until(done, three, names, number, failed)) for number in range(6)]
            for server in three.servers:
                server.is_offered = False  # what a balancer does that was told
                await server.end()
                server.start()
                await server.ready()
                server.is_offered = True
            done.set()
            answered = sum(await asyncio.gather(*callers))
    with capsys.disabled():
        print(f"\na rolling restart of three: {answered:,} calls answered, {failed.total()} failed {dict(failed)}")
    assert answered
    assert not failed


async def test_a_revoked_grant_is_refused_by_every_server_within_seconds(tmp_path: Path) -> None:
    with running_postgres() as postgres:
        async with installed(tmp_path, ["main"], servers=3, database=postgres.create_database()) as three:
            token = await three.issue_token("guest", "writer", "main")
            for server in three.servers:
                assert (await three.call(server, "main", "memory_list", {}, token)).code is None
            await three.command("grant", "remove", "guest", "main")
            loop = asyncio.get_running_loop()
            until = loop.time() + REVOKED_S
            for server in three.servers:
                while await is_let_in(three, server, token):
                    assert loop.time() < until, f"{server.name} lets in who was revoked"
                    await asyncio.sleep(0.05)


async def test_three_hundred_vaults_of_a_killed_server_are_answered_by_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_postgres() as postgres:
        names = [f"vault-{number}" for number in range(TAKEN_OVER)]
        async with installed(
            tmp_path, names, servers=3, database=postgres.create_database(), cluster__lease_s=1
        ) as three:
            for name in names:
                assert (await three.ask(name, "remember", {"content": f"What {name} is for."})).code is None
            await three.servers[0].kill()
            await asyncio.gather(*(asyncio.create_task(until_there(three, name)) for name in names))


async def run_and_check(run: ToolRun, capsys: pytest.CaptureFixture[str]) -> None:
    last = await run.go()
    violations = check_grown(run.operations, last)
    said = Counter(each.said for each in run.operations if each.outcome in ("refused", "bug"))
    with capsys.disabled():
        print(f"\n{run.injected.total()} faults: {dict(run.injected.most_common())}")
        print(summary(run.operations, violations))
        print(*(f"{times:,} times: {words}" for words, times in said.most_common(8)), sep="\n")
    assert violations == []
    assert any(each.outcome == "ok" and each.added is not None for each in run.operations)


@asynccontextmanager
async def client(url: str, token: str, era: str) -> AsyncIterator[Client]:
    """The SDK's, of one server."""
    async with browser(headers={"authorization": f"Bearer {token}"}) as http:
        transport = streamable_http_client(f"{url}/v/main/mcp", http_client=http)
        async with Client(transport, mode="legacy" if era == LATEST_HANDSHAKE else era, cache=None) as connected:
            yield connected


async def is_let_in(installation: Installation, server: ServerProcess, token: str) -> bool:
    try:
        answer = await installation.call(server, "main", "memory_list", {}, token)
    except LookupError:
        return False
    return answer.code is None


async def until_there(installation: Installation, name: str) -> None:
    """Until it shows what was stored."""
    loop = asyncio.get_running_loop()
    until = loop.time() + PROGRAM_PATIENCE_S
    while True:
        try:
            answer = await installation.ask(name, "memory_list", {})
        except (httpx2.TransportError, LookupError):
            answer = None
        if answer is not None and answer.code is None:
            assert f"What {name} is for." in answer.text
            return
        assert loop.time() < until, f"{name}: {answer}"
        await asyncio.sleep(0.2)
