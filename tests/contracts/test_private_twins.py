"""What somebody keeps private changes no answer to anybody else: two vaults that differ in it alone answer alike."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from auth.roles import Role
from server.tool_spec import ToolSpec
from tests.conftest import Opening
from tests.contracts.test_isolation import CALLS, TOOLS, VALID, _filled
from tests.contracts.twins import TWINS, Twin, comparable, twin
from tests.work import examples

MODES = ("hybrid", "keyword", "semantic")
EVERY_QUERY = (
    "harbour", "the harbour opens at nine", "prohects", "xylophonse", "Zebulon", "what did Xantippe say", "东京 大阪",
    '"harbour opens"', "harb* NOT sold", "lamp pier mended", "tide pilot", "Orion ship", "hidden-tag",
)  # fmt: skip
QUERIES = random.sample(EVERY_QUERY, examples(len(EVERY_QUERY)))
"""Others with each run; CI asks them all. Each is asked in every mode, of both vaults, before and after all writes."""

MORE: dict[str, tuple[dict[str, Any], ...]] = {
    "recall": (
        *({"query": query, "mode": mode, "limit": 50} for query in QUERIES for mode in MODES),
        *({"query": "harbour", name: value} for name, value in (
            ("tags", ["port"]), ("tags", ["hidden-tag"]), ("thread", "quay"), ("thread", "hidden-thread"),
            ("workspace", "hidden-ws"), ("applies_to", "area:build"), ("types", ["decision"]), ("tiers", ["cold"]),
            ("include_archived", True), ("group_by", "parent"), ("min_score", 0.3), ("limit", 2),
        )),
    ),
    "search": (
        *({"query": query, "mode": mode, "limit": 50} for query in QUERIES for mode in MODES),
        {"query": "harbour", "where": {"hidden_field": "x"}},
        {"query": "harbour", "author": "Xantippe Grey"},
        *({"query": query, "kinds": ["transcript"], "limit": 50} for query in QUERIES),
        {"query": "harbour", "kinds": ["transcript"], "group_by": "parent"},
        {"query": "harbour", "collection": "hidden"},
        {"query": "harbour", "kinds": ["transcript"], "where": {"hidden_field": "x"}},
        {"query": "harbour", "parent": "talk"},
        {"query": "harbour", "group_by": "parent", "links": True, "recent": True},
        {"query": "lamp", "limit": 3},
        {"similar_to": "{own}"},
    ),
    "explain": tuple({"query": query} for query in QUERIES),
    "context": ({}, {"query": "harbour tide"}, {"thread": "hidden-thread"}, {"format": "json"}),
    "memory_list": (
        {"limit": 100}, {"tags": ["port"]}, {"thread": "quay"}, {"order": "parent"},
        {"include_archived": True}, {"limit": 3},
    ),
    "memory_get": ({"ids": ["{hidden}"]}, {"keys": ["hidden-key", "harbour"]}),
    "fetch": ({"id": "{hidden}"}, {"refs": ["{hidden}", "{own}"]}, {"id": "hidden-talk"}, {"id": "hidden-talk#0"}),
    "graph": (
        {"action": "backlinks", "entity": "canary"}, {"action": "neighbors", "path": "Orion.md"},
        {"action": "export", "format": "json"}, {"action": "analyse", "analysis": "hubs"},
    ),
    "entities": (
        {"action": "list", "limit": 100}, {"action": "list", "kind": "memory"}, {"action": "list", "kind": "prospect"},
        {"action": "list", "contains": "Zebulon"},
    ),
    "code": (
        {"name": "Pilot"}, {"name": "sell"}, {"action": "callers", "name": "open_harbour"},
        {"action": "references", "name": "Pilot"}, {"action": "impact", "path": "quay.py", "depth": 3},
    ),
    "collections": ({"action": "list"},),
    "ingest": ({"action": "list", "listed": "transcript"}, {"action": "list", "words": "sale"}),
    "links": ({"action": "suggest", "text": "Zebulon Quagmire saw the Orion in the harbour"},),
    "threads": tuple({"action": "show", "thread": thread} for thread in ("hidden-thread", "quay")),
    "insights": tuple(
        {"action": action, "entity": entity} for action in ("context", "evolution") for entity in ("Orion", "Harbour")
    ),
    "schema": ({"action": "field_values", "field": "hidden_field"},),
    "discover_tools": ({"query": "harbour"},),
    "remember": (
        {"content": "The harbour opens at nine"},
        {"content": "The harbour harbour harbour is sold to Zebulon Quagmire, prohects and xylophones included"},
        {"content": "Package manager: yarn", "type": "decision", "thread": "quay", "applies_to": "area:build"},
        {"content": "Something else", "external_id": "hidden-1"},
        {"content": "Something else again", "external_id": "taken", "visibility": "private"},
        {"content": "With a key of his", "idempotency_key": "key-1"},
        {"content": "Next of the talk", "parent": "talk"},
        {"content": "The harbour opens at ten, never at nine", "on_duplicate": "supersede"},
    ),
    "memory_link": ({"from_id": "{own}", "relation": "see", "to_id": "{hidden}"},),
    "memory_update": ({"id": "{hidden}", "tier": "hot"},),
    "memory_forget": ({"ids": ["{hidden}"]},),
    "feedback": ({"type": "bug", "message": "x", "tool": "recall"},),
}  # fmt: skip
"""Rich arguments beside the valid call of every tool and action."""

UNTOLD = {("vaults", "create"), ("vaults", "archive"), ("reindex", None), ("backup", "run")}
"""Calls whose answers are about the server, or are tried last."""


ROOM = 50_000
"""Tokens nothing here is cut at: ids take more of them or fewer, so that answers would end at different places."""

AGAIN, PAUSE_S = 50, 0.1
"""Times a reading that differs is asked again: what one vault still works at in the background ends, a leak stays."""

SEARCHING = {"recall", "search", "explain", "fetch", "memory_get", "memory_list", "threads"}
"""What is asked again after everything was written: answers that wait for nothing in the background."""


def _asked(writing: bool) -> list[tuple[ToolSpec, dict[str, Any]]]:
    calls: list[tuple[ToolSpec, dict[str, Any]]] = []
    for spec, action in CALLS:
        if (spec.name, action) not in UNTOLD:
            calls.append((spec, _filled(spec, action, "{own}", "{other}")))
    calls += [(spec, arguments) for spec in TOOLS for arguments in MORE.get(spec.name, ())]
    return [(spec, arguments) for spec, arguments in calls if spec.action_of(arguments).writes == writing]


def _whole(spec: ToolSpec, arguments: dict[str, Any]) -> dict[str, Any]:
    room = {name: ROOM for name in ("max_tokens", "budget_tokens") if name in spec.arguments.model_fields}
    return arguments | room


def _for(twin: Twin, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _for(twin, each) for key, each in value.items()}
    if isinstance(value, list):
        return [_for(twin, each) for each in value]
    known = {"{own}": twin.own, "{other}": twin.other, "{hidden}": twin.hidden}
    return known.get(value, value) if isinstance(value, str) else value


async def _differing(left: Twin, right: Twin, calls: list[tuple[ToolSpec, dict[str, Any]]]) -> list[str]:
    wrong = []
    for spec, arguments in calls:
        readable = not spec.action_of(arguments).writes and spec.action_of(arguments).role == Role.READER
        for asker in ("ann", "cat") if readable and arguments.get("mode", "hybrid") == "hybrid" else ("ann",):
            one, two = await _ask_both(asker, spec, arguments, left, right)
            for _ in range(0 if spec.action_of(arguments).writes else AGAIN):
                if one == two:
                    break
                await asyncio.sleep(PAUSE_S)
                one, two = await _ask_both(asker, spec, arguments, left, right)
            if one != two:
                at = next(n for n, pair in enumerate(zip(one + "\0", two + "\1", strict=False)) if pair[0] != pair[1])
                shown = slice(max(0, at - 100), at + 150)
                wrong.append(f"{asker}: {spec.name} {arguments}\n  {one[shown]!r}\n  {two[shown]!r}")
    return wrong


async def _ask_both(asker: str, spec: ToolSpec, arguments: dict[str, Any], left: Twin, right: Twin) -> tuple[str, str]:
    answers = [getattr(each, asker)(spec.name, **_for(each, _whole(spec, arguments))) for each in (left, right)]
    one, two = await asyncio.gather(*answers)
    return comparable(one), comparable(two)


def test_every_tool_is_asked() -> None:
    assert {spec.name for spec in TOOLS} == set(VALID)
    assert set(MORE) <= set(VALID)


async def test_what_is_private_to_another_changes_no_answer(opening: Opening) -> None:
    async with opening(vaults=TWINS) as services:
        left, right = [await twin(services, name) for name in TWINS]
        again = [(spec, arguments) for spec, arguments in _asked(writing=False) if spec.name in SEARCHING]
        for calls in (_asked(writing=False), _asked(writing=True), again):
            wrong = await _differing(left, right, calls)
            assert not wrong, "\n".join(wrong)
