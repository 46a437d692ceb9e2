"""A client that only starts programs, in a vault of another server: ``strongroom stdio --url``."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from auth.roles import Role
from tests.noted import folder, put
from tests.server.cli.command import Strongroom
from tests.server.http.serving import ERAS, LATEST_HANDSHAKE, served
from tests.work import PATIENCE_S

NOTE = "ä ö/plan 1.md"


async def prepare(ground):
    put(folder(ground.loaded.data), {NOTE: "# Plan\nGo on.\n"})
    return {"reader": await ground.token("reader", Role.READER, "main")}


@pytest.fixture
async def site(tmp_path):
    async with served(tmp_path / "served", prepare=prepare) as running:
        yield running


@pytest.fixture
def strongroom(tmp_path):
    return Strongroom(tmp_path / "data")


def relayed(strongroom, url, token, era, *more):
    file = strongroom.data.parent / "token.txt"
    file.write_text(f"{token}\n")
    args = ["-m", "server", "stdio", "--url", url, "--token-file", str(file), *more]
    command = StdioServerParameters(
        command=sys.executable, args=args, cwd=strongroom.data.parent, env=strongroom.environment({})
    )
    return Client(command, mode="legacy" if era == LATEST_HANDSHAKE else era, cache=None)


@pytest.mark.parametrize("era", ERAS)
async def test_everything_goes_through_as_it_came(site, strongroom, era):
    async with relayed(strongroom, site.url, site.tokens["owner"], era) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert "remember" in names
        assert "explain" not in names
        stored = await client.call_tool("remember", {"content": f"Herons nest here, {era} \U0001f426"})
        found = await client.call_tool("recall", {"query": "herons"})
        assert stored.structured_content["id"] in [hit["id"] for hit in found.structured_content["hits"]]
        read = await client.read_resource("note://%C3%A4%20%C3%B6/plan%201.md")
        assert read.contents[0].text.startswith("# Plan")
        assert "resume" in [each.name for each in (await client.list_prompts()).prompts]
        assert "Herons nest here" in (await client.get_prompt("resume", {})).messages[0].content.text
        failed = await client.call_tool("recall", {"query": "x", "limit": 0})
        assert failed.structured_content["error"]["code"] == "invalid_argument"
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("no_such", {})
        answers = await asyncio.gather(*(client.call_tool("recall", {"query": f"heron {n}"}) for n in range(20)))
        assert not any(answer.is_error for answer in answers)
    assert not strongroom.data.exists()


async def test_roles_and_presets_are_those_of_the_token_and_the_line(site, strongroom):
    era = LATEST_HANDSHAKE
    async with relayed(strongroom, site.url, site.tokens["reader"], era, "--tools", "full") as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert "explain" in names
        assert "remember" not in names


@pytest.mark.parametrize("era", ERAS)
async def test_a_token_that_is_refused_ends_in_an_error_and_is_not_repeated(site, strongroom, era):
    with pytest.RaisesGroup(MCPError, allow_unwrapped=True, flatten_subgroups=True) as refused:
        async with relayed(strongroom, site.url, "a.b.c", era) as client:
            await client.list_tools()
    assert "a.b.c" not in repr(refused.value)


def test_a_server_that_is_down_is_an_answer_and_the_end_of_input_the_end(strongroom):
    file = strongroom.data.parent / "token.txt"
    file.write_text("a.b.c")
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    done = subprocess.run(
        strongroom.argv("stdio", "--url", "http://127.0.0.1:9", "--token-file", str(file)),
        input=json.dumps(message).encode() + b"\n", capture_output=True, cwd=strongroom.data.parent,
        env=strongroom.environment({}), timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(answer["id"], answer["error"]["message"]) for answer in answers] == [(1, "127.0.0.1 cannot be reached")]
    assert done.returncode == 0
    assert b"a.b.c" not in done.stdout + done.stderr


def test_wrong_choices_end_with_a_line(strongroom):
    file = strongroom.data.parent / "token.txt"
    file.write_text("a.b.c")
    there = ("--url", "http://127.0.0.1:9")
    for args in (there, (*there, "--token-file", "absent"), (*there, "--token-file", str(file), "--read-only"),
                 ("--url", "nowhere", "--token-file", str(file))):  # fmt: skip
        ran = strongroom("stdio", *args)
        assert (ran.code, ran.out) == (2, ""), args
        assert ran.err.count("\n") == 1
