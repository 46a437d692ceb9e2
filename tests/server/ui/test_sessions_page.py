"""Sessions: who worked when on what, as a list, as lanes of a day, and each by itself with what it did and left.

Covers server.ui.sessions_page, server.ui.session_page and server.ui.session_lanes.
"""

from __future__ import annotations

import re
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from auth.principal import owner
from auth.roles import Role
from server.call import Caller
from server.dispatch import dispatch
from server.ui.session_lanes import LEAST, WIDTH, draw_lanes, sessions_of_day
from server.ui.session_page import list_claimed, place_of
from server.ui.sessions_page import read_day
from tests.server.ui.stage import HOSTILE, Stage, open_stage

pytestmark = pytest.mark.asyncio(loop_scope="module")

DAY = date(2026, 11, 25)


def session(handle: str, first: str, last: str, who: str = "ana", **more: Any) -> dict[str, Any]:
    return {
        "id": handle, "who": who, "status": "paused", "started_at": f"2026-11-{first}:00Z",
        "seen_at": f"2026-11-{last}:00Z", **more,
    }  # fmt: skip


async def test_each_session_says_what_it_did_and_left(stage: Stage) -> None:
    await stage.ask(
        "session_save", goal=f"Paint the cranes {HOSTILE[:60]}", summary="Two are painted", where_left_off="The third"
    )
    guest = await stage.person("anna", Role.READER)
    page = (await guest.open("/ui/v/main/sessions")).text
    for said in ("Paint the cranes", "Two are painted", "The third", "session_save", "anna", "&lt;script&gt;"):
        assert said in page
    assert "<script>alert" not in page
    only = (await guest.open("/ui/v/main/sessions?status=paused")).text
    assert "Two are painted" in only
    assert "at work</span>" not in only
    assert "0 sessions" in (await guest.open("/ui/v/main/sessions?until=2000-01-01&status=odd")).text


async def test_a_day_that_is_none_stands_beside_the_form(stage: Stage) -> None:
    guest = await stage.person("bert", Role.READER)
    page = await guest.open("/ui/v/main/sessions?since=soon")
    assert page.status_code == 422
    assert "since must be" in page.text
    for odd in ("soon", "0001-01-01", "9999-12-31", "<b>"):
        assert (await guest.open(f"/ui/v/main/sessions?day={odd}")).status_code == 200
    assert "Nobody worked here on this day." in (await guest.open("/ui/v/main/sessions?day=2001-02-03")).text


async def test_the_bars_of_a_day_lead_to_sessions_that_tell_what_they_did(stage: Stage) -> None:
    memory = await stage.remember("The ferry leaves at nine", title="The <ferry>")
    await stage.ask("note_write", path="trips/Ferry & co.md", content="# Ferry\n")
    await stage.ask("claims", action="claim", resources=["task:ferry"])
    left = (await stage.ask("handoff_create", goal="Fetch the <ferry>", current_state="At sea", next_action="Wait"))[
        "handoff"
    ]
    await stage.ask("claims", action="release", resources=["task:ferry"])
    guest = await stage.person("carla")
    listed = (await guest.open("/ui/v/main/sessions")).text
    bar = re.search(rf'<a href="(/ui/v/main/sessions/{left["session"]})" aria-label="owner', listed)
    assert bar is not None
    page = (await guest.open(bar[1])).text
    log = page.partition('id="log"')[2].partition("</ol>")[0]
    assert f'href="/ui/v/main/memories/{memory}"' in log
    assert 'href="/ui/v/main/notes/trips/Ferry%20%26%20co.md"' in log
    assert "<ferry>" not in page
    for said in ("Fetch the &lt;ferry&gt;", "At sea", "Wait", "waits"):
        assert said in page.partition('id="left"')[2]
    assert "task:ferry" in page.partition('id="claimed"')[2]
    assert "given back" in page.partition('id="claimed"')[2]


async def test_a_handoff_is_an_arrow_and_leads_from_session_to_session(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        said = await stage.ask("handoff_create", goal="Paint on", current_state="Half", next_action="Paint")
        left = said["handoff"]
        taker = await stage.person("dora")
        editor = Caller(owner("cli"), "main", Role.ADMIN, "cli", client="editor")
        assert (await dispatch(stage.services, editor, "handoff_load", {"accept": True, "id": left["id"]})).ok
        page = (await taker.open("/ui/v/main/sessions")).text
        assert 'marker-end="url(#arrow)"' in page
        assert "Paint on" in page.partition('aria-label="Handed over"')[2]
        giver = (await taker.open(f"/ui/v/main/sessions/{left['session']}")).text
        next_one = re.search(r'Taken over by <a href="([^"]+)"', giver)
        assert next_one is not None
        follow = (await taker.open(next_one[1])).text
        assert f'href="/ui/v/main/sessions/{left["session"]}"' in follow.partition('id="taken"')[2]


async def test_what_is_private_stays_private_and_what_is_not_there_says_so(stage: Stage) -> None:
    await stage.ask("remember", content="Mine alone", title="Secret <x>", visibility="private")
    guest = await stage.person("emil", Role.ADMIN)
    mine = next(each for each in (await stage.ask("session_history"))["sessions"] if each["who"] == "owner")
    page = (await guest.open(f"/ui/v/main/sessions/{mine['id']}")).text
    assert "Secret" not in page
    for odd in ("x", "a%2Fb", "%3Cscript%3E"):
        missing = await guest.open(f"/ui/v/main/sessions/{odd}")
        assert missing.status_code in (404, 422)
        assert "<script>" not in missing.text.partition("<main")[2]
    assert (await guest.open("/ui/v/main/sessions/")).status_code == 303
    elsewhere = await stage.person("olga", Role.ADMIN, "other")
    assert (await elsewhere.open(f"/ui/v/main/sessions/{mine['id']}")).status_code == 404


async def test_bars_stand_by_the_hour_in_the_lane_of_person_and_program() -> None:
    picture = draw_lanes(
        [
            session("a", "25T06:00", "25T12:00", client="editor"),
            session("b", "25T09:00", "25T09:00", client="editor"),
            session("c", "24T20:00", "25T01:00", who="bob"),
            session("d", "25T23:59", "25T23:59", who="bob"),
            session("no", "24T10:00", "24T11:00"),
        ],
        [],
        DAY,
    )
    assert picture is not None
    assert [(each.who, each.client) for each in picture.lanes] == [("bob", ""), ("ana", "editor")]
    bars = {each.session["id"]: each for each in picture.bars}
    assert sorted(bars) == ["a", "b", "c", "d"]
    assert (bars["a"].x, bars["a"].width) == (WIDTH / 4, WIDTH / 4)
    assert bars["b"].y > bars["a"].y, "they would cover each other"
    assert bars["b"].width == LEAST
    assert (bars["c"].x, bars["c"].goes_on) == (0, True)
    assert bars["d"].end == WIDTH
    assert bars["d"].y == bars["c"].y
    assert draw_lanes([session("no", "24T10:00", "24T11:00")], [], DAY) is None


async def test_arrows_join_only_what_is_drawn() -> None:
    shown = [session("a", "25T06:00", "25T12:00"), session("b", "25T13:00", "25T14:00", who="bob")]
    at = {"created_at": "2026-11-25T12:00:00Z", "receipt": {"session": "b", "at": "2026-11-25T13:00:00Z"}}
    picture = draw_lanes(
        shown,
        [
            {"session": "a", **at},
            {"session": "gone", **at},
            {"session": "b", **at},
            {"session": "a", "created_at": "2026-11-25T12:00:00Z"},
        ],
        DAY,
    )
    assert picture is not None
    (arrow,) = picture.arrows
    assert (arrow.giver["id"], arrow.taker["id"]) == ("a", "b")
    assert arrow.path.startswith("M572.0 ")


async def test_a_thousand_sessions_cover_no_other_in_their_lane() -> None:
    many = [
        session(str(n), f"25T{n % 24:02}:{n % 60:02}", f"25T{n % 24:02}:{n % 60:02}", who=f"w{n % 7}")
        for n in range(1000)
    ]
    picture = draw_lanes(many, [], DAY)
    assert picture is not None
    rows: dict[float, list[tuple[float, float]]] = {}
    for each in picture.bars:
        rows.setdefault(each.y, []).append((each.x, each.end))
    for row in rows.values():
        row.sort()
        assert all(first[1] <= then[0] for first, then in pairwise(row))


async def test_a_clock_that_was_set_back_ends_no_session_before_it_began() -> None:
    assert sessions_of_day([session("a", "25T10:00", "24T10:00")], DAY)


async def test_what_an_event_was_about_leads_there_or_nowhere() -> None:
    memory = "01a21b50-0000-7000-8000-000000000000"
    assert place_of({"event_type": "memory_stored", "resource": memory}) == f"memories/{memory}"
    assert place_of({"event_type": "memory_stored", "resource": "../x"}) is None
    assert place_of({"event_type": "note_changed", "resource": "a b.md"}) == "notes/a%20b.md"
    assert place_of({"event_type": "note_changed"}) is None
    claimed = [{"event_type": "claim", "resource": "x"}, {"event_type": "claim", "resource": "y"}]
    assert list_claimed({"claims": ["y"]}, claimed) == [("y", True), ("x", False)]
    assert read_day("2026-11-25") == DAY
