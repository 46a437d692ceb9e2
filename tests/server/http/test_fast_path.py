"""Calls that go round the SDK: they must answer as it does, and whatever is odd must not go that way.

Covers server.http.mcp_route. That every tool answers alike is for test_fast_path_setting.
"""

from __future__ import annotations

import asyncio
import json
import re

import pytest
import pytest_asyncio
from pydantic_core import from_json

from auth.roles import Role
from server.http import mcp_route
from server.http.fast_path import parse_tool_call
from server.http.request_body import JsonBody
from tests.server.http.serving import BOTH, LATEST_HANDSHAKE, MODERN, enveloped, raw, served
from tests.work import PATIENCE_S

pytestmark = pytest.mark.asyncio(loop_scope="module")

HEADERS = {
    "content-type": "application/json",
    "accept": BOTH,
    "mcp-protocol-version": MODERN,
    "mcp-method": "tools/call",
    "mcp-name": "memory_get",
}
GOOD = enveloped("tools/call", {"name": "memory_get", "arguments": {"ids": ["x"]}})


async def prepare(ground):
    return {"reader": await ground.token("reader", Role.READER, "main")}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def site(tmp_path_factory):
    data = tmp_path_factory.mktemp("short")
    async with served(data, prepare=prepare, application={"extra_tools": ("tests.server.http.odd_tools",)}) as running:
        yield running


@pytest.fixture
def ways(monkeypatch):
    """The way each request took: True for the short one."""
    taken = []
    knows = mcp_route.FastPath.knows

    def noted(self, call):
        taken.append(knows(self, call))
        return taken[-1]

    monkeypatch.setattr(mcp_route.FastPath, "knows", noted)
    return taken


CALLS = [
    ("status", {}),
    ("remember", {"content": "Dippers walk under water — ünïcödé"}),
    ("recall", {"query": "dippers"}),
    ("recall", {"query": "x", "nonsense\ud800": 1}),
    ("recall", {}),
    ("memory_get", {"ids": ["gone"]}),
    ("fetch", {"id": "gone"}),
    ("noop", {}),
]


async def _looked(owner, era):
    """Until the vault has looked at its files: how far it is differs from call to call."""
    status = owner.message("tools/call", {"name": "status", "arguments": {}}, era, "looked")
    async with asyncio.timeout(PATIENCE_S):
        while True:
            told = (await owner.post(status, era=era)).json()["result"]["structuredContent"]
            if told["notes"]["state"] == "ready":
                return
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("era", [MODERN, LATEST_HANDSHAKE, "2025-06-18"])
@pytest.mark.parametrize(("name", "arguments"), CALLS)
@pytest.mark.parametrize("number", [7, "seven"])
async def test_both_ways_answer_alike(site, ways, monkeypatch, name, arguments, number, era):
    async with raw(site, "owner") as owner:
        await _looked(owner, era)
        message = owner.message("tools/call", {"name": name, "arguments": arguments}, era, number)
        await owner.post(message, era=era)
        short = await owner.post(message, era=era)
        if "\\ud800" in json.dumps(arguments) and era != MODERN:
            assert short.json()["error"]["code"] == -32700
            return
        assert ways[-1] is True
        monkeypatch.setattr(mcp_route.FastPath, "knows", lambda self, call: False)
        long = await owner.post(message, era=era)
    assert short.status_code == long.status_code == 200
    left, right = short.json(), long.json()
    for each in (left, right):  # what differs from call to call anyway
        for part in ("storage_bytes", "index", "sessions", "limits", "health"):
            each["result"]["structuredContent"].pop(part, None)
        if name == "status":
            each["result"].pop("content")  # it says how many calls went well
        for block in each["result"].get("content", ()):
            block["text"] = re.sub(r"</?\d{9}>", "<fence>", block["text"])
    assert left == right
    headers = [{k: v for k, v in a.headers.items() if k not in ("date", "content-length")} for a in (short, long)]
    assert headers[0] == headers[1]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("fetch", {"id": "a\ud800b"}),
        ("memory_get", {"ids": ["a\udc00b"]}),
        ("recall", {"query": "x", "tags\ud800": 1}),
        ("recall", {"query": "x", "types": ["\ud800"]}),
        ("remember", {"content": "x", "metadata": {"\ud800": "\udc00"}}),
    ],
)
async def test_half_a_character_never_comes_back(site, ways, name, arguments):
    async with raw(site, "owner") as owner:
        for era in (MODERN, LATEST_HANDSHAKE):
            await owner.call("status", era=era)
            ways.clear()
            message = owner.message("tools/call", {"name": name, "arguments": arguments}, era)
            answer = await owner.post(message, era=era)
            assert ways == ([True] if era == MODERN else [])
            told = from_json(answer.content)  # a strict parser: half a character fails
            assert told["result"]["isError"] if era == MODERN else told["error"]["code"] == -32700


def changed(**more):
    return {**GOOD, **more}


def params(**more):
    return {**GOOD, "params": {**GOOD["params"], **more}}


META = GOOD["params"]["_meta"]
ODD = [
    (changed(jsonrpc="1.0"), {}),
    (changed(id=None), {}),
    (changed(id=1.5), {}),
    (changed(id=True), {}),
    (changed(method="tools/list"), {}),
    (params(name="status"), {}),
    (params(arguments=[1]), {}),
    (params(_meta=None), {}),
    (params(_meta={}), {}),
    (params(_meta={**META, "io.modelcontextprotocol/protocolVersion": "2025-11-25"}), {}),
    (params(_meta={**META, "io.modelcontextprotocol/clientCapabilities": 5}), {}),
    ([GOOD], {}),
    ({k: v for k, v in GOOD.items() if k != "id"}, {}),
    (GOOD, {"mcp-name": "status"}),
    (GOOD, {"mcp-method": "tools/list"}),
    (GOOD, {"mcp-protocol-version": "2027-01-01"}),
    (GOOD, {"accept": "text/html"}),
    (GOOD, {"content-type": "text/plain"}),
]


@pytest.mark.parametrize(("message", "headers"), ODD)
async def test_what_the_sdk_refuses_is_refused_after_a_good_call_too(site, message, headers):
    async with raw(site, "owner") as owner:

        async def post():
            answer = await owner.http.post(owner.path, content=json.dumps(message), headers=HEADERS | headers)
            return answer.status_code, answer.content

        good = await owner.http.post(owner.path, content=json.dumps(GOOD), headers=HEADERS)
        assert good.status_code == 200
        first = await post()
        assert b'"structuredContent"' not in first[1]
        assert await post() == first


async def test_a_role_that_may_not_gets_the_same_answer_by_no_way(site, ways):
    async with raw(site, "reader") as reader:
        assert not (await reader.call("status"))["isError"]
        for name in ("remember", "no_such"):
            for _ in range(2):
                assert await reader.call(name, {"content": "x"}) == {"code": -32602, "message": f"Unknown tool: {name}"}
    assert ways == [False] or ways == [True]  # only the call of status was looked at


async def test_progress_is_never_promised_on_the_short_way(site):
    headers = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
    asking = params(_meta={**META, "progressToken": 1})
    good = JsonBody(json.dumps(GOOD).encode())
    assert parse_tool_call({"headers": headers}, good) is not None
    assert parse_tool_call({"headers": headers}, JsonBody(json.dumps(asking).encode())) is None
    for extra in ((b"mcp-name", b"memory_get"), (b"mcp-method", b"tools/call")):
        assert parse_tool_call({"headers": [*headers, extra]}, good) is None
