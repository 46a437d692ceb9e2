"""What one server tells callers of different roles and presets when they connect, as it goes over the wire.

Covers server.mcp_bridge.instructions_middleware.
"""

from __future__ import annotations

import pytest
import pytest_asyncio

from auth.roles import Role
from tests.server.http.serving import ERAS, MODERN, raw, served

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def prepare(ground):
    return {role.label: await ground.token(role.label, role, "main") for role in Role}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def site(tmp_path_factory):
    async with served(tmp_path_factory.mktemp("views"), prepare=prepare) as running:
        yield running


def greeting(caller, era):
    if era == MODERN:
        return caller.message("server/discover", era=era)
    client = {"name": "t", "version": "0"}
    return caller.message("initialize", {"protocolVersion": era, "capabilities": {}, "clientInfo": client}, era=era)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("subject", ["reader", "writer", "admin"])
@pytest.mark.parametrize("query", ["", "?write_mode=ask", "?write_mode=off"])
async def test_the_default_listing_is_24_kb_at_most(site, era, subject, query):
    async with raw(site, subject) as caller:
        answer = await caller.post(caller.message("tools/list", era=era), query=query, era=era)
        assert all(tool["outputSchema"]["properties"] for tool in answer.json()["result"]["tools"])
        assert len(answer.content) <= 24_000


@pytest.mark.parametrize("era", ERAS)
async def test_the_instructions_speak_of_the_tools_this_caller_is_shown(site, era):
    told = {}
    for subject, query in (("reader", ""), ("writer", ""), ("writer", "?tools=notes"), ("admin", "?write_mode=ask")):
        async with raw(site, subject) as caller:
            answer = await caller.post(greeting(caller, era), query=query, era=era)
            told[subject, query] = answer.json()["result"]["instructions"]
    assert len(set(told.values())) == 4
    assert "session_save" not in told["reader", ""]
    assert "session_save" in told["writer", ""]
    assert "checkpoint" not in told["writer", ""]
    assert "checkpoint" in told["writer", "?tools=notes"]
    assert "confirmed: true" in told["admin", "?write_mode=ask"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_that_holds_answers_against_the_listing_takes_them(site, era):
    """The SDK refuses a result that does not fit the output schema it was given."""
    async with site.client("writer", mode=era) as client:
        await client.list_tools()
        stored = (await client.call_tool("remember", {"content": "Herons nest in the reeds"})).structured_content
        for tool, arguments in (
            ("recall", {"query": "herons"}),
            ("search", {"query": "herons"}),
            ("memory_get", {"ids": [stored["id"]]}),
            ("fetch", {"id": stored["id"]}),
            ("context", {}),
            ("session_resume", {}),
            ("session_save", {"summary": "looked at birds"}),
            ("status", {}),
        ):
            assert not (await client.call_tool(tool, arguments)).is_error, tool
