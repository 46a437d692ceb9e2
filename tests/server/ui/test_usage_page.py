"""What was asked of a vault: an admin sees everybody's calls, others their own."""

from __future__ import annotations

import pytest

from auth.roles import Role
from server.ui.usage_page import HEIGHT, WIDTH, draw_days
from tests.server.ui.stage import Stage


@pytest.mark.asyncio(loop_scope="module")
async def test_an_admin_sees_every_caller_and_a_reader_their_own_calls(stage: Stage) -> None:
    await stage.ask("memory_list")
    reader, admin = await stage.person("ursel", Role.READER), await stage.person("adam", Role.ADMIN)
    await reader.open("/ui/v/main/search?q=rope")
    own = (await reader.open("/ui/v/main/usage?since=1d")).text
    assert "Your own calls" in own
    assert "adam" not in own
    everything = (await admin.open("/ui/v/main/usage")).text
    assert "Calls of everybody" in everything
    assert "By tool" in everything


@pytest.mark.asyncio(loop_scope="module")
async def test_a_period_that_is_none_is_the_usual_one(stage: Stage) -> None:
    page = await (await stage.person("udo", Role.READER)).open("/ui/v/main/usage?since=1000000y")
    assert page.status_code == 200
    assert 'since=30d" aria-current="true"' in page.text


def test_days_become_a_line_within_its_frame() -> None:
    assert draw_days("notes", [{"notes": 3}]) is None
    plot = draw_days("notes", [{"notes": 1}, {"notes": 3}, {"notes": 2}])
    assert plot is not None
    assert (plot.low, plot.high) == (1, 3)
    points = [tuple(map(float, each.split(","))) for each in plot.points.split()]
    assert points == [(0, HEIGHT), (WIDTH / 2, 0), (WIDTH, HEIGHT / 2)]
    flat = draw_days("notes", [{"notes": 5}, {"notes": 5}])
    assert flat is not None
    assert flat.points == f"0.0,{HEIGHT}.0 {WIDTH}.0,{HEIGHT}.0"
