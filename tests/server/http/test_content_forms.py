"""``?content=``: an answer as text, as JSON, or both, for clients known to forward one or both of them.

Covers server.http.http_caller.
"""

from __future__ import annotations

import json

import pytest
import pytest_asyncio

from tests.server.http.serving import ERAS, raw, served

pytestmark = pytest.mark.asyncio(loop_scope="module")

FACT = "The heron nests in the reeds"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def site(tmp_path_factory):
    async with served(tmp_path_factory.mktemp("forms")) as running:
        async with raw(running, "owner") as owner:
            assert not (await owner.call("remember", {"content": FACT}))["isError"]
        yield running


async def _called(site, era, query, times=2):
    """The answers to one call made again: the first goes through the SDK, the next round it."""
    async with raw(site, "owner") as owner:
        message = owner.message("tools/call", {"name": "recall", "arguments": {"query": "heron"}}, era)
        answers = [(await owner.post(message, era=era, query=query)).json()["result"] for _ in range(times)]
    assert all(_same(answer, answers[0]) for answer in answers)
    return answers[0]


def _same(one, other):
    """Equal but for the fence, which is new in each answer."""
    return one.get("structuredContent") == other.get("structuredContent") and one.keys() == other.keys()


@pytest.mark.parametrize("era", ERAS)
async def test_both_forms_are_sent_unless_one_is_asked_for(site, era):
    for query in ("", "?content=both"):
        answer = await _called(site, era, query)
        assert FACT in answer["content"][0]["text"]
        assert answer["structuredContent"]["hits"][0]["content"] == FACT


@pytest.mark.parametrize("era", ERAS)
async def test_text_alone_comes_without_json_and_without_a_schema_of_it(site, era):
    answer = await _called(site, era, "?content=text")
    assert FACT in answer["content"][0]["text"]
    assert "structuredContent" not in answer
    async with raw(site, "owner") as owner:
        listed = (await owner.post(owner.message("tools/list", era=era), era=era, query="?content=text")).json()
        both = (await owner.post(owner.message("tools/list", era=era), era=era)).json()
    assert not any("outputSchema" in tool for tool in listed["result"]["tools"])
    assert all("outputSchema" in tool for tool in both["result"]["tools"])


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_that_checks_results_reads_text_alone(site, era):
    async with site.client("owner", mode=era, query="?content=text") as client:
        await client.list_tools()
        found = await client.call_tool("recall", {"query": "heron"})
        assert FACT in found.content[0].text
        assert found.structured_content is None


@pytest.mark.parametrize("era", ERAS)
async def test_json_alone_comes_without_text(site, era):
    answer = await _called(site, era, "?content=structured")
    assert answer["content"] == []
    assert answer["structuredContent"]["hits"][0]["content"] == FACT


@pytest.mark.parametrize("era", ERAS)
async def test_a_failure_is_told_in_whatever_form_is_asked_for(site, era):
    async with raw(site, "owner") as owner:
        message = owner.message("tools/call", {"name": "recall", "arguments": {}}, era)
        for query in ("?content=text", "?content=structured"):
            answer = (await owner.post(message, era=era, query=query)).json()["result"]
            assert answer["isError"]
            assert "query is required" in json.dumps(answer), query


async def test_another_form_is_refused_by_name(site):
    async with raw(site, "owner") as owner:
        answer = await owner.post(owner.message("tools/list"), query="?content=xml")
        assert answer.status_code == 400
        assert "content must be one of both, text, structured" in answer.text
