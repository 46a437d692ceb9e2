"""Claims: who works on what. Advisory, all or none, gone with their session.

Covers vaults.domain.continuity.claims.
"""

from __future__ import annotations

import asyncio

import pytest

from auth.roles import Role
from server.services import Services
from tests.conftest import Asking, Opening, asker
from tests.people import person, rewrite, rows
from tests.server.rendering.answers import is_told


async def test_a_claim_is_seen_by_every_reader_with_who_since_and_what_for(services: Services) -> None:
    ann, bob = await person(services, "ann", client="editor"), await person(services, "bob", Role.READER)
    claimed = await ann("claims", action="claim", resources=["src/db.ts", "task:refactor"], description="new driver")
    assert [each["resource"] for each in claimed.content["claims"]] == ["src/db.ts", "task:refactor"]
    seen = (await bob("claims", resources=["src/db.ts"])).content
    (held,) = seen["claims"]
    assert held.pop("since")
    assert held == {
        "resource": "src/db.ts", "who": "ann", "client": "editor", "description": "new driver",
    }  # fmt: skip
    assert (await bob("claims")).content["total"] == 2


async def test_claiming_what_another_holds_claims_nothing_and_says_who_holds_it(services: Services) -> None:
    ann, bob = await person(services, "ann"), await person(services, "bob")
    await ann("claims", action="claim", resources=["b"], description='say "hi"\nnow')
    refused = await bob("claims", action="claim", resources=["a", "b", "c"])
    assert refused.code == "conflict"
    (held,) = refused.content["error"]["details"]["held_by"]
    assert (held["resource"], held["who"]) == ("b", "ann")
    assert {"since", "description"} <= held.keys()
    assert "b (ann since" in refused.text
    assert "\n" not in refused.text
    assert [each["resource"] for each in (await bob("claims")).content["claims"]] == ["b"]


async def test_claiming_again_keeps_since_and_takes_the_new_reason(services: Services) -> None:
    ann = await person(services, "ann")
    (first,) = (await ann("claims", action="claim", resources=["a"], description="one")).content["claims"]
    (again,) = (await ann("claims", action="claim", resources=["a", "a"], description="two")).content["claims"]
    assert (again["since"], again["description"]) == (first["since"], "two")
    (kept,) = (await ann("claims", action="claim", resources=["a"])).content["claims"]
    assert kept["description"] == "two"


async def test_two_sessions_of_one_person_keep_out_of_each_others_way(services: Services) -> None:
    one, two = await person(services, "ann", session="one"), await person(services, "ann", session="two")
    await one("claims", action="claim", resources=["a"])
    assert (await two("claims", action="claim", resources=["a"])).code == "conflict"
    # A session that was killed cannot give back what it held: its principal can.
    assert (await two("claims", action="release", resources=["a"])).content["released"] == ["a"]
    assert (await two("claims", action="claim", resources=["a"])).ok


async def test_only_who_holds_a_claim_gives_it_back(services: Services) -> None:
    ann, bob = await person(services, "ann"), await person(services, "bob")
    await ann("claims", action="claim", resources=["a", "b", "c"])
    await bob("claims", action="claim", resources=["d"])
    refused = await bob("claims", action="release", resources=["d", "a"])
    assert (refused.code, refused.content["error"]["details"]["held_by"][0]["who"]) == ("conflict", "ann")
    assert (await bob("claims")).content["total"] == 4
    assert (await ann("claims", action="release", resources=["a", "nobody's"])).content["released"] == ["a"]
    everything = await ann("claims", action="release_all")
    assert sorted(everything.content["released"]) == ["b", "c"]
    assert everything.content["claims"] == []
    assert [each["resource"] for each in (await ann("claims")).content["claims"]] == ["d"]


async def test_claims_of_a_session_that_fell_silent_do_not_count(services: Services) -> None:
    ann, bob = await person(services, "ann"), await person(services, "bob")
    await ann("claims", action="claim", resources=["a"])
    await rewrite(services, "UPDATE sessions SET seen_at = '2026-01-01T00:00:00.000Z' WHERE who = 'ann'")
    assert (await bob("claims")).content["claims"] == []
    assert (await bob("claims", action="claim", resources=["a"])).ok


async def test_claims_go_when_their_session_is_saved(services: Services) -> None:
    ann, bob = await person(services, "ann"), await person(services, "bob")
    await ann("claims", action="claim", resources=["a"])
    await ann("session_save", summary="done for today")
    assert (await bob("claims", action="claim", resources=["a"])).ok


async def test_claims_go_when_the_server_stops(opening: Opening) -> None:
    async with opening() as services:
        ann = await person(services, "ann")
        await ann("claims", action="claim", resources=["a"])
    async with opening() as services:
        bob = await person(services, "bob")
        assert (await bob("claims", action="claim", resources=["a"])).ok


async def test_a_completed_session_claims_nothing(services: Services) -> None:
    ann = await person(services, "ann")
    handle = (await ann("session_resume")).content["session"]["id"]
    await ann("session_save", status="completed")
    refused = await ann("claims", action="claim", resources=["a"], session=handle)
    assert refused.code == "conflict"
    assert "ended" in refused.text


async def test_of_many_who_claim_at_once_one_wins(services: Services) -> None:
    askers = [await person(services, f"agent-{number}") for number in range(8)]
    outcomes = await asyncio.gather(*(ask("claims", action="claim", resources=["x", "y"]) for ask in askers))
    assert sorted(outcome.code or "" for outcome in outcomes) == ["", *["conflict"] * 7]


async def test_each_resource_is_an_event_of_the_session(services: Services) -> None:
    ann = await person(services, "ann")
    await ann("claims", action="claim", resources=["a", "b"])
    await ann("claims", action="release", resources=["a"])
    events = await rows(services, "SELECT type, resource FROM events WHERE type <> 'tool_call' ORDER BY seq")
    assert events == [("claim", "a"), ("claim", "b"), ("release", "a")]


async def test_a_claim_never_hinders_a_write(services: Services) -> None:
    ann, bob = await person(services, "ann"), await person(services, "bob")
    await ann("claims", action="claim", resources=["plan.md"])
    assert (await bob("note_write", path="plan", content="mine")).ok


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"action": "claim"}, "resources"),
        ({"action": "claim", "resources": []}, "resources"),
        ({"action": "claim", "resources": [" "]}, "resources"),
        ({"action": "claim", "resources": ["two\nlines"]}, "resources"),
        ({"action": "claim", "resources": ["\u202egnp.exe"]}, "resources"),
        ({"action": "claim", "resources": ["x" * 301]}, "resources"),
        ({"action": "claim", "resources": [str(n) for n in range(51)]}, "resources"),
        ({"action": "claim", "resources": ["a"], "description": "x" * 501}, "description"),
        ({"action": "steal", "resources": ["a"]}, "action"),
    ],
)
async def test_bad_claims_are_refused_by_name(ask: Asking, arguments: dict[str, object], field: str) -> None:
    outcome = await ask("claims", **arguments)
    assert outcome.code == "invalid_argument"
    assert outcome.content["error"]["details"]["field"].startswith(field)


async def test_a_session_cannot_claim_the_world(ask: Asking) -> None:
    for page in range(10):
        assert (await ask("claims", action="claim", resources=[f"{page}-{n}" for n in range(50)])).ok
    assert (await ask("claims", action="claim", resources=["one more"])).code == "quota_exceeded"
    listed = (await ask("claims", max_tokens=50_000)).content
    assert (len(listed["claims"]), listed["total"]) == (200, 500)
    brief = (await ask("claims")).content
    assert 0 < len(brief["claims"]) < 200
    assert (brief["total"], brief["truncated"]) == (500, True)


async def test_claims_of_another_vault_are_not_seen(opening: Opening) -> None:
    async with opening(vaults=("mine", "theirs")) as services:
        theirs = await person(services, "bob", vault="theirs")
        await theirs("claims", action="claim", resources=["secret plan"])
        mine = await person(services, "ann", vault="mine")
        assert (await mine("claims")).content["claims"] == []
        assert (await mine("claims", action="claim", resources=["secret plan"])).ok
        assert (await (await person(services, "ann", vault="mine"))("claims")).content["total"] == 1


async def test_the_owner_and_a_bearer_share_one_list(services: Services) -> None:
    ann = await person(services, "ann")
    await ann("claims", action="claim", resources=["a"])
    seen = await asker(services)("claims")
    assert is_told(seen.text, "resource a", "who ann", "since")


async def test_a_session_of_somebody_else_cannot_be_claimed_for(services: Services) -> None:
    ann, bob = await person(services, "ann"), await person(services, "bob")
    handle = (await ann("session_resume")).content["session"]["id"]
    foreign = await bob("claims", action="claim", resources=["a"], session=handle)
    assert foreign.code == "not_found"
    assert (await bob("handoff_load", accept=True, session=handle)).code == "not_found"
    assert (await ann("claims")).content["claims"] == []
