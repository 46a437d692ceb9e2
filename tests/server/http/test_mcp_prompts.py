"""Prompts, and the latest session and handoff, over the wire."""

from __future__ import annotations

import json

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference

from auth.roles import Role
from tests.server.http.serving import ERAS, raw, served
from tests.server.http.test_mcp_streams import listen

HANDOFF = {"goal": "ship", "current_state": "half done", "next_action": "tag it"}
ABSENT = (-32602, "Resource not found")


async def prepare(ground):
    return {
        "reader": await ground.token("reader", Role.READER, "main"),
        "writer": await ground.token("writer", Role.WRITER, "main"),
        "stranger": await ground.token("stranger", Role.WRITER, "other"),
    }


@pytest.fixture
async def site(tmp_path):
    async with served(tmp_path / "data", vaults=("main", "other"), prepare=prepare) as running:
        yield running


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_lists_completes_and_takes_prompts(site, era):
    async with site.client("writer", mode=era) as client:
        found = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
        assert list(found) == ["resume", "handoff", "save_session", "onboard"]
        assert [each.name for each in found["resume"].arguments] == ["thread", "budget"]
        assert not any(each.required for prompt in found.values() for each in prompt.arguments or ())
        await client.call_tool(
            "remember", {"content": "Herons nest in the reeds", "type": "decision", "thread": "reeds"}
        )
        ref = PromptReference(type="ref/prompt", name="resume")
        completion = await client.complete(ref, {"name": "thread", "value": "re"})
        assert completion.completion.values == ["reeds"]
        got = await client.get_prompt("resume", {"thread": "reeds", "budget": "500"})
        assert got.description == found["resume"].description
        assert [message.role for message in got.messages] == ["user"]
        assert "Herons nest in the reeds" in got.messages[0].content.text


@pytest.mark.parametrize("era", ERAS)
async def test_a_reader_is_shown_what_reads_and_the_rest_is_unknown(site, era):
    async with site.client("reader", mode=era) as client:
        assert [each.name for each in (await client.list_prompts()).prompts] == ["resume", "onboard"]
        said = []
        for name in ("handoff", "no_such"):
            with pytest.raises(MCPError) as refused:
                await client.get_prompt(name, {})
            said.append((refused.value.code, refused.value.message.replace(name, "x")))
        assert said == [(-32602, "Unknown prompt: x")] * 2
        with pytest.raises(MCPError, match="budget must be a number of tokens") as refused:
            await client.get_prompt("resume", {"budget": "0"})
        assert refused.value.code == -32602


@pytest.mark.parametrize("era", ERAS)
async def test_the_list_is_answered_from_what_is_kept_and_roles_stay_apart(site, era):
    async with raw(site, "writer") as writer, raw(site, "reader") as reader:
        answers = [
            (await writer.post(writer.message("prompts/list", era=era, number=number), era=era)).content
            for number in (1, "other")
        ]
        assert answers[0].replace(b'"id":1', b'"id":"other"', 1) == answers[1]
        assert b"save_session" in answers[0]
        assert b"save_session" not in (await reader.post(reader.message("prompts/list", era=era), era=era)).content
        refused = await writer.post(writer.message("prompts/list", {"cursor": "x"}, era), era=era)
        assert refused.json()["error"]["code"] == -32602


@pytest.mark.parametrize("era", ERAS)
async def test_the_latest_session_and_handoff_are_resources(site, era):
    async with site.client("writer", mode=era) as writer, site.client("reader", mode=era) as reader:
        for uri in ("session://latest", "handoff://latest"):
            assert uri in [entry.uri for entry in (await reader.list_resources()).resources]
            with pytest.raises(MCPError) as refused:
                await reader.read_resource(uri)
            assert (refused.value.code, refused.value.message) == ABSENT
        made = (await writer.call_tool("handoff_create", HANDOFF)).structured_content["handoff"]
        read = (await reader.read_resource("handoff://latest")).contents[0]
        assert read.mime_type == "application/json"
        assert json.loads(read.text)["id"] == made["id"]
        await writer.call_tool("session_save", {"summary": "shipped half of it"})
        session = json.loads((await reader.read_resource("session://latest")).contents[0].text)
        assert (session["who"], session["summary"]) == ("writer", "shipped half of it")
        async with site.client("stranger", "other", mode=era) as stranger:
            with pytest.raises(MCPError) as refused:
                await stranger.read_resource("handoff://latest")
            assert (refused.value.code, refused.value.message) == ABSENT


async def test_listeners_hear_of_a_handoff_and_of_a_saved_session(site):
    uris = ["session://latest", "handoff://latest"]
    async with (
        raw(site, "writer") as writer,
        raw(site, "reader") as reader,
        listen(reader, resourceSubscriptions=uris) as heard,
    ):
        assert (await heard.next())["method"] == "notifications/subscriptions/acknowledged"
        made = (await writer.call("handoff_create", HANDOFF))["structuredContent"]["handoff"]["id"]
        assert (await heard.next())["params"]["uri"] == "handoff://latest"
        await writer.call("session_save", {"summary": "done"})
        assert (await heard.next())["params"]["uri"] == "session://latest"
        await writer.call("handoff_load", {})
        await writer.call("handoff_load", {"id": made, "accept": True})
        assert (await heard.next())["params"]["uri"] == "handoff://latest"
