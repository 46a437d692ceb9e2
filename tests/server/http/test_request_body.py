"""Bodies are read and parsed once; those made to be slow to read are refused before, while others are served."""

from __future__ import annotations

import asyncio
import dataclasses
import json

import pydantic_core
import pytest
from pydantic import TypeAdapter

from auth.roles import Role
from server.http.request_body import MAX_STRUCTURE, RequestBody
from tests.server.http.house import IDP, open_house, outside
from tests.server.http.serving import ERAS, LATEST_HANDSHAKE, MODERN, enveloped, raw, served, settings_of

LISTS = {"query": [[]] * 900_000}
NAMES = {f"n{number}": 1 for number in range(280_000)}


@pytest.fixture
def parsed(monkeypatch):
    """Sizes of what was parsed as JSON."""
    sizes = []
    for library, name in ((json, "loads"), (pydantic_core, "from_json"), (TypeAdapter, "validate_json")):
        read = getattr(library, name)

        def noted(*given, read=read, **more):
            sizes.append(max(len(each) for each in given if isinstance(each, str | bytes | bytearray)))
            return read(*given, **more)

        monkeypatch.setattr(library, name, noted)
    return sizes


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("arguments", [LISTS, NAMES], ids=["lists", "names"])
async def test_a_neighbour_is_answered_while_a_hostile_body_is_refused(tmp_path, parsed, era, arguments):
    async with served(tmp_path / "data") as site, raw(site, "owner") as hostile, raw(site, "owner") as neighbour:
        for caller in (hostile, neighbour):
            await caller.call("status", era=era)
        message = hostile.message("tools/call", {"name": "recall", "arguments": arguments}, era)
        body = json.dumps(message, separators=(",", ":")).encode()
        headers = {"content-type": "application/json", "mcp-protocol-version": era}
        if era == MODERN:
            headers |= {"mcp-method": "tools/call", "mcp-name": "recall"}
        refusing = asyncio.create_task(hostile.http.post(hostile.path, content=body, headers=headers))
        answered = [await neighbour.call("status", era=era) for _ in range(20)]
        refused = await refusing
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, "too_large")
        assert not any(answer["isError"] for answer in answered)
        assert parsed
        assert max(parsed) < len(body) / 100, "reading it would hold the loop"


@pytest.mark.parametrize("content", ["," * 51_200, "[" * 51_200, '{",' * 17_000], ids=["commas", "brackets", "mixed"])
async def test_the_longest_memory_of_nothing_but_commas_passes(tmp_path, content):
    metadata = {"list": [0] * 3_000}
    async with served(tmp_path / "data") as site, raw(site, "owner") as owner:
        for era in (MODERN, LATEST_HANDSHAKE):
            stored = await owner.call("remember", {"content": content, "metadata": metadata}, era)
            assert not stored["isError"], stored


async def test_a_small_body_is_not_counted_and_long_text_is_none_of_it(tmp_path):
    async with served(tmp_path / "data") as site, raw(site, "owner") as owner:
        refused = await owner.call("remember", {"content": "x" * 3_000_000})
        assert refused["structuredContent"]["error"]["code"] == "invalid_argument"
        refused = await owner.call("recall", {"query": "x", "tags": [""] * (MAX_STRUCTURE - 5000)})
        assert refused["structuredContent"]["error"]["code"] == "invalid_argument"


async def test_the_gate_counts_before_it_looks_for_the_tools_a_body_calls(tmp_path):
    async with open_house(tmp_path) as house:
        house.policy = dataclasses.replace(house.policy, max_body=4 << 20)
        await house.grant("carol", "v1", Role.ADMIN, IDP)
        body = json.dumps(enveloped("tools/call", {"name": "recall", "arguments": {"query": [[]] * 80_000}})).encode()
        answer = await house.call(token=outside(), body=body)
        assert (answer.status, answer.code) == (413, "too_large")
        assert house.reached == []


async def test_a_body_is_read_and_parsed_once_and_given_again(parsed):
    messages = [
        {"type": "http.request", "body": b'{"a":', "more_body": True},
        {"type": "http.request", "body": b" 1}"},
        {"type": "http.disconnect"},
    ]

    async def receive():
        return messages.pop(0)

    body = RequestBody(receive, 100)
    first, again = await body.read(), await body.read()
    assert first is again
    assert first.document == again.document == {"a": 1}
    assert parsed == [8]
    assert await body.receive() == {"type": "http.request", "body": b'{"a": 1}', "more_body": False}
    assert await body.receive() == {"type": "http.disconnect"}


def test_a_file_fits_into_a_request_unless_the_operator_set_the_bound(tmp_path):
    assert settings_of(tmp_path).settings.body_limit > settings_of(tmp_path).settings.ingest.max_bytes * 4 // 3
    assert settings_of(tmp_path, **{"server.max_body": 100_000}).settings.body_limit == 100_000
