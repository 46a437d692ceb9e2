"""The hooks of the plugin for Claude Code against a server: a real one, one that is down, and some that are none."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from auth.roles import Role
from tests.integrations.hooking import (
    DECISION,
    EVENTS,
    PROMPT,
    Hooks,
    asked,
    assert_fenced,
    context_of,
    edited,
    silent,
    transcript,
)
from tests.server.http.serving import Site, raw, served
from vaults.search.tokenizer import count_tokens


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async def prepare(ground: Any) -> dict[str, str]:
        return {
            "agent": await ground.token("agent", Role.WRITER, "main"),
            "reader": await ground.token("reader", Role.READER, "main"),
        }

    async with served(tmp_path / "served", prepare=prepare) as running:
        yield running


def remote(site: Site, bin_folder: Path, folder: Path, subject: str = "agent", **environment: str) -> Hooks:
    token = folder / "token.txt"
    token.write_text(site.tokens.get(subject, subject) + "\n")
    place = {"STRONGROOM_URL": site.url, "STRONGROOM_TOKEN_FILE": str(token), **environment}
    return Hooks(bin_folder, folder / "data", **place)


async def test_against_a_server_the_agent_may_go_on_in_the_session_of_its_hooks(
    site: Site, bin_folder: Path, tmp_path: Path
) -> None:
    hooks = remote(site, bin_folder, tmp_path)
    async with raw(site, "agent") as agent:
        await agent.call("remember", DECISION)
        brief = context_of(await asyncio.to_thread(hooks.run, "SessionStart", tmp_path), "SessionStart")
        name, _, pack = brief.partition("\n")
        assert_fenced(pack, DECISION["content"])
        assert count_tokens(brief) <= 1500
        known = await asyncio.to_thread(hooks.run, "UserPromptSubmit", tmp_path, prompt=PROMPT)
        assert DECISION["content"] in context_of(known, "UserPromptSubmit")
        assert count_tokens(context_of(known, "UserPromptSubmit")) <= 1000

        handle = name.removeprefix("strongroom session: ")
        claim = {"action": "claim", "resources": ["deploy.sh"], "session": handle}
        claimed = await agent.call("claims", claim)
        assert not claimed["isError"], claimed
        hooks.transcript = transcript(
            hooks.home, asked("please move the deploys", tmp_path), *edited(str(tmp_path / "deploy.sh"))
        )
        assert silent(await asyncio.to_thread(hooks.run, "Stop", tmp_path)) == ""
        held = (await agent.call("claims", {"resources": ["deploy.sh"]}))["structuredContent"]
        assert held["total"] == 1, "the end of a turn gives nothing back"
        assert silent(await asyncio.to_thread(hooks.run, "SessionEnd", tmp_path)) == ""
        held = (await agent.call("claims", {}))["structuredContent"]
        assert held["total"] == 0
        found = (await agent.call("session_history", {}))["structuredContent"]["sessions"]
        (session,) = [each for each in found if each.get("client") == "claude-code"]
        assert session["status"] == "paused"
        assert session["where_left_off"] == "Last asked: please move the deploys; Files changed: deploy.sh"


async def test_a_wrong_token_a_reader_and_another_vault_stop_nobody_and_no_token_is_said(
    site: Site, bin_folder: Path, tmp_path: Path
) -> None:
    wrong = site.tokens["agent"][:-6] + "AAAAAA"
    cases = [
        (remote(site, bin_folder, tmp_path / "a", wrong), EVENTS),
        (remote(site, bin_folder, tmp_path / "b", STRONGROOM_URL=f"{site.url}/v/elsewhere/mcp"), ("SessionStart",)),
        (remote(site, bin_folder, tmp_path / "c", "two words of\na file"), ("SessionStart",)),
        (remote(site, bin_folder, tmp_path / "d", "reader"), ("SessionEnd",)),
    ]
    for hooks, events in cases:
        for event in events:
            said = silent(await asyncio.to_thread(hooks.run, event, tmp_path, prompt=PROMPT))
            assert said.startswith("strongroom hook: ")
            assert not any(secret in said for secret in (wrong, "two words", *site.tokens.values()))


async def test_a_server_that_asks_before_it_writes_is_sent_no_conversation(bin_folder: Path, tmp_path: Path) -> None:
    async def prepare(ground: Any) -> dict[str, str]:
        return {"agent": await ground.token("agent", Role.WRITER, "main")}

    async with served(tmp_path / "asking", prepare=prepare, **{"server.write_mode": "ask"}) as asking:
        hooks = remote(asking, bin_folder, tmp_path)
        talk = {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "alone"}]}}
        hooks.transcript = transcript(hooks.home, talk)
        said = silent(await asyncio.to_thread(hooks.run, "Stop", tmp_path))
        assert "confirmation_required" in said
        async with raw(asking, "agent") as agent:
            assert (await agent.call("transcripts", {}))["structuredContent"]["total"] == 0


@pytest.fixture(autouse=True)
def folders(tmp_path: Path) -> None:
    for name in "abcd":
        (tmp_path / name).mkdir()


def test_a_server_that_is_down_or_never_answers_stops_nobody(bin_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "token.txt").write_text("a.b.c")
    with closed_port() as down, silent_server() as mute:
        for url, events in ((down, EVENTS), (mute, ("UserPromptSubmit",)), ("no url", ("Stop",))):
            place = {"STRONGROOM_URL": url, "STRONGROOM_TOKEN_FILE": str(tmp_path / "token.txt")}
            hooks = Hooks(bin_folder, tmp_path / "data", **place, STRONGROOM_HOOK_WITHIN="0.5")
            for event in events:
                said = silent(hooks.run(event, tmp_path, prompt=PROMPT))
                assert said.startswith("strongroom hook: ")
                assert "a.b.c" not in said


def test_a_server_without_a_token_file_is_not_asked(bin_folder: Path, tmp_path: Path) -> None:
    hooks = Hooks(bin_folder, tmp_path / "data", STRONGROOM_URL="http://127.0.0.1:9")
    assert "--token-file is needed" in silent(hooks.run("SessionStart", tmp_path))
    hooks.environment["STRONGROOM_TOKEN_FILE"] = str(tmp_path / "absent")
    assert "cannot be read" in silent(hooks.run("SessionStart", tmp_path))


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/stolen\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n<html>hi<",
        b'HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{"result": 5}',
        b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\nnull",
        b"rubbish\r\n\r\n",
    ],
)
def test_an_answer_that_is_none_is_not_passed_on(bin_folder: Path, tmp_path: Path, answer: bytes) -> None:
    (tmp_path / "token.txt").write_text("a.b.c")
    with answering(answer) as url:
        hooks = Hooks(
            bin_folder, tmp_path / "data", STRONGROOM_URL=url, STRONGROOM_TOKEN_FILE=str(tmp_path / "token.txt")
        )
        said = silent(hooks.run("SessionStart", tmp_path))
    assert said.startswith("strongroom hook: ")
    assert "hi" not in said.split()


@contextmanager
def closed_port() -> Iterator[str]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and not listening: connections are refused
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


@contextmanager
def silent_server() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(answer)
                connection.shutdown(socket.SHUT_WR)
                connection.recv(65_536)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        thread.join(10)
