"""Talking to another server: what is tried again, what is not, and what an endpoint is.

Covers server.remote_vault.endpoint.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from server.remote_vault import vault_client
from server.remote_vault.endpoint import endpoint_of
from server.remote_vault.vault_client import RemoteRefused, RemoteVault, connect_to_vault
from vaults.errors import InvalidArgument, VaultUnavailable


class Answers:
    """A client whose tools answer what a function says; counts how many calls are on their way."""

    def __init__(self, answer: Callable[[str, dict[str, Any], int], Any]) -> None:
        self._answer = answer
        self.calls = 0
        self.at_once = 0
        self.most = 0

    async def call_tool(self, tool: str, arguments: dict[str, Any]) -> Any:
        self.calls += 1
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        content = self._answer(tool, arguments, self.calls)
        return SimpleNamespace(is_error="error" in content, structured_content=content)


def made(answer: Callable[[str, dict[str, Any], int], Any]) -> tuple[RemoteVault, Answers]:
    client = Answers(answer)
    return RemoteVault(cast("Any", client)), client


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was waited, without waiting."""
    waited: list[float] = []
    really = asyncio.sleep

    async def sleep(seconds: float) -> None:
        if seconds:
            waited.append(seconds)
        await really(0)

    monkeypatch.setattr(vault_client.asyncio, "sleep", sleep)
    return waited


def busy(code: str, seconds: float) -> dict[str, Any]:
    return {"error": {"code": code, "message": "later", "retryable": True, "details": {"retry_after_s": seconds}}}


async def test_a_server_that_is_busy_is_asked_again_when_it_said(waits: list[float], tmp_path: Path) -> None:
    def answer(_tool: str, _arguments: dict[str, Any], call: int) -> Any:
        return {1: busy("rate_limited", 2.5), 2: busy("overloaded", 1e9)}.get(call, {"id": "m", "embedding": "ready"})

    far, client = made(answer)
    source = tmp_path / "in.jsonl"
    source.write_text('{"content": "x"}\n')
    tally = await far.push(source, lambda _: None)
    assert (tally.stored, client.calls, waits) == (1, 3, [2.5, vault_client.LONGEST_WAIT_S])


async def test_a_server_that_stays_busy_is_given_up(waits: list[float]) -> None:
    far, client = made(lambda *_: busy("overloaded", 0.5))
    with pytest.raises(RemoteRefused, match="later"):
        await far._call("remember", {})
    assert client.calls == vault_client.ATTEMPTS == len(waits)


async def test_a_refused_line_is_listed_and_the_others_go_on(tmp_path: Path) -> None:
    def answer(_tool: str, arguments: dict[str, Any], _call: int) -> Any:
        if arguments["content"] == "bad":
            return {"error": {"code": "invalid_argument", "message": "not this one", "retryable": False}}
        return {"id": arguments["content"], "embedding": "pending"}

    far, client = made(answer)
    source = tmp_path / "in.jsonl"
    source.write_text(
        "".join(json.dumps({"content": word}) + "\n" for word in ["bad", *(f"good {n}" for n in range(99))])
    )
    tally = await far.push(source, lambda _: None)
    assert (tally.stored, tally.rejected, tally.owed) == (99, 1, 99)
    report = json.loads((tmp_path / "in.jsonl.rejected.jsonl").read_text())
    assert report == {"line": 1, "reason": "not this one", "text": '{"content": "bad"}'}
    assert client.most == vault_client.CONCURRENT_CALLS


async def test_the_same_line_always_has_the_same_key(tmp_path: Path) -> None:
    keys: list[str] = []

    def answer(_tool: str, arguments: dict[str, Any], _call: int) -> Any:
        keys.append(arguments["idempotency_key"])
        return {"id": "m", "embedding": "ready"}

    source = tmp_path / "in.jsonl"
    source.write_text('{"content": "x", "created_at": "2026-01-01"}\n')
    for _ in range(2):
        await made(answer)[0].push(source, lambda _: None)
    assert len(set(keys)) == 1


def test_an_endpoint_is_a_server_or_a_vault() -> None:
    assert endpoint_of("https://h/", "v") == "https://h/v/v/mcp"
    assert endpoint_of("https://h/base", "v") == "https://h/base/v/v/mcp"
    assert endpoint_of("https://h/v/other/mcp", "v") == "https://h/v/other/mcp"
    for wrong in ("h", "ftp://h", "https://", ""):
        with pytest.raises(InvalidArgument):
            endpoint_of(wrong, "v")


async def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("t")
    with pytest.raises(VaultUnavailable, match=r"127\.0\.0\.1:9/"):
        async with connect_to_vault("http://127.0.0.1:9", token, "v"):
            pass
    with pytest.raises(InvalidArgument, match="--token-file"):
        async with connect_to_vault("http://127.0.0.1:9", tmp_path / "absent", "v"):
            pass
