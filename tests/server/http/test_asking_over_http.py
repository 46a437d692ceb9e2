"""A person asked through the protocol, and everything a caller may try instead of asking.

Covers server.mcp_bridge.elicitation.
"""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
import pytest_asyncio
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server import request_state
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

from auth.roles import Role
from server.remote_vault.vault_client import connect_to_vault
from tests.server.http.serving import LATEST_HANDSHAKE, MODERN, browser, raw, served
from vaults import registry
from vaults.domain.import_export.source_import import ImportPlan
from vaults.registry import VaultRules
from vaults.sources.jsonl import SOURCE

pytestmark = pytest.mark.asyncio(loop_scope="module")

CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
FORMS = {CAPABILITIES: {"elicitation": {"form": {}}}}
CONTENT = {"content": "Bitterns boom at dusk"}
ACCEPTED = {"consent": {"action": "accept", "content": {}}}


async def prepare(ground):
    await ground.control.write(lambda tx: registry.set_rules(tx, "asking", VaultRules(write_mode="ask")))
    await ground.control.write(lambda tx: registry.set_rules(tx, "asking-too", VaultRules(write_mode="ask")))
    return {"writer": await ground.token("writer", Role.WRITER, "asking", "asking-too", "main")}


VAULTS = ("main", "asking", "asking-too")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def site(tmp_path_factory):
    async with served(tmp_path_factory.mktemp("asking"), vaults=VAULTS, prepare=prepare) as running:
        yield running


class Person:
    """Answers what a client shows, and remembers it."""

    def __init__(self, action):
        self.action = action
        self.asked = []

    async def __call__(self, context, params):
        self.asked.append(params)
        return ElicitResult(action=self.action)


async def request(caller, tool, arguments, **more):
    """A call of a client that can show forms; its whole answer."""
    params = {"name": tool, "arguments": arguments, "_meta": FORMS, **more}
    return (await caller.post(caller.message("tools/call", params))).json()


async def living(caller, word):
    found = (await caller.call("recall", {"query": word, "mode": "keyword"}))["structuredContent"]
    return len(found["hits"])


async def asked_state(caller, tool="remember", arguments=CONTENT):
    result = (await request(caller, tool, arguments))["result"]
    assert result["resultType"] == "input_required"
    return result["requestState"]


async def connected(site, person, vault, mode=MODERN, query=""):
    http = browser(headers=site.headers("owner"))
    transport = streamable_http_client(f"{site.url}/v/{vault}/mcp{query}", http_client=http)
    return http, Client(transport, mode=mode, cache=None, elicitation_callback=person)


async def test_a_person_who_agrees_is_asked_once_and_the_write_happens(site):
    person = Person("accept")
    http, client = await connected(site, person, "asking")
    async with http, client:
        stored = await client.call_tool("remember", {"content": "Snipes drum in the marsh"})
        assert stored.structured_content["id"]
        assert (await client.call_tool("recall", {"query": "snipes"})).structured_content["total"] == 1
    assert len(person.asked) == 1
    assert person.asked[0].message.splitlines()[:2] == [
        "An agent wants to store a memory in the vault asking (tool remember).",
        "- content: 'Snipes drum in the marsh'",
    ]
    assert person.asked[0].requested_schema["properties"] == {}


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_person_who_does_not_agree_is_obeyed(site, action):
    http, client = await connected(site, Person(action), "asking")
    async with http, client:
        refused = await client.call_tool("remember", {"content": f"Ospreys {action}", "confirmed": True})
        assert refused.structured_content["error"]["code"] == "confirmation_required"
        assert "did not agree" in refused.content[0].text
        assert (await client.call_tool("recall", {"query": action, "mode": "keyword"})).structured_content["hits"] == []


async def test_what_destroys_is_asked_about_where_writing_is_free(site):
    person = Person("accept")
    http, client = await connected(site, person, "main")
    async with http, client:
        stored = (await client.call_tool("remember", {"content": "Rails hide"})).structured_content["id"]
        assert not person.asked
        purged = await client.call_tool("memory_forget", {"ids": [stored], "purge": True})
        assert purged.structured_content == {"forgotten": [stored], "purged": True}
    assert [each.message.splitlines()[0] for each in person.asked] == [
        "An agent wants to delete memories for good in the vault main (tool memory_forget)."
    ]


async def test_a_known_envelope_goes_no_way_round_the_question(site):
    async with raw(site, "owner") as owner:
        stored = [(await request(owner, "remember", {"content": f"Crake {n}"}))["result"] for n in range(3)]
        ids = [each["structuredContent"]["id"] for each in stored]
        answer = (await request(owner, "memory_forget", {"ids": ids, "purge": True}))["result"]
        assert answer["resultType"] == "input_required"
        again = (await request(owner, "memory_forget", {"ids": ids, "purge": True, "confirmed": True}))["result"]
        assert again["resultType"] == "input_required", "the caller's own word does not count"
        assert "structuredContent" not in again
        assert len((await request(owner, "memory_get", {"ids": ids}))["result"]["structuredContent"]["memories"]) == 3


@pytest.mark.parametrize("era", [MODERN, LATEST_HANDSHAKE])
async def test_of_who_cannot_be_asked_its_word_is_taken(site, era):
    async with raw(site, "owner", "asking") as owner:
        content = {"content": f"Grebes dance {era}"}
        refused = await owner.call("remember", content, era)
        assert refused["structuredContent"]["error"]["code"] == "confirmation_required"
        assert "confirmed: true" in refused["structuredContent"]["error"]["hint"]
        assert (await owner.call("remember", content | {"confirmed": True}, era))["structuredContent"]["id"]


@pytest.mark.parametrize("elicitation", [None, {"url": {}}])
async def test_who_can_show_no_form_cannot_be_asked(site, elicitation):
    declared = {} if elicitation is None else {"elicitation": elicitation}
    async with raw(site, "owner", "asking") as owner:
        params = {"name": "remember", "arguments": CONTENT, "_meta": {CAPABILITIES: declared}}
        result = (await owner.post(owner.message("tools/call", params))).json()["result"]
        assert result["structuredContent"]["error"]["code"] == "confirmation_required"


async def test_an_answer_holds_for_what_was_asked_and_nothing_else(site):
    async with raw(site, "owner", "asking") as owner, raw(site, "owner", "asking-too") as beside:
        state = await asked_state(owner)
        async with raw(site, "writer", "asking") as writer:
            attempts = [
                (owner, "remember", {"content": "Something else"}),
                (owner, "remember", CONTENT | {"confirmed": True}),
                (owner, "note_write", {"path": "a", **CONTENT}),
                (beside, "remember", CONTENT),
                (writer, "remember", CONTENT),
            ]
            for caller, tool, arguments in attempts:
                answer = await request(caller, tool, arguments, requestState=state, inputResponses=ACCEPTED)
                assert answer["error"]["code"] == -32602, (tool, arguments)
                assert answer["error"]["data"] == {"reason": "invalid_request_state"}
            assert [await living(caller, "bitterns") for caller in (owner, beside, writer)] == [0, 0, 0]
        done = await request(owner, "remember", CONTENT, requestState=state, inputResponses=ACCEPTED)
        assert done["result"]["structuredContent"]["id"]


@pytest.mark.parametrize("forged", ["consent", "v1.AAAA", "v1." + "A" * 200, "", "v2.x", "\u00fc"])
async def test_forged_state_does_nothing(site, forged):
    async with raw(site, "owner", "asking") as owner:
        content = {"content": "Forgers fly"}
        answer = await request(owner, "remember", content, requestState=forged, inputResponses=ACCEPTED)
        assert answer["error"]["code"] == -32602
        assert await living(owner, "forgers") == 0


async def test_an_answer_nobody_asked_for_is_none(site):
    async with raw(site, "owner", "asking") as owner:
        content = {"content": "Harriers quarter"}
        answer = await request(owner, "remember", content, inputResponses=ACCEPTED)
        assert answer["result"]["resultType"] == "input_required"
        state = answer["result"]["requestState"]
        for answers in ({}, {"other": {"action": "accept"}}, {"consent": {"roots": []}}):
            again = await request(owner, "remember", content, requestState=state, inputResponses=answers)
            assert again["result"]["resultType"] == "input_required"
        tampered = state[:-3] + ("AAA" if state[-3:] != "AAA" else "BBB")
        refused = await request(owner, "remember", content, requestState=tampered, inputResponses=ACCEPTED)
        assert refused["error"]["code"] == -32602
        assert await living(owner, "harriers") == 0


async def test_an_answer_that_comes_too_late_is_none(site, monkeypatch):
    async with raw(site, "owner", "asking") as owner:
        content = {"content": "Latecomers land"}
        state = await asked_state(owner, arguments=content)
        now = request_state.time.time()
        monkeypatch.setattr(request_state, "time", SimpleNamespace(time=lambda: now + 601))
        refused = await request(owner, "remember", content, requestState=state, inputResponses=ACCEPTED)
        assert refused["error"]["code"] == -32602
        assert await living(owner, "latecomers") == 0


async def test_a_refusal_whose_state_was_dropped_is_asked_anew(site):
    async with raw(site, "owner", "asking") as owner:
        declined = {"consent": {"action": "decline"}}
        state = await asked_state(owner)
        said = await request(owner, "remember", CONTENT, requestState=state, inputResponses=declined)
        assert said["result"]["structuredContent"]["error"]["code"] == "confirmation_required"
        assert await asked_state(owner)


async def test_the_url_can_only_be_stricter(site):
    async with raw(site, "owner") as owner, raw(site, "owner", "asking") as asking:

        async def answered(caller, query, arguments):
            message = caller.message("tools/call", {"name": "remember", "arguments": arguments})
            return (await caller.post(message, query=query)).json()["result"]["structuredContent"]

        assert (await answered(owner, "?write_mode=ask", CONTENT))["error"]["code"] == "confirmation_required"
        assert (await answered(owner, "?write_mode=ask&tools=full", CONTENT | {"confirmed": True}))["id"]
        assert (await answered(owner, "?write_mode=off", CONTENT))["error"]["code"] == "read_only"
        assert (await answered(asking, "?write_mode=auto", CONTENT))["error"]["code"] == "confirmation_required"
        assert (await answered(owner, "?write_mode=auto", {"content": "Ruffs lek"}))["id"]
        off = (await owner.post(owner.message("tools/list"), query="?tools=full&write_mode=off")).json()
        assert all(tool["annotations"]["readOnlyHint"] for tool in off["result"]["tools"])
        for query in ("?write_mode=never", "?write_mode=", "?write_mode=ask&write_mode=off"):
            refused = await owner.post(owner.message("tools/list"), query=query)
            assert refused.status_code == 400
            assert "write_mode must be one of auto, ask, off" in refused.json()["error"]["message"]


async def test_arguments_that_are_not_shown_are_taken(site):
    http, client = await connected(site, Person("accept"), "main")
    async with http, client:
        shown = {tool.name: tool.input_schema["properties"] for tool in (await client.list_tools()).tools}
        assert "session" not in shown["recall"]
        assert "keywords" not in shown["remember"]
        stored = await client.call_tool("remember", {"content": "Divers wail", "keywords": ["loon"], "author": "Ann"})
        assert not stored.is_error
        found = await client.call_tool("recall", {"query": "loon", "tiers": ["warm"], "min_score": 0.0})
        assert [hit["author"] for hit in found.structured_content["hits"]] == ["Ann"]


async def test_an_answer_holds_in_another_process_and_after_a_restart(tmp_path):
    data = tmp_path / "data"
    async with served(data, vaults=("asking",), prepare=_rule_asking) as first:
        async with raw(first, "owner", "asking") as owner:
            state = await asked_state(owner)
        token = first.tokens
    async with served(data, vaults=()) as second:
        second.tokens |= token
        async with raw(second, "owner", "asking") as owner:
            done = await request(owner, "remember", CONTENT, requestState=state, inputResponses=ACCEPTED)
            assert done["result"]["structuredContent"]["id"]
    async with served(tmp_path / "elsewhere", vaults=("asking",), prepare=_rule_asking) as foreign:
        async with raw(foreign, "owner", "asking") as owner:
            refused = await request(owner, "remember", CONTENT, requestState=state, inputResponses=ACCEPTED)
            assert refused["error"]["code"] == -32602


async def _rule_asking(ground):
    await ground.control.write(lambda tx: registry.set_rules(tx, "asking", VaultRules(write_mode="ask")))
    return {}


async def test_many_may_be_asked_at_once(site):
    async with raw(site, "owner", "asking") as owner:
        texts = [{"content": f"Terns dive number {number}"} for number in range(8)]
        states = await asyncio.gather(*(asked_state(owner, arguments=text) for text in texts))
        crossed = await asyncio.gather(
            *(
                request(owner, "remember", text, requestState=state, inputResponses=ACCEPTED)
                for text, state in zip(texts, reversed(states), strict=True)
            )
        )
        assert {each["error"]["code"] for each in crossed} == {-32602}


async def test_whoever_imports_is_the_person(site, tmp_path):
    token, lines = tmp_path / "token", tmp_path / "memories.jsonl"
    token.write_text(site.tokens["writer"])
    lines.write_text('{"content": "Wagtails wag", "archived_at": "2026-01-01T00:00:00Z"}\n{"content": "Wrens sing"}\n')
    async with connect_to_vault(site.url, token, "asking") as far:
        tally = await far.push(ImportPlan(SOURCE, lines), lambda _: None)
    assert (tally.stored, tally.done) == (2, lines.stat().st_size)


async def test_a_client_learns_that_its_state_is_no_good(site):
    http, client = await connected(site, Person("accept"), "asking")
    async with http, client:
        with pytest.raises(MCPError, match="requestState"):
            await client.session.call_tool("remember", CONTENT, request_state="made up", allow_input_required=True)
