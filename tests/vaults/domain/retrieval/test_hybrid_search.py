"""Filters, budgets, paging, workspaces.

Covers server.tools.memory_read, vaults.domain.memories.listings, vaults.domain.paging.cursors,
vaults.domain.paging.token_budget.
"""

from __future__ import annotations

import base64
import json

import pytest

from auth.principal import owner
from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, asker


async def _fill(ask: Asking) -> None:
    for n in range(30):
        kind = "decision" if n % 3 == 0 else "fact"
        outcome = await ask(
            "remember",
            content=f"Entry {n} about the harbour and ships",
            type=kind,
            tags=["even"] if n % 2 == 0 else ["odd"],
            thread="t1" if n < 10 else None,
            tier="hot" if n < 5 else "cold",
            occurred_at=f"2026-01-{n + 1:02d}",
            applies_to="file:src/a.py" if n == 7 else "global",
        )
        assert outcome.ok


async def test_each_filter_narrows_in_every_mode(ask: Asking) -> None:
    await _fill(ask)
    cases = [
        ({"types": ["decision"]}, 10),
        ({"tags": ["even"]}, 15),
        ({"tags": ["even", "odd"]}, 0),
        ({"thread": "t1"}, 10),
        ({"tiers": ["hot"]}, 5),
        ({"applies_to": "file:src/a.py"}, 1),
        ({"since": "2026-01-21"}, 10),
        ({"until": "2026-01-03T00:00:00Z"}, 2),
        ({"types": ["decision"], "tags": ["even"]}, 5),
        ({"types": ["plan"]}, 0),
    ]
    for arguments, expected in cases:
        for mode in ("keyword", "semantic", "hybrid"):
            found = await ask("recall", query="harbour ships", mode=mode, limit=100, max_tokens=50_000, **arguments)
            assert len(found.content["hits"]) == expected, (arguments, mode)
            assert found.content["total"] == expected
        assert (await ask("memory_list", **arguments)).content["total"] == expected


async def test_archived_ones_do_not_crowd_out_the_living(ask: Asking) -> None:
    gone = [(await ask("remember", content=f"lighthouse number {n}")).content["id"] for n in range(200)]
    living = (await ask("remember", content="the one lighthouse that counts, a long way from the others")).content["id"]
    for start in range(0, 200, 50):
        await ask("memory_forget", ids=gone[start : start + 50])
    for mode in ("keyword", "semantic", "hybrid"):
        hits = (await ask("recall", query="lighthouse number", mode=mode)).content["hits"]
        assert [hit["id"] for hit in hits] == [living], mode


async def test_the_budget_cuts_the_answer_and_says_so(ask: Asking) -> None:
    await _fill(ask)
    small = (await ask("recall", query="harbour", limit=30, max_tokens=300)).content
    assert 1 <= len(small["hits"]) < 30
    assert small["truncated"]
    assert small["total"] == 30
    whole = (await ask("recall", query="harbour", limit=30, max_tokens=10_000)).content
    assert len(whole["hits"]) == 30
    assert "truncated" not in whole


@pytest.mark.parametrize("order", ["newest", "oldest", "updated", "parent"])
async def test_paging_shows_each_memory_once_while_others_come(ask: Asking, order: str) -> None:
    await _fill(ask)
    seen: list[str] = []
    cursor = None
    while True:
        page = (await ask("memory_list", order=order, limit=7, **({"cursor": cursor} if cursor else {}))).content
        seen += [memory["content"] for memory in page["memories"]]
        await ask("remember", content=f"Latecomer after {len(seen)}")
        if not (cursor := page.get("cursor")):
            break
    old = [content for content in seen if content.startswith("Entry")]
    assert len(old) == len(set(old)) == 30


async def test_a_cursor_of_another_listing_is_refused(ask: Asking) -> None:
    await _fill(ask)
    cursor = (await ask("memory_list", limit=5)).content["cursor"]
    assert (await ask("memory_list", order="oldest", cursor=cursor)).code == "invalid_argument"
    made = (
        ["newest", 1, 2**80],
        ["newest", 2**80, 1],
        ["newest", True, 1],
        ["newest", "\ud800", 1],
        ["newest", 1.5, 1],
    )
    encoded = [base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in made]
    for forged in ("x", "bnVsbA", "W10", "eyJhIjoxfQ", *encoded):
        assert (await ask("memory_list", cursor=forged)).code == "invalid_argument"


async def test_one_hit_per_parent(ask: Asking) -> None:
    for parent in ("c1", "c2"):
        for n in range(5):
            await ask("remember", content=f"turn {n} of {parent} about gardening", parent=parent)
    hits = (await ask("recall", query="gardening", group_by="parent")).content["hits"]
    assert sorted(hit["parent"] for hit in hits) == ["c1", "c2"]


async def test_a_workspace_sees_itself_and_what_is_global(services: Services) -> None:
    def caller(workspace: str | None) -> Asking:
        return asker(services, Caller(owner("cli"), "main", Role.ADMIN, "cli", workspace=workspace))

    await caller("/src/a")("remember", content="pelican in a")
    await caller("/src/b")("remember", content="pelican in b")
    await caller(None)("remember", content="pelican everywhere")

    async def seen(current: str | None, **more: object) -> set[str]:
        found = await caller(current)("recall", query="pelican", **more)
        return {hit["content"].removeprefix("pelican ") for hit in found.content["hits"]}

    assert await seen("/src/a") == {"in a", "everywhere"}
    assert await seen("/src/a", workspace="/src/b") == {"in b", "everywhere"}
    assert await seen("/src/a", workspace="all") == {"in a", "in b", "everywhere"}
    assert await seen(None) == {"in a", "in b", "everywhere"}


async def test_expired_memories_are_not_found(ask: Asking) -> None:
    await ask("remember", content="ephemeral mayfly", ttl_days=1e-9)
    for mode in ("keyword", "semantic", "hybrid"):
        assert not (await ask("recall", query="ephemeral mayfly", mode=mode)).content["hits"]


@pytest.mark.parametrize("query", ["", "   ", "a", "🙂", "AND", '"', "((((", "*", "שלום", "the of and", "x" * 10_000])
async def test_any_query_gets_an_answer(ask: Asking, query: str) -> None:
    await ask("remember", content="something to find")
    for mode in ("keyword", "semantic", "hybrid"):
        assert (await ask("recall", query=query, mode=mode)).ok


@pytest.mark.parametrize("limit", [-1, 0, 501, 10**9, 2**63, "ten", None])
async def test_a_limit_out_of_bounds_is_refused(ask: Asking, limit: object) -> None:
    outcome = await ask("recall", query="x", limit=limit)
    assert outcome.code == "invalid_argument"
    assert outcome.content["error"]["details"]["field"] == "limit"


async def test_long_memories_do_not_crowd_out_short_ones(ask: Asking) -> None:
    for n in range(2):
        long = "\n\n".join(f"Part {part}: the glacier moved again in valley {n} today." for part in range(700))
        assert (await ask("remember", content=long[:51_000])).ok
    for n in range(20):
        assert (await ask("remember", content=f"short note {n} on the glacier in the valley")).ok
    for mode in ("keyword", "semantic", "hybrid"):
        found = await ask("recall", query="the glacier moved in the valley", mode=mode, limit=10)
        assert len(found.content["hits"]) == 10, mode


async def test_a_repeated_question_sees_what_changed_in_between(ask: Asking) -> None:
    one = (await ask("remember", content="The lamp is red")).content["id"]

    async def hits() -> list[str]:
        return [hit["content"] for hit in (await ask("recall", query="lamp colour")).content["hits"]]

    assert await hits() == await hits() == ["The lamp is red"]
    await ask("remember", content="The lamp in the hall is green")
    assert len(await hits()) == 2
    await ask("memory_update", id=one, content="The lamp is blue")
    assert "The lamp is blue" in await hits()
    await ask("memory_forget", ids=[one])
    assert await hits() == ["The lamp in the hall is green"]
