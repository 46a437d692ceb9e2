"""What callers say of what they find moves a vault's threshold: within bounds, for a while, each by his share.

Covers vaults.search.relevance_threshold.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Asking, Opening, asker
from vaults import clock
from vaults.db.sql import Writer
from vaults.domain.retrieval.hybrid_search import NOTHING_LIKELY
from vaults.search import relevance_threshold
from vaults.search.relevance_threshold import (
    BOUND,
    DOUBTED,
    HALF_LIFE_DAYS,
    OPENED_WEIGHT,
    RelevanceVote,
    move_threshold,
    weigh_votes,
)
from vaults.settings import SearchSettings

NOW = "2026-11-26T12:00:00.000Z"
USUAL = SearchSettings().likely
LOWEST, HIGHEST = move_threshold(USUAL, -1), move_threshold(USUAL, 1)

votes = st.lists(
    st.builds(
        RelevanceVote,
        owner=st.sampled_from("abc"),
        at=st.sampled_from([NOW, "2026-10-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z"]),
        weight=st.sampled_from([1.0, -1.0, -OPENED_WEIGHT]),
    )
)


def said(owner: str, weight: float, times: int, days_ago: float = 0) -> list[RelevanceVote]:
    at = clock.to_text(datetime.fromisoformat(NOW) - timedelta(days=days_ago))
    return [RelevanceVote(owner, at, weight)] * times


@given(votes, st.integers(0, 50))
def test_whatever_is_said_the_threshold_stays_within_its_bounds(some: list[RelevanceVote], callers: int) -> None:
    assert LOWEST <= move_threshold(USUAL, weigh_votes(some, callers, NOW)) <= HIGHEST
    assert 0.3 < LOWEST < USUAL < HIGHEST < 0.5


@given(votes, votes, st.integers(1, 50))
def test_nobody_moves_it_further_than_his_share(
    others: list[RelevanceVote], flood: list[RelevanceVote], n: int
) -> None:
    one = [RelevanceVote("flooder", each.at, 1.0) for each in flood]
    callers = n + len({vote.owner for vote in others} | {"flooder"})
    without, moved = weigh_votes(others, callers, NOW), weigh_votes([*others, *one * 100], callers, NOW)
    assert abs(moved - without) <= 1 / callers


def test_a_flood_of_one_is_outweighed_by_two_who_say_little() -> None:
    flood = said("mallory", 1.0, 5_000)
    few = [*said("ann", -1.0, 15), *said("ben", -1.0, 15)]
    assert weigh_votes(flood, 10, NOW) <= 0.1
    assert weigh_votes([*flood, *few], 10, NOW) < 0


def test_wrong_raises_it_useful_and_opened_lower_it() -> None:
    assert weigh_votes(said("ann", 1.0, 3), 1, NOW) > 0
    assert weigh_votes(said("ann", -1.0, 3), 1, NOW) < weigh_votes(said("ann", -OPENED_WEIGHT, 3), 1, NOW) < 0
    assert weigh_votes([], 0, NOW) == 0


def test_what_was_said_fades() -> None:
    seen = [weigh_votes(said("ann", 1.0, 5, days), 1, NOW) for days in (0, HALF_LIFE_DAYS, 4 * HALF_LIFE_DAYS)]
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] < seen[0] / 4


@pytest.mark.parametrize("off", [0.0, 1.0])
def test_a_threshold_that_holds_nothing_back_or_all_is_meant_so(off: float) -> None:
    assert move_threshold(off, 1.0) == move_threshold(off, -1.0) == off
    assert move_threshold(0.9, -1.0) > 0.5, f"moved by {BOUND} in log odds"


async def test_feedback_moves_it_at_once_and_explain_and_status_say_why(ask: Asking) -> None:
    before = (await ask("status")).content["relevance"]
    assert (before["likely"], before["usual"], before.get("wrong")) == (USUAL, USUAL, None)
    for tool in ("recall", "search", "context", "memory_list"):
        assert (await ask("feedback", type="wrong_tool", tool=tool)).ok
    assert (await ask("feedback", type="right_tool", tool="recall")).ok
    now = (await ask("status")).content["relevance"]
    assert (now["wrong"], now["useful"], now["usual"]) == (3, 1, USUAL), "of tools that find, and no others"
    assert USUAL < now["likely"] <= HIGHEST
    assert (await ask("explain", query="ferry")).content["threshold"] == now


async def test_what_is_opened_in_spite_of_a_doubt_lowers_it_also_after_a_restart(opening: Opening) -> None:
    flags = {"embedding.engine": "off", "search.likely": 0.9}
    async with opening(flags) as services:
        ask = asker(services)
        stored = await ask("remember", content="The harbour ferry leaves at nine.")
        for _ in range(2):
            found = await ask("recall", query="what was the favourite horse of Napoleon at the harbour of Elba")
            assert NOTHING_LIKELY in found.content["warnings"]
            assert (await ask("memory_get", ids=[stored.content["id"]])).ok
        assert (await ask("memory_get", ids=[stored.content["id"]])).ok, "nothing was asked before"
    seen = []
    for _ in range(2):
        async with opening(flags) as services:
            seen.append((await asker(services)("status")).content["relevance"])
    assert seen[0].get("opened") == 2
    assert move_threshold(0.9, -1) <= seen[0]["likely"] < 0.9
    assert abs(seen[0]["likely"] - seen[1]["likely"]) < 0.001


async def test_only_what_is_opened_soon_and_in_the_same_session_counts(opening: Opening) -> None:
    def write(tx: Writer) -> None:
        for handle in ("one", "two"):
            tx.run(
                "INSERT INTO sessions (id, owner, name, who, transport, workspace, status, started_at, seen_at)"
                " VALUES (:id, 'ann', :id, 'ann', 'http', '*', 'active', :at, :at)",
                {"id": handle, "at": NOW},
            )
        for minute, session, tool, summary in (
            (0, 1, "recall", DOUBTED),
            (1, 2, "fetch", "another session"),
            (2, 1, "recall", "recalled memories"),
            (3, 1, "fetch", "what was found the second time"),
            (4, 1, "search", DOUBTED),
            (40, 1, "fetch", "much later"),
        ):
            at = clock.to_text(datetime.fromisoformat(NOW) + timedelta(minutes=minute))
            tx.run(
                "INSERT INTO events (at, session, owner, tool, type, summary, outcome, ms, tokens_in, tokens_out)"
                " VALUES (:at, (SELECT MIN(seq) - 1 FROM sessions WHERE owner = 'ann') + :session, 'ann', :tool,"
                " 'tool_call', :summary, 'ok', 1.0, 1, 1)",
                {"at": at, "session": session, "tool": tool, "summary": summary},
            )

    async with opening() as services, services.pool.lease(services.registry_cache.entry("main")) as vault:
        await vault.db.write(write)
        found = await vault.db.read(lambda tx: relevance_threshold.read_threshold(tx, USUAL, NOW))
    assert (found.opened, found.likely) == (0, USUAL)
