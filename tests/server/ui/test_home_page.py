"""The home of a vault says what is going on in it, to each as far as they may know."""

from __future__ import annotations

import re

import pytest

from auth.roles import Role
from tests.server.ui.stage import HOSTILE, Stage

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_it_tells_what_was_decided_who_works_what_waits_and_what_needs_a_person(stage: Stage) -> None:
    await stage.remember("Lamps are bought from Nordlicht", type="decision", title="Lamps from Nordlicht")
    await stage.ask("handoff_create", goal="Paint the cranes", current_state="Two of three", next_action="Buy paint")
    await stage.ask("claims", action="claim", resources=["cranes/third"], description="To be painted")
    await stage.ask("corrections", action="record", wrong="The pier is white", right="The pier is green")
    page = (await (await stage.person("anna", Role.ADMIN)).open("/ui/v/main/")).text
    for said in ("Lamps from Nordlicht", "Paint the cranes", "cranes/third", "The pier is green", "anna"):
        assert said in page
    assert re.search(r"<dd>1</dd>", page)
    assert 'action="/ui/v/main/search"' in page


async def test_what_a_session_is_told_has_names_and_claims_stand_in_their_place_alone(stage: Stage) -> None:
    await stage.remember("The crane is out", type="fact", entity="Crane", thread="ropes")
    await stage.ask("claims", action="claim", resources=["cranes/second"])
    for kind in ("fact", "behaviour"):
        await stage.ask("corrections", action="record", wrong=f"{kind} it is", right="It is not", kind=kind)
    guest = await stage.person("nils", Role.READER)
    page = (await guest.http.get("/ui/v/main/", headers={"accept-language": "de"})).text
    told = page.partition('id="brief"')[2].partition("</section>")[0]
    for name in ("Offene Korrektur einer Tatsache", "Zuletzt war die Rede von", "Zuletzt bearbeitete Stränge"):
        assert name in told
    for untold in ("open correction", "touched lately", "claimed by others"):
        assert untold not in told
    assert "cranes/second" in page


async def test_a_reader_sees_it_without_what_is_for_admins(stage: Stage) -> None:
    page = await (await stage.person("rosa", Role.READER)).open("/ui/v/main/")
    assert page.status_code == 200
    assert 'role="alert"' not in page.text


async def test_an_empty_vault_says_so(stage: Stage) -> None:
    page = await (await stage.person("otto", Role.ADMIN, "other")).open("/ui/v/other/")
    assert "No memory is kept here yet." in page.text
    assert "Nothing does." in page.text


async def test_hostile_texts_are_only_texts(stage: Stage) -> None:
    await stage.remember(HOSTILE, title=HOSTILE[:400], type="decision", tags=["<u>"])
    await stage.ask("corrections", action="record", wrong=HOSTILE[:200], right="<svg onload=alert(1)>")
    page = (await (await stage.person("mila", Role.ADMIN)).open("/ui/v/main/")).text
    assert "&lt;script&gt;alert(1)" in page
    for live in ("<script>alert", "<svg onload", "<u>", 'href="javascript', "\u202e", "\U000e0041", "49 "):
        assert live not in page
