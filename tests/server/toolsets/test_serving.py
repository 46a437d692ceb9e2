"""What holds for every toolset, whatever it translates: who is shown what, what a list costs, consent, quotas, logs.

Covers server.toolsets.old_tool and server.toolsets.registry.
"""

from __future__ import annotations

import json

import pytest

from auth.roles import Role
from server.call import Caller
from server.caller_views import PRESET_NAMES, first_preset
from server.dispatch import dispatch
from server.mcp_bridge.catalogue import ToolCatalogue
from server.settings import ENDPOINTS
from server.tool_spec import PRESETS, TOOLSETS, UNNAMED
from server.tools import discover
from server.toolsets import registry
from server.toolsets.serving import serve_old_tool
from tests.conftest import Opening, local
from tests.people import give_role
from tests.server.http.serving import MODERN, raw
from tests.server.toolsets.scripts import call, listing
from tests.work import some_of
from vaults.search import tokenizer

OURS = discover()
EVERY = discover(endpoints=ENDPOINTS)
each_toolset = pytest.mark.parametrize("toolset", registry.all_toolsets(), ids=lambda each: each.name)
on_the_site = pytest.mark.asyncio(loop_scope="session")


def listed(toolset, role, write_mode="auto"):
    page = ToolCatalogue(OURS).page((role, toolset.name, write_mode), None)
    return [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in page.tools]


def test_the_names_asked_for_are_those_there_are():
    assert [each.name for each in registry.all_toolsets()] == [*TOOLSETS]
    assert {first_preset(each) for each in PRESET_NAMES} == {*PRESETS, *TOOLSETS}


@each_toolset
def test_a_list_costs_no_more_than_the_one_the_system_publishes(toolset):
    shown = [{key: each[key] for key in ("name", "description", "inputSchema")} for each in listed(toolset, Role.ADMIN)]
    assert tokenizer.count_tokens(json.dumps(shown, ensure_ascii=False)) <= toolset.published_tokens


@each_toolset
def test_every_tool_stands_on_calls_of_ours_that_exist(toolset):
    for tool in toolset.tools:
        assert tool.description
        for action in tool.calls.values():
            name, _, argument = action.partition(" ")
            assert argument in EVERY.get(name).actions
        schema = tool.input_schema["properties"].get("action")
        assert (UNNAMED in tool.calls) == (schema is None)
        assert schema is None or set(schema["enum"]) == set(tool.calls)
        assert set(tool.hidden) <= set(tool.arguments.model_fields)


@each_toolset
def test_a_reader_is_shown_reading_tools_only(toolset):
    for tools in (listed(toolset, Role.READER), listed(toolset, Role.WRITER, "off")):
        assert tools
        assert all(each["annotations"]["readOnlyHint"] for each in tools)
    names = {each["name"] for each in listed(toolset, Role.READER)}
    assert names < {each["name"] for each in listed(toolset, Role.ADMIN)} or toolset.name == "nano-brain"


@each_toolset
def test_where_a_person_must_agree_writing_tools_take_their_word(toolset):
    for tool in listed(toolset, Role.WRITER, "ask"):
        writes = not tool["annotations"]["readOnlyHint"]
        assert ("confirmed" in tool["inputSchema"]["properties"]) == writes, tool["name"]


@on_the_site
@each_toolset
async def test_a_list_over_http_is_the_toolsets_alone(site, toolset):
    assert [each["name"] for each in await listing(site, toolset.name, "admin")] == [
        each.name for each in toolset.visible(OURS, Role.ADMIN, "auto")
    ]
    async with raw(site, "admin", toolset.name) as caller:
        greeting = caller.message("server/discover")
        told = (await caller.post(greeting, query=f"?tools={toolset.name}", era=MODERN)).json()["result"]
        assert told["instructions"] == toolset.instructions
        prompts = (await caller.post(caller.message("prompts/list"), query=f"?tools={toolset.name}")).json()["result"]
        assert prompts["prompts"] == []


@on_the_site
async def test_what_is_above_a_role_does_not_exist_for_it(site):
    for tool in ("mm_store", "mm_nothing"):
        answer = await call(site, "moltmind", tool, {"title": "x", "content": "y"}, role="reader")
        assert answer["message"] == f"Unknown tool: {tool}"


@on_the_site
async def test_a_reader_of_a_tool_with_actions_reads(site):
    names = {each["name"]: each for each in await listing(site, "flywheel", "reader")}
    actions = names["memory"]["inputSchema"]["properties"]["action"]["enum"]
    assert actions == ["get", "search", "list", "brief"]
    stored = {"action": "store", "key": "k", "value": "v", "type": "fact"}
    refused = await call(site, "flywheel", "memory", stored, role="reader")
    assert (refused["isError"], "needs the role writer" in refused["structuredContent"]["error"]) == (True, True)


@on_the_site
async def test_our_own_tools_still_answer_and_hints_name_none_of_them(site):
    async with raw(site, "writer", "moltmind") as caller:
        message = caller.message("tools/call", {"name": "recall", "arguments": {"query": "nothing here", "colour": 1}})
        error = (await caller.post(message, query="?tools=moltmind")).json()["result"]["structuredContent"]["error"]
    assert error["code"] == "invalid_argument"
    store = (await call(site, "moltmind", "mm_store", {"title": "x", "content": "y", "unheard": 1}))[
        "structuredContent"
    ]
    assert store["success"]


@on_the_site
@pytest.mark.parametrize("form", ["text", "structured", "both"])
async def test_each_form_of_an_answer_is_enough(site, form):
    async with raw(site, "writer", "moltmind") as caller:
        message = caller.message("tools/call", {"name": "mm_recall", "arguments": {"query": "nothing like it"}})
        answer = (await caller.post(message, query=f"?tools=moltmind&content={form}")).json()["result"]
    found = {"success": True, "results": [], "count": 0}
    assert form == "text" or answer["structuredContent"] == found
    assert form == "structured" or json.loads(answer["content"][0]["text"]) == found


def asker(services, toolset, caller):
    async def ask(name, /, **arguments):
        async def ours(who, tool, given):
            return await dispatch(services, who, tool, given)

        known = registry.toolset_of(toolset)
        return await serve_old_tool(services, known, known.get(name), caller, arguments, ours)

    return ask


def writer(services, **more):
    return Caller(local("ann"), "main", Role.WRITER, "http", preset="moltmind", **more)


async def granted(services):
    await give_role(services, "ann")


async def test_a_person_is_asked_before_anything_is_written(services):
    await granted(services)
    stored = {"title": "x", "content": "y"}
    ask = asker(services, "mempack", writer(services, write_mode="ask"))
    refused = await ask("mem_add_memory", **stored)
    assert refused.text == "write_mode=ask requires confirmed=true after user approval"
    assert (await ask("mem_add_memory", **stored, confirmed=True)).ok
    there = asker(services, "moltmind", writer(services, write_mode="ask", person="there"))
    assert "wants to store a memory" in (await there("mm_store", **stored)).question
    off = asker(services, "mempack", writer(services, write_mode="off"))
    assert (await off("mem_add_memory", **stored)).text.startswith("write tools disabled")


async def test_plans_bound_what_is_stored_in_the_words_of_the_free_tier(opening: Opening):
    async with opening({"limits.stores_per_day": 2}) as services:
        await granted(services)
        ask = asker(services, "moltmind", writer(services))
        for number in (1, 2):
            assert (await ask("mm_store", title=f"n{number}", content=f"text {number}")).content["success"]
        refused = (await ask("mm_store", title="n3", content="text 3")).content
        assert refused == {"success": False, "message": "Free tier limit: 2 stores per day reached. Resets tomorrow."}
        assert (await ask("mm_status")).content["usage"] == "Free: 0/day remaining"


async def test_calls_that_fit_nothing_count_against_the_rate(opening: Opening):
    async with opening({"limits.calls_per_minute": 3}) as services:
        await granted(services)
        ask = asker(services, "moltmind", writer(services))
        said = [(await ask("mm_store")).content["message"] for _ in range(5)]
        assert said[0] == "Validation error: title is required"
        assert said[-1].startswith("more than 3 calls in a minute")


async def test_the_activity_log_names_our_tool(services):
    await granted(services)
    await asker(services, "moltmind", writer(services))("mm_recall", query="x")
    from tests.people import rows

    events = await rows(services, "SELECT summary FROM events ORDER BY seq DESC LIMIT 1")
    assert events == [("recalled memories",)]


def odd_values(schema):
    """What a schema does not mean, and what it means at its edges."""
    kinds = {each.get("type") for each in (schema, *schema.get("anyOf", ()))}
    if "string" in kinds:
        enum = schema.get("enum", [])
        yield from (*enum, "", " ", "\x00", "\ud800", "x" * 3000, "../../etc/passwd", "#", '{"a":', "NOT AND OR \"'*")
    elif "array" in kinds:
        yield from ([], ["x" * 600], ["\x00"])
    elif "object" in kinds:
        yield from ({}, {"a": {"b": [None]}}, {"": "\x00"})
    else:
        yield from (0, -1, 10**12, 0.5)


@each_toolset
async def test_no_odd_argument_breaks_a_translation(services, toolset):
    await granted(services)
    ask = asker(services, toolset.name, Caller(local("ann"), "main", Role.WRITER, "http", preset=toolset.name))
    for tool in toolset.tools:
        plain = plain_arguments(tool)
        for action, name, odd in some_of(list(odd_calls(tool))):
            outcome = await ask(tool.name, **{**plain, **({"action": action} if action else {}), name: odd})
            assert outcome.code != "internal", (tool.name, action, name, odd)
            assert "inside the server" not in outcome.text, (tool.name, action, name, odd)


def odd_calls(tool):
    """Each argument of each action with each value that it does not mean."""
    for action in tool.input_schema["properties"].get("action", {}).get("enum", [None]):
        for name, schema in tool.arguments.model_json_schema()["properties"].items():
            for odd in odd_values(schema) if name != "action" else ("fly", 7):
                yield action, name, odd


def plain_arguments(tool):
    """Each argument with a value that fits, if one does."""
    names = tool.arguments.model_json_schema()["properties"]
    plain = {name: next((each for each in ("x", 1, ["x"], {"a": 1}) if fits(tool, name, each)), None) for name in names}
    return {name: each for name, each in plain.items() if each is not None}


def fits(tool, name, value):
    adapter = tool.arguments.model_fields[name]
    from pydantic import TypeAdapter, ValidationError

    try:
        TypeAdapter(adapter.annotation).validate_python(value, strict=True)
    except ValidationError:
        return False
    return True
