"""Talking to another server: what is tried again, what is not, and what an endpoint is.

Covers server.remote_vault.endpoint, server.remote_vault.line_push.
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
from vaults.domain.import_export.source_import import ImportPlan
from vaults.errors import InvalidArgument, VaultUnavailable
from vaults.sources.jsonl import SOURCE


class Answers:
    """A client whose tools answer what a function says; keeps what it was asked."""

    def __init__(self, answer: Callable[[str, dict[str, Any], int], Any]) -> None:
        self._answer = answer
        self.asked: list[dict[str, Any]] = []

    @property
    def calls(self) -> int:
        return len(self.asked)

    async def call_tool(self, tool: str, arguments: dict[str, Any]) -> Any:
        self.asked.append(arguments)
        await asyncio.sleep(0)
        content = self._answer(tool, arguments, self.calls)
        return SimpleNamespace(is_error="error" in content, structured_content=content)


def pushed(arguments: dict[str, Any], *rejected: int) -> dict[str, Any]:
    """The answer to a push of memories, of which some are rejected."""
    done = len(arguments.get("lines", []))
    counts = {"memory": {"stored": done - len(rejected), "rejected": len(rejected)}}
    return {
        "run": "r-1",
        "done": done,
        "counts": counts,
        "rejected": [{"line": line, "reason": "not this one"} for line in rejected],
    }


def written(path: Path, *contents: str) -> ImportPlan:
    path.write_text("".join(json.dumps({"content": each}) + "\n" for each in contents))
    return ImportPlan(SOURCE, path)


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
    def answer(_tool: str, arguments: dict[str, Any], call: int) -> Any:
        return {1: busy("rate_limited", 2.5), 2: busy("overloaded", 1e9)}.get(call) or pushed(arguments)

    far, client = made(answer)
    tally = await far.push(written(tmp_path / "in.jsonl", "x"), lambda _: None)
    assert (tally.stored, waits) == (1, [2.5, vault_client.LONGEST_WAIT_S])
    assert [each["action"] for each in client.asked] == ["push", "push", "push", "end"]


async def test_a_server_that_stays_busy_is_given_up(waits: list[float]) -> None:
    far, client = made(lambda *_: busy("overloaded", 0.5))
    with pytest.raises(RemoteRefused, match="later"):
        await far._call("remember", {})
    assert client.calls == vault_client.ATTEMPTS == len(waits)


async def test_a_refused_line_is_listed_and_the_others_go_on(tmp_path: Path) -> None:
    def answer(_tool: str, arguments: dict[str, Any], _call: int) -> Any:
        return pushed(arguments, *([300] if 256 < arguments.get("first", 0) <= 300 else []))

    far, client = made(answer)
    contents = [f"line {number}" for number in range(1, 401)]
    tally = await far.push(written(tmp_path / "in.jsonl", *contents), lambda _: None)
    assert (tally.stored, tally.rejected) == (399, 1)
    report = json.loads((tmp_path / "in.jsonl.rejected.jsonl").read_text())
    assert report == {"line": 300, "reason": "not this one", "record": {"content": "line 300"}}
    first, second, end = client.asked
    assert ("run" in first, second["run"], end) == (False, "r-1", {"action": "end", "run": "r-1", "confirmed": True})
    assert [each["content"] for push in (first, second) for each in push["lines"]] == contents
    assert (first["first"], second["first"]) == (1, 257)


async def test_what_a_server_took_only_in_part_is_pushed_on(tmp_path: Path) -> None:
    def answer(_tool: str, arguments: dict[str, Any], _call: int) -> Any:
        return pushed({**arguments, "lines": arguments.get("lines", [])[:2]})

    far, client = made(answer)
    tally = await far.push(written(tmp_path / "in.jsonl", "a", "b", "c", "d", "e"), lambda _: None)
    assert tally.stored == 5
    assert [each["first"] for each in client.asked if each["action"] == "push"] == [1, 3, 5]


async def test_a_server_that_is_gone_half_way_leaves_what_it_took_and_the_rest_comes_later(tmp_path: Path) -> None:
    plan = written(tmp_path / "in.jsonl", *(f"line {number}" for number in range(600)))
    is_gone = True

    def answer(_tool: str, arguments: dict[str, Any], call: int) -> Any:
        if is_gone and call == 2:
            raise VaultUnavailable("it refuses the token")
        return pushed(arguments)

    stored: list[int] = []
    with pytest.raises(VaultUnavailable):
        await made(answer)[0].push(plan, lambda tally: stored.append(tally.stored))
    assert stored == [256]
    is_gone = False
    assert (await made(answer)[0].push(plan, lambda _: None)).stored == 600


async def test_an_import_is_taken_back_in_as_many_calls_as_it_takes() -> None:
    def answer(_tool: str, arguments: dict[str, Any], call: int) -> Any:
        if "action" not in arguments:
            return {"runs": [{"id": "r-1", "counts": {"memory": {"stored": 12}}, "new_field": 1}]}
        return {"run": "r-1", "more": call < 4, "removed": {"memory": 4}, "kept": {"note": 1}}

    far, client = made(answer)
    seen: list[tuple[int, int]] = []
    tally = await far.undo_import("r-1", lambda tally, total: seen.append((tally.total, total)))
    assert (tally.removed, tally.kept, client.calls) == ({"memory": 12}, {"note": 3}, 4)
    assert seen == [(5, 12), (10, 12), (15, 15)]


async def test_what_kinds_became_of_a_batch_is_counted_by_kind(tmp_path: Path) -> None:
    lines = [
        {"content": "m"},
        {"kind": "session", "external_id": "s", "started_at": "2026-01-01"},
        {"content": "n"},
        {"kind": "unheard of"},
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def answer(_tool: str, arguments: dict[str, Any], _call: int) -> Any:
        counts = {"memory": {"stored": 1, "known": 1}, "session": {"updated": 1}, "unheard of": {"rejected": 1}}
        return {**pushed(arguments), "counts": counts, "rejected": [{"line": 4, "reason": "no such kind"}]}

    tally = await made(answer)[0].push(ImportPlan(SOURCE, tmp_path / "in.jsonl"), lambda _: None)
    assert (tally.stored, tally.known, tally.count("updated"), tally.rejected) == (1, 1, 1, 1)


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
