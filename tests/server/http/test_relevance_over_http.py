"""A team's vault asked what it knows and what it cannot know, with the real model: in text, in JSON, by the hook.

Covers vaults.search.relevance, server.tools._relevance.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
import pytest_asyncio

from server.hooks import HookRun, parse_input
from tests.server.http.serving import ERAS, Site, served
from tests.work import PATIENCE_S
from vaults.domain.retrieval.hybrid_search import NOTHING_LIKELY
from vaults.search.relevance_scores import BESIDE_SHARE
from vaults.settings import SearchSettings

pytestmark = pytest.mark.asyncio(loop_scope="module")

MEMORIES = (
    "The billing service listens on port 8443 behind nginx; the health check is on 8444.",
    "We decided to use PostgreSQL 16 for orders because of logical replication.",
    "Deploys happen on Tuesdays and Thursdays at 10:00; never on Fridays.",
    "The staging database is refreshed every Sunday night from a scrubbed production dump.",
    "Ann prefers squash merges and short commit subjects.",
    "API keys for the payment provider rotate every 90 days; the runbook is docs/runbooks/rotate-keys.md.",
    "The mobile app must support Android 9 and newer.",
    "Customer Hartmann GmbH gets invoices as PDF in German.",
    "The on-call rotation changes on Mondays at 09:00; Ben is the backup this month.",
    "Rate limiting is 100 requests a minute per token, enforced in the gateway.",
    "Error: migrations hang when two pods start at once. Fix: take an advisory lock first.",
    "Logs are kept for 30 days, audit records for two years.",
    "We moved from Jenkins to GitHub Actions in March because builds took 40 minutes.",
    "Backups go to the bucket acme-backups every night at two and are restored for practice each month.",
    "Decision: all new services are written in Go, scripts in Python.",
    "The SLA with Northwind promises 99.9 percent availability and answers within four hours.",
)
UNKNOWN = (
    "recipe for apple pie",
    "how long do I boil an egg",
    "what is the capital of Mongolia",
    "best way to remove red wine stains from a carpet",
    "symptoms of iron deficiency",
    "who won the world cup in 1998",
    "how to fold a fitted sheet",
    "train times from Paris to Lyon",
    "what should I feed a hedgehog",
    "how deep is the Mariana trench",
    "knitting pattern for baby socks",
    "when do tulips bloom",
    "lyrics of happy birthday",
    "how to change a flat bicycle tyre",
    "exchange rate of the Swiss franc",
    "is it safe to eat mushrooms from the forest",
    "how many moons does Jupiter have",
    "yoga poses for back pain",
    "what does the word serendipity mean",
    "what was Napoleon's favourite horse called",
)
KNOWN = (
    "which port does billing use",
    "which days are releases allowed",
    "how often must the secret for payments be replaced",
    "what happens if two instances migrate the schema simultaneously",
    "what programming language should I use for a new service",
    "where are the nightly copies stored",
    "in which language does Hartmann want its bills",
    "why did we leave Jenkins",
)
PINNED = "Please keep commit subjects short."
FIVE = "five"
DOUBT = NOTHING_LIKELY.lower()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    folder = tmp_path_factory.mktemp("relevance")
    # Every vector is there when the first question comes, however long the model takes to load.
    flags = {"embedding.engine": "auto", "embedding.write_wait_s": PATIENCE_S}
    async with served(folder, vaults=("main", FIVE), **flags) as running:
        for vault, texts in (("main", MEMORIES), (FIVE, MEMORIES[:5])):
            async with running.client("owner", vault) as client:
                stored = await asyncio.gather(*(client.call_tool("remember", {"content": text}) for text in texts))
                stored.append(await client.call_tool("remember", {"content": PINNED, "type": "preference"}))
                assert {each.structured_content["embedding"] for each in stored} == {"ready"}
        yield running


async def answer_of(client, tool, /, **arguments):
    """The text of an answer, and its JSON."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.structured_content
    return answer.content[0].text, answer.structured_content


@pytest.mark.parametrize("era", ERAS)
async def test_what_the_vault_cannot_answer_says_so_before_what_is_nearest(site: Site, era: str) -> None:
    async with site.client("owner", mode=era) as client:
        for question in UNKNOWN:
            text, found = await answer_of(client, "recall", query=question)
            assert found.get("warnings", [""])[0] == NOTHING_LIKELY, (question, found)
            assert text.lower().startswith(DOUBT), "the text alone says it, and first"
            assert found["hits"][0]["score"] < 0.4


async def test_what_it_can_answer_says_nothing_of_the_kind(site: Site) -> None:
    async with site.client("owner") as client:
        for question in KNOWN:
            text, found = await answer_of(client, "recall", query=question)
            assert NOTHING_LIKELY not in found.get("warnings", []), question
            assert DOUBT not in text.lower()
            scores = [hit["score"] for hit in found["hits"]]
            assert scores == sorted(scores, reverse=True)


async def test_every_tool_that_finds_says_it(site: Site) -> None:
    async with site.client("owner", query="?tools=full") as client:
        text, found = await answer_of(client, "search", query=UNKNOWN[0], limit=3)
        assert found["warnings"][0] == NOTHING_LIKELY
        assert text.lower().startswith(DOUBT)
        text, _ = await answer_of(client, "search", query=UNKNOWN[0])
        assert next(iter(json.loads(text))) == "warnings", "connector clients read nothing but this text"
        _, found = await answer_of(client, "recall", query=UNKNOWN[0], vaults=["*"])
        assert found["warnings"].count(NOTHING_LIKELY) == 1
        _, found = await answer_of(client, "explain", query=UNKNOWN[0])
        assert NOTHING_LIKELY in found["warnings"]
        assert found["candidates"][0]["relevance"] < found["weights"]["likely"]
        assert found["candidates"][0]["evidence"]["unknown"] == 1


async def test_a_small_vault_asked_in_other_words_is_not_told_it_knows_nothing(site: Site) -> None:
    async with site.client("owner", FIVE) as client:
        text, found = await answer_of(client, "recall", query="which weekdays are releases allowed")
        assert found["hits"][0]["content"].startswith("Deploys happen")
        assert DOUBT not in text.lower()


async def test_least_scores_filter_by_relevance(site: Site) -> None:
    async with site.client("owner") as client:
        _, found = await answer_of(client, "recall", query=UNKNOWN[0], min_score=0.4)
        assert (found["hits"], found["total"]) == ([], 0)
        _, found = await answer_of(client, "recall", query=KNOWN[0], min_score=0.4)
        assert 1 <= len(found["hits"]) < len(MEMORIES)
        assert found["hits"][0]["content"].startswith("The billing service")


async def test_scores_compare_between_vaults(site: Site) -> None:
    """What both hold comes first, whichever vault is asked; each with the score it has there."""
    async with site.client("owner") as client:
        _, found = await answer_of(client, "recall", query=KNOWN[0], vaults=["*"], limit=4)
        assert [hit["content"][:19] for hit in found["hits"][:2]] == ["The billing service"] * 2
        scores = [hit["score"] for hit in found["hits"]]
        assert scores == sorted(scores, reverse=True)


async def test_words_alone_have_a_calibration_of_their_own(site: Site) -> None:
    async with site.client("owner") as client:
        for question in ("which port does billing use", "why did we leave Jenkins"):
            _, found = await answer_of(client, "recall", query=question, mode="keyword")
            assert NOTHING_LIKELY not in found.get("warnings", []), question
        _, found = await answer_of(client, "recall", query="exchange rate of the Swiss franc", mode="keyword")
        assert found["warnings"][0] == NOTHING_LIKELY


async def test_a_pack_holds_what_answers_and_what_is_pinned_and_says_how_little_that_is(site: Site) -> None:
    async with site.client("owner") as client:
        text, pack = await answer_of(client, "context", query=KNOWN[0], format="json")
        assert 1 <= len(pack["memories"]) <= len(MEMORIES) // 2
        assert [rule["text"] for rule in pack["rules"]] == [PINNED]
        assert "unlikely to answer" in pack["warnings"][0]
        assert pack["warnings"][0] in text
        text, pack = await answer_of(client, "context", query=UNKNOWN[0], format="json")
        assert pack["memories"] == pack["passages"] == []
        assert pack["rules"]
        assert "nothing here seems to answer this" in text
        _, account = await answer_of(client, "explain", query=UNKNOWN[0])
        assert {each["outcome"] for each in account["pack"]["decisions"]} == {"kept", "dropped: unlikely"}


async def test_beside_what_answers_a_pack_holds_what_would_not_have_told_by_itself(site: Site) -> None:
    async with site.client("owner") as client:
        _, account = await answer_of(client, "explain", query=KNOWN[0])
    judged = [each for each in account["pack"]["decisions"] if each.get("score") is not None]
    kept = [each["score"] for each in judged if each["outcome"].startswith("kept")]
    left = [each["score"] for each in judged if each["outcome"] == "dropped: unlikely"]
    likely = SearchSettings().likely
    assert max(kept) >= likely > min(kept) >= likely * BESIDE_SHARE > max(left)


async def test_the_hook_adds_to_a_prompt_only_what_answers_it(site: Site) -> None:
    async with site.client("owner") as client:

        async def ask(tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
            return (await answer_of(client, tool, **arguments))[1]

        async def added_to(prompt: str) -> str | None:
            return await HookRun(ask, parse_input(json.dumps({"prompt": prompt}).encode()), shared=False).prompt()

        assert [question for question in UNKNOWN if await added_to(question) is not None] == []
        for question in KNOWN[:3]:
            assert await added_to(question), question


@pytest.mark.parametrize(
    "query", ["what is it", "a", "12", "x" * 10_000, "tulips " * 1_400, "ファイルはどこ", "wo ist das"]
)
async def test_odd_questions_get_scores_within_bounds(site: Site, query: str) -> None:
    async with site.client("owner", FIVE) as client:
        for mode in ("hybrid", "keyword"):
            _, found = await answer_of(client, "recall", query=query, mode=mode)
            assert all(0 <= hit["score"] <= 1 for hit in found["hits"])
