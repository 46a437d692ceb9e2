"""With the setting ``fast_path`` on and off, every tool answers the same on every revision of the protocol.

Two servers over real HTTP. Each call is run by the first that gets it and its outcome is sent by both on every
revision, so answers are compared as they are: no id and no time differs. Covers server.http.fast_path and
server.http.mcp_route.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

from auth.principal import owner
from server import protocol
from server.call import Caller
from server.dispatch import CallOutcome, dispatch
from server.http.fast_path import FastPath
from server.http.listing_cache import ListingCache
from server.services import Services
from server.tools import discover
from tests.server.http.examples import EXAMPLES
from tests.server.http.serving import Raw, raw, served

WITHOUT_STRUCTURE = ("2024-11-05", "2025-03-26")
"""Revisions whose results have no structured content: their calls all go through the SDK."""

ASKED_ABOUT = {"note_delete"}
"""What only a person may agree to, whom the SDK alone can ask."""

LISTINGS = ("tools/list", "prompts/list")


class Recorder:
    """Runs each example once, and keeps what reached dispatch and what went round the SDK."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.outcomes: dict[str, CallOutcome] = {}
        self.reached: list[tuple[Caller, str, Any]] = []
        self.went_round: list[str] = []
        monkeypatch.setattr(protocol, "dispatch", self._dispatch)
        answer, answer_listing = FastPath.answer, ListingCache.answer

        async def record_answer(path: FastPath, call: Any, *rest: Any) -> None:
            self.went_round.append(call.name)
            await answer(path, call, *rest)

        async def record_listing(cache: ListingCache, *given: Any) -> bool:
            self.went_round.append("listing")
            return await answer_listing(cache, *given)

        monkeypatch.setattr(FastPath, "answer", record_answer)
        monkeypatch.setattr(ListingCache, "answer", record_listing)

    async def _dispatch(self, services: Services, caller: Caller, name: str, arguments: Any) -> CallOutcome:
        self.reached.append((replace(caller, request_id="", principal=owner("cli")), name, arguments))
        key = json.dumps([name, arguments])
        if key not in self.outcomes:
            self.outcomes[key] = await dispatch(services, caller, name, arguments)
        return self.outcomes[key]


def _filled(arguments: dict[str, Any], ids: list[str]) -> dict[str, Any]:
    text = json.dumps(arguments)
    for place, each in enumerate(ids):
        text = text.replace(f"{{{place}}}", each)
    filled: dict[str, Any] = json.loads(text)
    return filled


async def _sent(owner: Raw, method: str, params: dict[str, Any], era: str) -> tuple[int, dict[str, str], Any]:
    answer = await owner.post(owner.message(method, params, era), era=era, query="?tools=full")
    headers = {name: value for name, value in answer.headers.items() if name not in ("date", "content-length")}
    return answer.status_code, headers, answer.json()


async def test_every_tool_and_listing_answers_the_same_both_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(monkeypatch)
    ids: list[str] = []
    async with (
        served(tmp_path / "on") as quick,
        served(tmp_path / "off", **{"server.fast_path": False}) as plain,
        raw(quick, "owner") as on,
        raw(plain, "owner") as off,
    ):
        await on.call(
            "note_write", {"path": "plan", "content": "# Plan", "frontmatter": {"status": "open", "tags": ["a"]}}
        )
        for era in KNOWN_PROTOCOL_VERSIONS:
            recorder.went_round.clear()
            for method in LISTINGS * 2:
                assert await _sent(on, method, {}, era) == await _sent(off, method, {}, era), (method, era)
            for tool, arguments in EXAMPLES:
                params = {"name": tool, "arguments": _filled(arguments, ids)}
                quickly, plainly = [await _sent(caller, "tools/call", params, era) for caller in (on, off)]
                assert quickly == plainly, (params, era)
                assert recorder.reached[-2] == recorder.reached[-1], (params, era)
                if tool == "remember" and len(ids) < 2:
                    ids.append(recorder.outcomes[json.dumps([tool, params["arguments"]])].content["id"])
            assert recorder.went_round.count("listing") == len(LISTINGS)
            tools = set() if era in WITHOUT_STRUCTURE else {spec.name for spec in discover()} - ASKED_ABOUT
            assert set(recorder.went_round) - {"listing"} == tools, era
    assert [each.text for each in recorder.outcomes.values() if not each.ok] == []
