"""What the texts an answer quotes would have cost whole, beside what the answer cost.

Covers vaults.context, vaults.domain.continuity.usage_report and what the tools that quote say of their sources."""

from __future__ import annotations

from typing import Any

import pytest

from server.query_context import estimate_tokens
from server.services import Services
from tests.conftest import Asking
from tests.people import person

LONG = "# Harbour\n\n" + "\n\n".join(f"The ferry of pier {number} leaves at dawn." for number in range(400))
MEMORY = "The ferry office opens at nine. " * 200


async def _usage(ask: Asking, tool: str) -> dict[str, Any]:
    found = (await ask("usage")).content["tools"]
    return next(each for each in found if each["tool"] == tool)


@pytest.fixture
async def stocked(ask: Asking) -> Asking:
    assert (await ask("note_write", path="harbour.md", content=LONG)).ok
    assert (await ask("remember", content=MEMORY, title="The ferry office")).ok
    return ask


@pytest.mark.parametrize(
    ("tool", "arguments", "sources"),
    [
        ("recall", {"query": "ferry office", "mode": "keyword"}, [MEMORY.strip()]),
        ("search", {"query": "ferry", "mode": "keyword", "kinds": ["note"]}, [LONG]),
        ("search", {"query": "ferry office", "mode": "keyword"}, [LONG, MEMORY.strip()]),
        ("fetch", {"id": "harbour.md", "max_lines": 3}, [LONG]),
        ("fetch", {"refs": ["harbour.md", "harbour.md"], "max_bytes": 200}, [LONG]),
        ("note_read", {"path": "harbour.md", "part": "lines", "max_lines": 2}, [LONG]),
    ],
)
async def test_an_answer_is_set_beside_its_whole_sources(
    stocked: Asking, tool: str, arguments: dict[str, Any], sources: list[str]
) -> None:
    answered = await stocked(tool, **arguments)
    assert answered.ok
    used = await _usage(stocked, tool)
    whole = sum(map(len, sources))
    assert abs(used["baseline_tokens"] - estimate_tokens(whole)) <= 2  # a file may end in a newline
    assert 0 < used["tokens_out"] < used["baseline_tokens"]
    logged = (await stocked("doctor", action="log")).content["events"]
    line = next(each for each in logged if each["tool"] == tool)
    assert line["baseline_tokens"] == used["baseline_tokens"]


async def test_a_pack_has_what_it_left_out_as_before(stocked: Asking) -> None:
    await stocked("context", query="ferry office", budget_tokens=500)
    used, savings = await _usage(stocked, "context"), (await stocked("usage")).content["savings"]
    assert used["baseline_tokens"] == used["tokens_out"] + savings["measured"] > used["tokens_out"]
    await stocked("recall", query="ferry office", mode="keyword")
    assert (await stocked("usage")).content["savings"]["measured"] == savings["measured"]


async def test_what_quotes_nothing_has_no_baseline(stocked: Asking) -> None:
    assert "baseline_tokens" not in await _usage(stocked, "remember")
    await stocked("recall", query="xylophone", mode="keyword")
    used = await _usage(stocked, "recall")
    assert used["baseline_tokens"] == used["tokens_out"]  # no hit: nothing was spared, nothing was quoted
    await stocked("fetch", id="nothing.md")
    assert (await _usage(stocked, "fetch"))["baseline_tokens"] == 0


@pytest.mark.parametrize("tool", ["recall", "search"])
async def test_hits_a_budget_leaves_out_are_no_part_of_it(ask: Asking, tool: str) -> None:
    for number in range(8):
        await ask("remember", content=f"The ferry office {number} is open. " + "It rains on the pier. " * 12)
    answered = await ask(tool, query="ferry office", mode="keyword", max_tokens=400)
    shown = answered.content["hits"]
    assert 0 < len(shown) < 8
    whole = sum(len(each.get("content") or each["text"]) for each in shown)
    assert abs((await _usage(ask, tool))["baseline_tokens"] - estimate_tokens(whole)) <= 2


async def test_others_private_texts_are_no_part_of_it(services: Services) -> None:
    ann, bob = await person(services, "ann"), await person(services, "bob")
    await ann("remember", content=MEMORY, visibility="private")
    await ann("remember", content="The ferry is late")
    await bob("recall", query="ferry", mode="keyword")
    used = await _usage(bob, "recall")
    assert used["baseline_tokens"] < estimate_tokens(len(MEMORY))
