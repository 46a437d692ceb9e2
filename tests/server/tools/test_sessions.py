"""Sessions as callers live them: begun unasked, kept by handle, saved, left, found again.

Covers server.activity_recorder, vaults.activity_log.sessions, vaults.activity_log.stale_sessions,
vaults.domain.continuity.resume_brief, vaults.domain.continuity.session_events, vaults.domain.continuity.sessions.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Opening, asker, local
from tests.people import give_role, rewrite
from vaults import clock
from vaults.vault import Vault


async def granted(services: Services, *subjects: str, vault: str = "main", role: Role = Role.WRITER) -> None:
    for subject in subjects:
        await give_role(services, subject, role, vault=vault)


def caller(subject: str, vault: str = "main", **more: Any) -> Caller:
    return Caller(local(subject), vault, Role.WRITER, "http", **more)


async def in_vault(services: Services, vault: str = "main") -> Vault:
    async with services.pool.lease(services.registry_cache.entry(vault)) as held:
        return held


async def test_a_session_begins_with_the_first_call_and_goes_on_with_the_next(services: Services) -> None:
    await granted(services, "ann")
    ask = asker(services, caller("ann"))
    assert (await ask("remember", content="The gate code is on the fridge", type="fact")).ok
    first = (await ask("session_resume")).content
    again = (await ask("session_resume")).content
    assert first["session"]["id"] == again["session"]["id"]
    (own,) = first["sessions"]
    assert own["yours"]
    assert own["status"] == "active"
    assert own["who"] == "ann"
    assert [event["event_type"] for event in own["activity_log"]] == ["memory_stored"]
    assert own["activity_log"][0]["title"] == "The gate code is on the fridge"


async def test_the_same_caller_from_two_programs_is_in_two_sessions(services: Services) -> None:
    await granted(services, "ann")
    one = (await asker(services, caller("ann", client="editor"))("session_resume")).content
    two = (await asker(services, caller("ann", client="terminal"))("session_resume")).content
    assert one["session"]["id"] != two["session"]["id"]
    assert [view["client"] for view in two["concurrent"]] == ["editor"]


async def test_a_name_of_the_clients_own_opens_a_session_and_finds_it_again(services: Services) -> None:
    await granted(services, "ann", "ben")
    named = asker(services, caller("ann", session="run-7"))
    first = (await named("session_resume")).content["session"]["id"]
    assert (await named("session_resume")).content["session"]["id"] == first
    plain = asker(services, caller("ann"))
    assert (await plain("session_resume", session="run-7")).content["session"]["id"] == first
    assert (await plain("session_resume", session=first)).content["session"]["id"] == first
    other = (await asker(services, caller("ben", session="run-7"))("session_resume")).content["session"]
    assert other["id"] != first


async def test_a_handle_that_is_anothers_made_up_or_of_another_vault_is_not_found(opening: Opening) -> None:
    async with opening(vaults=("main", "side")) as services:
        await granted(services, "ann", "ben")
        await granted(services, "ann", vault="side")
        handle = (await asker(services, caller("ann"))("session_resume")).content["session"]["id"]
        made_up = handle[:-4] + ("0000" if handle[-4:] != "0000" else "1111")
        asked = (
            await asker(services, caller("ben"))("session_resume", session=handle),
            await asker(services, caller("ben"))("session_resume", session=made_up),
            await asker(services, caller("ben", session=handle))("session_resume"),
            await asker(services, caller("ann", "side"))("session_resume", session=handle),
            await asker(services, caller("ann"))("session_resume", session="never heard of"),
        )
        assert [outcome.code for outcome in asked] == ["not_found"] * 5
        assert asked[0] == asked[1]


async def test_saving_ends_a_session_and_tells_the_next_where_to_go_on(services: Services) -> None:
    await granted(services, "ann", "ben")
    ann, ben = asker(services, caller("ann")), asker(services, caller("ben"))
    kept = await ann(
        "session_save", summary="Half the tests pass", goal="Green", actions=["ran them"], outcomes=["12 of 24"],
        where_left_off="tests/db", metadata={"branch": "db"}, status="completed",
    )  # fmt: skip
    assert kept.content["session"]["status"] == "completed"
    (seen,) = (await ben("session_resume")).content["sessions"]
    told = {name: seen[name] for name in ("summary", "goal", "actions", "outcomes", "where_left_off", "metadata")}
    assert told == {
        "summary": "Half the tests pass", "goal": "Green", "actions": ["ran them"], "outcomes": ["12 of 24"],
        "where_left_off": "tests/db", "metadata": {"branch": "db"},
    }  # fmt: skip
    assert seen["ended_at"]
    assert "yours" not in seen
    fresh = (await ann("session_resume")).content["session"]
    assert fresh["id"] != seen["id"]


async def test_a_paused_session_goes_on_with_the_next_call_and_a_completed_one_only_takes_it_down(
    services: Services,
) -> None:
    await granted(services, "ann")
    ann = asker(services, caller("ann"))
    handle = (await ann("session_save", summary="a pause")).content["session"]["id"]
    gone_on = (await ann("session_resume")).content["session"]
    assert (gone_on["id"], gone_on["status"], gone_on["summary"]) == (handle, "active", "a pause")
    await ann("session_save", status="completed")
    assert (await ann("remember", content="one thing more", session=handle)).ok
    (done, *_) = (await ann("session_history", status="completed")).content["sessions"]
    assert (done["id"], done["status"]) == (handle, "completed")
    assert {"tool": "remember", "calls": 1, "failed": 0} in done["tools"]


async def test_a_failed_call_stands_in_the_log_as_failed(services: Services) -> None:
    await granted(services, "ann")
    ann = asker(services, caller("ann"))
    assert (await ann("memory_update", id="gone", tier="hot")).code == "not_found"
    assert (await ann("remember")).code == "invalid_argument"
    (own,) = (await ann("session_resume")).content["sessions"]
    assert [event["summary"] for event in own["activity_log"]] == [
        "[FAILED] memory_update: not_found",
        "[FAILED] remember: invalid_argument",
    ]


async def test_nobody_reads_of_anothers_private_memory_in_the_log(services: Services) -> None:
    await granted(services, "ann", "ben")
    ann, ben = asker(services, caller("ann")), asker(services, caller("ben"))
    own = (await ann("remember", content="a private canary", visibility="private")).content["id"]
    assert (await ann("memory_get", ids=[own])).ok
    seen = await ben("session_resume")
    assert own not in str(seen.content)
    assert "canary" not in str(seen.content)
    kinds = {event["event_type"] for view in seen.content["sessions"] for event in view.get("activity_log", ())}
    assert not kinds
    assert "canary" in str((await ann("session_resume")).content)


async def test_a_purged_memory_leaves_no_title_and_no_id_in_the_log(services: Services) -> None:
    await granted(services, "ann", role=Role.ADMIN)
    ann = asker(services, replace(caller("ann"), role=Role.ADMIN))
    own = (await ann("remember", content="to be gone")).content["id"]
    assert (await ann("memory_forget", ids=[own], purge=True, confirmed=True)).ok
    seen = str((await ann("session_resume")).content)
    assert "to be gone" not in seen
    assert own not in seen


async def test_that_another_had_a_private_memory_is_not_told_once_it_is_purged(services: Services) -> None:
    await granted(services, "ann", role=Role.ADMIN)
    await granted(services, "ben")
    ann, ben = asker(services, replace(caller("ann"), role=Role.ADMIN)), asker(services, caller("ben"))
    own = (await ann("remember", content="a secret", type="decision", visibility="private")).content["id"]
    assert (await ann("memory_forget", ids=[own], purge=True, confirmed=True)).ok
    seen = (await ben("session_resume")).content
    assert [event for view in seen["sessions"] for event in view.get("activity_log", ())] == []
    assert "recent_activity" not in seen


async def test_who_is_silent_for_too_long_is_paused_and_begins_anew(services: Services) -> None:
    await granted(services, "ann", "ben")
    ann, ben = asker(services, caller("ann")), asker(services, caller("ben"))
    old = (await ann("session_resume")).content["session"]["id"]
    await rewrite(services, "UPDATE sessions SET seen_at = ? WHERE id = ?", clock.ago(1801), old)
    assert "concurrent" not in (await ben("session_resume")).content
    (left,) = (await ben("session_history", status="paused")).content["sessions"]
    assert left["id"] == old
    assert left["ended_at"]


async def test_a_clock_that_was_set_back_keeps_no_session_alive(services: Services) -> None:
    await granted(services, "ann", "ben")
    ann, ben = asker(services, caller("ann")), asker(services, caller("ben"))
    await ann("session_resume")
    await rewrite(services, "UPDATE sessions SET seen_at = '2099-01-01T00:00:00.000Z'")
    seen = (await ben("session_resume")).content
    assert not {"concurrent", "concurrent_total"} & seen.keys()


async def test_sessions_of_a_process_that_ended_are_paused_and_found_again(opening: Opening) -> None:
    async with opening() as services:
        await granted(services, "ann")
        handle = (await asker(services, caller("ann"))("session_resume")).content["session"]["id"]
    async with opening() as services:
        ann = asker(services, caller("ann"))
        (left,) = (await ann("session_history", status="paused")).content["sessions"] or [{"id": handle}]
        assert left["id"] == handle
        assert (await ann("session_resume", session=handle)).content["session"]["status"] == "active"


async def test_what_others_did_in_the_last_ten_minutes_is_told(services: Services) -> None:
    await granted(services, "ann", "ben")
    ann, ben = asker(services, caller("ann")), asker(services, caller("ben"))
    await ann("remember", content="An old hat", type="fact")
    await rewrite(services, "UPDATE events SET at = ?", clock.ago(601))
    await ann("remember", content="A new hat", type="fact")
    (event,) = (await ben("session_resume")).content["recent_activity"]
    assert (event["title"], event["who"]) == ("A new hat", "ann")


async def test_ten_thousand_open_sessions_are_counted_and_not_listed(services: Services) -> None:
    await granted(services, "ann")
    row = (
        "INSERT INTO sessions (id, owner, name, who, transport, workspace, status, started_at, seen_at) WITH RECURSIVE"
        " n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) SELECT 'x' || i, 'o' || i, '~', 'w', 'http',"
        " 'global', 'active', ?, ? FROM n"
    )
    await asker(services, caller("ann"))("status")
    await rewrite(services, row, clock.now(), clock.now())
    ann = asker(services, caller("ann"))
    seen = (await ann("session_resume", max_tokens=5000)).content
    assert seen["concurrent_total"] == 10_000
    assert len(seen["concurrent"]) == 20
    brief = await ann("session_resume")
    assert brief.content["truncated"]
    assert brief.content["concurrent_total"] == 10_000
    assert "concurrent_total: 10000" in brief.text


async def test_a_caller_has_at_most_so_many_sessions_open(opening: Opening) -> None:
    async with opening({"sessions.max_active": 3}) as services:
        await granted(services, "ann")
        for number in range(6):
            assert (await asker(services, caller("ann", session=f"run {number}"))("session_resume")).ok
        active = (await asker(services, caller("ann", session="run 5"))("session_history", status="active")).content
        assert active["total"] == 3


async def test_many_first_calls_at_once_begin_one_session(services: Services) -> None:
    await granted(services, "ann")
    ann = asker(services, caller("ann"))
    seen = await asyncio.gather(*(ann("session_resume") for _ in range(20)))
    assert len({each.content["session"]["id"] for each in seen}) == 1
    assert (await ann("session_history")).content["total"] == 1


async def test_history_tells_sessions_by_status_and_time(services: Services) -> None:
    await granted(services, "ann")
    ann = asker(services, caller("ann"))
    await ann("session_save", summary="first", status="completed")
    await ann("session_save", summary="second")
    assert [view["summary"] for view in (await ann("session_history", status="completed")).content["sessions"]] == [
        "first"
    ]
    assert (await ann("session_history", until="2020-01-01")).content["total"] == 0
    page = (await ann("session_history", limit=1)).content
    assert page["truncated"]
    assert page["total"] == 2
    assert (await ann("session_history", since="yesterday")).code == "invalid_argument"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("session_resume", {"limit": 0}),
        ("session_resume", {"max_tokens": 0}),
        ("session_resume", {"limit": 51}),
        ("session_save", {"summary": "x" * 2001}),
        ("session_save", {"summary": " "}),
        ("session_save", {"actions": ["x"] * 51}),
        ("session_save", {"status": "active"}),
        ("session_save", {"metadata": {"k": float("nan")}}),
        ("session_history", {"status": "gone"}),
    ],
)
async def test_what_does_not_fit_is_refused_by_name(services: Services, tool: str, arguments: dict[str, Any]) -> None:
    await granted(services, "ann")
    assert (await asker(services, caller("ann"))(tool, **arguments)).code == "invalid_argument"


async def test_less_is_told_of_each_session_before_the_oldest_are_left_out_and_that_is_said(services: Services) -> None:
    await granted(services, "ann")
    ann = asker(services, caller("ann"))
    for number in range(6):
        await ann("session_save", summary=f"{number} " + "word " * 300, status="completed")
    seen = (await ann("session_resume", limit=6, max_tokens=1500)).content
    assert seen["truncated"]
    assert [view["summary"][0] for view in seen["sessions"]] == ["5", "4", "3", "2", "1", "0"]
    assert {len(view["summary"]) < 700 for view in seen["sessions"]} == {True}
    few = await ann("session_resume", limit=6, max_tokens=350)
    shown = [view["summary"][0] for view in few.content["sessions"]]
    assert few.content["truncated"]
    assert 0 < len(shown) < 6
    assert shown == ["5", "4", "3", "2", "1", "0"][: len(shown)]
    assert any(line.startswith("- There is more") for line in few.text.splitlines())
    assert "truncated" not in (await ann("session_resume", limit=2, max_tokens=3000)).content


async def test_what_the_last_session_left_is_told_before_what_was_done_lately(services: Services) -> None:
    await granted(services, "ann", "ben")
    ann, ben = asker(services, caller("ann")), asker(services, caller("ben"))
    for number in range(5):
        await ann("session_save", summary=f"did part {number}", where_left_off=f"at {number}", status="completed")
    for number in range(12):
        assert (await ben("remember", content=f"fact {number} of the harbour", type="fact")).ok
        assert (await ann("claims", action="claim", resources=[f"src/{number}.py"])).ok
    seen = await ben("session_resume")
    assert [view.get("where_left_off") for view in seen.content["sessions"]][:2] == [None, "at 4"]
    assert "did part 4" in seen.text


async def test_what_a_server_served_is_given_back_when_it_stops_and_what_a_command_claimed_is_not(
    opening: Opening,
) -> None:
    async with opening() as services:
        await granted(services, "ann")
        assert (await asker(services, caller("ann"))("claims", action="claim", resources=["served"])).ok
        assert (await asker(services)("claims", action="claim", resources=["typed"])).ok
    async with opening() as services:
        held = (await asker(services)("claims")).content["claims"]
        assert [(claim["resource"], claim["yours"]) for claim in held] == [("typed", True)]


async def test_a_thread_whose_memories_became_private_is_no_more_named(services: Services) -> None:
    await granted(services, "ann", "ben")
    ann, ben = asker(services, caller("ann")), asker(services, caller("ben"))
    told = (await ann("remember", content="Told by mistake", thread="surprise party")).content["id"]
    await ann("checkpoint", reason="begun", state={"n": 1}, thread="the harbour")
    assert "surprise party" in str((await ben("session_resume")).content)
    assert (await ann("memory_update", id=told, visibility="private")).ok
    for tool in ("session_resume", "session_history"):
        theirs, own = str((await ben(tool)).content), str((await ann(tool)).content)
        assert "surprise party" not in theirs
        assert "the harbour" in theirs
        assert "surprise party" in own


async def test_nobody_counts_anothers_private_memories_by_what_was_done_to_them(services: Services) -> None:
    await granted(services, "ann", "ben")
    ann, ben = asker(services, caller("ann")), asker(services, caller("ben"))
    shared = (await ann("remember", content="The pump is red")).content["id"]
    own = [(await ann("remember", content=f"My pump {n}", visibility="private")).content["id"] for n in range(6)]
    assert (await ann("remember", content="My pump 5", visibility="private")).content["duplicate_of"] == own[-1]
    assert len((await ann("recall", query="pump")).content["hits"]) == 7
    assert (await ann("memory_forget", ids=[shared, *own[:5]])).ok
    await rewrite(services, "DELETE FROM memories WHERE id = ?", own[-1])  # as a purge does
    seen = (await ben("session_resume")).content
    assert own[-1] not in str(seen)
    log = seen["sessions"][0]["activity_log"]
    assert [event["summary"] for event in log] == ["stored a memory of type raw", "archived memories"]
    (session,) = [each for each in (await ben("session_history")).content["sessions"] if each["who"] == "ann"]
    assert {use["tool"]: use["calls"] for use in session["tools"]} == {"remember": 1, "recall": 1, "memory_forget": 1}


async def test_a_handle_is_the_same_in_capitals_and_what_is_no_text_is_no_handle(services: Services) -> None:
    await granted(services, "ann", "ben")
    ann, ben = asker(services, caller("ann")), asker(services, caller("ben"))
    handle = (await ann("session_resume")).content["session"]["id"]
    assert (await ann("session_resume", session=handle.upper())).content["session"]["id"] == handle
    named = asker(services, caller("ann", session=handle.upper()))
    assert (await named("session_resume")).content["session"]["id"] == handle
    assert (await ben("session_resume", session=handle.upper())).code == "not_found"
    for nothing in ("\ud800", "a\x00", "\u202e"):
        assert (await ann("session_resume", session=nothing)).code == "not_found"


@pytest.mark.parametrize("name", [None, "the-refactoring"])
async def test_a_session_that_another_process_completed_is_not_gone_on_with(
    services: Services, name: str | None
) -> None:
    await granted(services, "ann")
    ann = asker(services, caller("ann", session=name))
    before = (await ann("session_resume")).content["session"]["id"]
    await rewrite(services, "UPDATE sessions SET status = 'completed' WHERE id = ?", before)
    claimed = await ann("claims", action="claim", resources=["a"])
    assert claimed.ok, claimed.text
    assert (await ann("session_resume")).content["session"]["id"] != before


async def test_a_completed_session_that_is_saved_once_more_stays_completed(services: Services) -> None:
    await granted(services, "ann")
    ann = asker(services, caller("ann"))
    handle = (await ann("session_save", summary="done", status="completed")).content["session"]["id"]
    again = (await ann("session_save", session=handle, summary="done, with a remark")).content["session"]
    assert (again["status"], again["summary"]) == ("completed", "done, with a remark")
    assert (await ann("session_resume")).content["session"]["id"] != handle


async def test_a_session_is_opened_by_its_handle_with_what_it_did_and_handed_over(services: Services) -> None:
    await granted(services, "ann", "bob", "cid")
    ann, bob, cid = (asker(services, caller(name)) for name in ("ann", "bob", "cid"))
    assert (await ann("remember", content="The gate code is on the fridge")).ok
    assert (await ann("remember", content="Mine alone", visibility="private")).ok
    words = {"goal": "Paint", "current_state": "Half", "next_action": "Go on"}
    for to in (None, "bob"):
        assert (await ann("handoff_create", **words, **({"to": to} if to else {}))).ok
    assert (await bob("handoff_load", accept=True)).ok
    handle = (await ann("session_resume")).content["session"]["id"]

    opened = (await ann("session_history", id=handle)).content
    kinds = [event["event_type"] for event in opened["sessions"][0]["activity_log"]]
    assert kinds == ["memory_stored", "memory_stored", "handoff_created", "handoff_created"]
    assert [each.get("to") for each in opened["handoffs"]] == ["bob", None]
    seen = (await cid("session_history", id=handle)).content
    assert [event["event_type"] for event in seen["sessions"][0]["activity_log"]] == ["memory_stored", *kinds[2:]]
    assert [each.get("to") for each in seen["handoffs"]] == [None], "the other is for bob"
    assert (await cid("session_history", id="nowhere")).code == "not_found"

    taker = (await bob("session_resume")).content["session"]["id"]
    assert (await bob("session_history", id=taker)).content["handoffs"][0]["session"] == handle
    assert "handoffs" not in (await ann("session_history")).content
    assert len((await bob("session_history", handoffs=True)).content["handoffs"]) == 2


async def test_a_log_that_is_too_long_keeps_its_end(services: Services) -> None:
    await granted(services, "ann")
    ask = asker(services, caller("ann"))
    for number in range(30):
        assert (await ask("remember", content=f"The number of the {number}th berth is {number}")).ok
    handle = (await ask("session_resume")).content["session"]["id"]
    cut = (await ask("session_history", id=handle, max_tokens=1000)).content
    whole = (await ask("session_history", id=handle, max_tokens=50_000)).content
    log = whole["sessions"][0]["activity_log"]
    assert len(log) == 30
    assert cut["truncated"]
    kept = cut["sessions"][0]["activity_log"]
    assert 0 < len(kept) < 30
    assert kept == log[-len(kept) :]
