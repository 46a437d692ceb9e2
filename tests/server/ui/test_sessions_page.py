"""Sessions: who worked when on what."""

from __future__ import annotations

import pytest

from auth.roles import Role
from tests.server.ui.stage import HOSTILE, Stage

pytestmark = pytest.mark.asyncio(loop_scope="module")


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
    page = await (await stage.person("bert", Role.READER)).open("/ui/v/main/sessions?since=soon")
    assert page.status_code == 422
    assert "since must be" in page.text
