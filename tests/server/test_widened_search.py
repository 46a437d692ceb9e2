"""Words of the first results, and wordings from an endpoint on loopback, through the tools.

Covers vaults.search.pipeline, vaults.search.query_expansion, vaults.search.search_run, vaults.search.stage_timings.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from auth.grants import set_grant
from auth.principal import LOCAL
from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Opening, asker, local
from tests.vaults.search.rephraser import Rephraser
from tests.work import PATIENCE_S
from vaults import clock
from vaults.observer import NullObserver
from vaults.search.filters import SearchFilter
from vaults.search.pipeline import search
from vaults.search.question import SearchMode, SearchQuestion, SearchRanking
from vaults.search.stage_timings import StageTimings

TEXTS = {
    "timetable": "The ferry leaves at nine when the pilot says the lagoon is calm",
    "fares": "Tickets for the ferry are sold by the pilot beside the lagoon",
    "crossing": "The pilot needs an hour across the lagoon",
    "garden": "Tomatoes want sun and water",
    "bread": "Rye bread wants a long night",
    "chess": "The knight forks king and queen",
    "paint": "Two coats of blue on the door",
    "clock": "It loses a minute every week",
    "shoes": "The left one squeaks on marble",
}
FEEDBACK = {"expansion.feedback": True}


@pytest.fixture
def rephraser() -> Iterator[Rephraser]:
    running = Rephraser()
    running.document = {"variants": ["lagoon crossing"]}
    yield running
    running.close()


async def _fill(services: Services) -> None:
    for title, text in TEXTS.items():
        assert (await asker(services)("remember", title=title, content=text)).ok


async def _found(services: Services, query: str, tool: str = "search", **arguments: Any) -> dict[str, dict[str, float]]:
    """Titles of the hits, best first, and why each is there."""
    answer = await asker(services)(tool, query=query, **arguments)
    assert answer.ok, answer.text
    return {hit["title"]: hit.get("signals", {}) for hit in answer.content["hits"]}


async def _ranking(
    services: Services, query: str, viewer: str, timings: StageTimings, mode: SearchMode = "keyword"
) -> SearchRanking:
    asked = SearchQuestion(query, mode, SearchFilter(viewer, clock.now()), 10)
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        return await search(vault.engines, asked, lambda _, ranking: ranking, timings)


async def test_words_of_the_first_results_bring_in_what_the_question_does_not_name(opening: Opening) -> None:
    async with opening() as services:
        await _fill(services)
        assert set(await _found(services, "ferry", mode="keyword")) == {"timetable", "fares"}
    async with opening(FEEDBACK) as services:
        found = await _found(services, "ferry", mode="keyword")
        assert list(found)[2:] == ["crossing"]
        assert found["crossing"].keys() == {"feedback"}
        assert all(found[title]["keyword"] > 0 for title in ("timetable", "fares"))
        assert "feedback" not in (await _found(services, "ferry", mode="semantic"))["crossing"]


async def test_a_ranking_names_the_words_that_were_added_and_times_them(opening: Opening) -> None:
    async with opening(FEEDBACK) as services:
        await _fill(services)
        timings = StageTimings(NullObserver())
        ranking = await _ranking(services, "ferry", "owner", timings)
        assert set(ranking.expanded) == {"pilot", "lagoon"}
        assert ranking.meant.query.terms == ("ferry",)
        assert timings.seconds["expand"] > 0
    async with opening() as services:
        timings = StageTimings(NullObserver())
        assert (await _ranking(services, "ferry", "owner", timings, "hybrid")).expanded == ()
        assert "expand" not in timings.seconds


async def test_reasons_still_add_up_with_words_added(opening: Opening) -> None:
    async with opening(FEEDBACK) as services:
        await _fill(services)
        said = (await asker(services)("explain", query="ferry")).content
    assert any("feedback" in each.get("signals", {}) for each in said["candidates"])
    for each in said["candidates"]:
        assert each["score"] == pytest.approx(each["joint"] + sum(each.get("signals", {}).values()), abs=1e-3)


async def test_private_texts_of_others_give_no_words(opening: Opening) -> None:
    async with opening(FEEDBACK) as services:
        await _fill(services)
        await services.access_cache.write(lambda tx: set_grant(tx, "bob", LOCAL, "main", Role.WRITER))
        bob = asker(services, Caller(local("bob"), "main", Role.WRITER, "http"))
        for text in ("ferry ferry smuggles rubies", "ferry ferry with rubies, smuggles more"):
            assert (await bob("remember", content=text, visibility="private")).ok
        mine, bobs = [
            (await _ranking(services, "ferry", viewer, StageTimings(NullObserver()))).expanded
            for viewer in ("owner", "local|bob")
        ]
        assert set(mine) == {"pilot", "lagoon"}
        assert "rubies" in bobs


async def test_other_wordings_are_searched_for_beside_the_question(opening: Opening, rephraser: Rephraser) -> None:
    async with opening({"expansion.endpoint": rephraser.url}) as services:
        await _fill(services)
        found = await _found(services, "ferry", mode="keyword")
        assert set(found) == {"timetable", "fares", "crossing"}
        assert found["crossing"].keys() == {"variants"}
        both = await _found(services, "ferry")
        assert both["crossing"]["variants"] > 0
        assert "semantic" in both["crossing"]
        timings = StageTimings(NullObserver())
        ranking = await _ranking(services, "ferry", "owner", timings)
        assert ranking.expanded == ("lagoon crossing",)
        assert timings.seconds["expand"] > 0
        assert rephraser.asked == [{"query": "ferry"}], "answers are kept"


async def test_what_operators_require_is_required_of_other_wordings(opening: Opening, rephraser: Rephraser) -> None:
    async with opening({"expansion.endpoint": rephraser.url, **FEEDBACK}) as services:
        await _fill(services)
        for mode in ("keyword", "hybrid", "semantic"):
            assert set(await _found(services, "ferry AND tickets", "search", mode=mode)) == {"fares"}
        assert len(rephraser.asked) == 1


async def test_a_filter_holds_for_other_wordings(opening: Opening, rephraser: Rephraser) -> None:
    async with opening({"expansion.endpoint": rephraser.url}) as services:
        await _fill(services)
        assert (await asker(services)("remember", title="tagged", content="the ferry", tags=["boat"])).ok
        for mode in ("keyword", "hybrid", "semantic"):
            assert set(await _found(services, "ferry", mode=mode, tags=["boat"])) == {"tagged"}


async def test_finding_what_is_like_an_item_asks_nobody(opening: Opening, rephraser: Rephraser) -> None:
    async with opening({"expansion.endpoint": rephraser.url}) as services:
        await _fill(services)
        one = (await asker(services)("recall", query="ferry")).content["hits"][0]["id"]
        rephraser.asked.clear()
        assert (await asker(services)("search", query="ferry crossing", similar_to=one)).content["hits"]
        assert rephraser.asked == []


async def test_an_endpoint_that_is_down_costs_the_wordings_and_says_so(opening: Opening, rephraser: Rephraser) -> None:
    async with opening() as services:
        await _fill(services)
        plain = await _found(services, "ferry")
    url = rephraser.url
    rephraser.answer = lambda request: rephraser.reply(request, 500, b"")
    for address, why in ((url, "the endpoint answered 500"), ("http://127.0.0.1:1/", "the endpoint cannot be reached")):
        async with opening({"expansion.endpoint": address}) as services:
            assert await _found(services, "ferry") == plain
            again = await asker(services)("recall", query="ferry mode", mode="keyword")
            assert again.content["warnings"] == ["searched without other wordings: the endpoint failed a moment ago"]
        async with opening({"expansion.endpoint": address}) as services:
            said = (await asker(services)("recall", query="ferry")).content["warnings"]
            assert said == [f"searched without other wordings: {why}"]


async def test_an_endpoint_that_is_slow_is_not_waited_for(opening: Opening, rephraser: Rephraser) -> None:
    rephraser.answer = lambda _: rephraser.released.wait(PATIENCE_S) and None
    async with opening({"expansion.endpoint": rephraser.url, "expansion.timeout_s": 0.05}) as services:
        await _fill(services)
        answer = await asker(services)("recall", query="ferry")
    assert answer.content["hits"]
    assert answer.content["warnings"] == ["searched without other wordings: the endpoint did not answer within 0.05 s"]
