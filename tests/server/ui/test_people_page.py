"""Inviting people, shutting them out, and ending their browsers' sessions, as the admin of the installation.

Covers server.ui.people_page, server.ui.person_page, server.ui.admin_forms, server.ui.narrowing and
server.administration.people.
"""

from __future__ import annotations

import html
import re
import time
from pathlib import Path
from urllib.parse import quote

import pytest

from auth.people import browser_sessions, people
from auth.principal import LOCAL
from auth.roles import Role
from tests.server.ui.installation import EVIL, HIDDEN, acts, admin, post, send_as_if, written
from tests.server.ui.stage import Stage, forms_of, open_stage
from vaults.db.sql import Writer

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_somebody_is_invited_and_comes_in_by_the_link_shown_once(stage: Stage) -> None:
    guest = await admin(stage, "ada")
    page = await guest.open("/ui/admin/people")
    answer = await guest.send(page, "invite", name="ines", vault="main", role="reader")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    (link,) = re.findall(r"https://mem\.example/oauth/invite\?link=([\w-]+)", answer.text)
    assert 'data-copy="#link"' in answer.text
    assert (await stage.browser().open(f"/oauth/invite?link={link}")).status_code == 200
    assert stage.services.access_cache.current.grants[LOCAL]["ines"] == {"main": Role.READER}
    said = (await acts(stage, "user"))[-1]
    assert (said["action"], said["outcome"], said["subject"]) == ("invite", "ok", "ada")
    assert said["details"] == {"subject": "ines", "vaults": ["main"], "role": "reader"}
    listed = await guest.open("/ui/admin/people")
    assert "ines" in listed.text
    for text in (listed.text, (await guest.open("/ui/admin/person?name=ines")).text, await written(stage)):
        assert link not in text


async def test_what_cannot_be_says_why_and_keeps_what_was_typed(stage: Stage) -> None:
    guest = await admin(stage, "adele")
    page = await guest.open("/ui/admin/people")
    for name, vault, status in (("adele", "main", 409), ("*", "main", 422), ("nils", "nowhere", 404)):
        answer = await guest.send(page, "invite", name=name, vault=vault, role="reader")
        assert (answer.status_code, 'role="alert"' in answer.text) == (status, True), name
        assert (
            f'name="name" required maxlength="255" autocomplete="off" spellcheck="false" value="{name}"' in answer.text
        )
    assert (await guest.send(page, "invite", name="nils", role="king")).status_code == 422
    assert await stage.services.control.read(lambda tx: people.find(tx, "nils")) is None


async def test_reset_and_disable_ask_first_and_then_take_effect_at_once(stage: Stage) -> None:
    guest, bert = await admin(stage, "alma"), await stage.person("bert")
    page = await guest.open("/ui/admin/person?name=bert")
    asked = await guest.send(page, "disable")
    assert asked.status_code == 409
    assert "Shut this person out?" in asked.text
    assert (await bert.open("/ui/")).status_code == 200  # nothing happened yet
    done = await guest.send(asked, "disable")
    assert "Shut out." in (await guest.follow(done)).text
    assert (await bert.open("/ui/")).status_code == 303
    asked = await guest.send(await guest.open("/ui/admin/person?name=bert"), "reset")
    assert asked.status_code == 409
    link = re.search(r"/oauth/invite\?link=([\w-]+)", (await guest.send(asked, "reset")).text)
    assert link is not None
    assert (await stage.browser().open(f"/oauth/invite?link={link[1]}")).status_code == 200
    said = await acts(stage, "user", by="alma")
    assert [each["action"] for each in said] == ["disable", "reset"]
    assert all(each["details"] == {"subject": "bert"} for each in said)
    assert link[1] not in await written(stage)


async def test_who_is_disabled_loses_their_tokens_in_this_process_at_once(stage: Stage) -> None:
    guest = await admin(stage, "amos")
    await stage.person("cleo")
    token = (await guest.send(await guest.open("/ui/admin/tokens"), "create", subject="cleo", vault="main")).text
    (token_id,) = set(stage.services.access_cache.current.live_tokens)
    assert "eyJ" in token
    asked = await guest.send(await guest.open("/ui/admin/person?name=cleo"), "disable")
    await guest.send(asked, "disable")
    assert token_id not in stage.services.access_cache.current.live_tokens


async def test_a_browser_s_session_is_ended_and_no_other(stage: Stage) -> None:
    guest, here = await admin(stage, "anne"), await stage.person("dirk")
    there = stage.browser()
    there.http.headers["user-agent"] = f"Agent {HIDDEN}"
    await there.sign_in("dirk")
    page = await guest.open("/ui/admin/person?name=dirk")
    assert HIDDEN not in page.text
    assert "Agent" in page.text
    sessions = await stage.services.control.read(lambda tx: browser_sessions.list_sessions(tx, "dirk", time.time()))
    theirs, mine = sorted(sessions, key=lambda each: not each.browser.startswith("Agent"))
    await post(guest, "/ui/admin/person", do="end_session", name="dirk", id=theirs.id)
    assert (await there.open("/ui/")).status_code == 303
    assert (await here.open("/ui/")).status_code == 200
    await post(guest, "/ui/admin/person", do="end_session", name="anne", id=mine.id)  # not of that person
    assert (await here.open("/ui/")).status_code == 200
    await guest.send(page, "end_sessions")
    assert (await here.open("/ui/")).status_code == 303
    said = [each["action"] for each in await acts(stage, "user", by="anne")]
    assert said == ["end_session", "end_session", "end_sessions"]


async def test_a_form_of_another_session_changes_nobody(stage: Stage) -> None:
    guest, other, emma = await admin(stage, "arno"), await admin(stage, "asta"), await stage.person("emma")
    agreed = {"name": "emma", "agreed": "yes"}
    for act in ("reset", "disable", "end_sessions"):
        assert await send_as_if(guest, other, "/ui/admin/person", do=act, **agreed) == 403
    assert await send_as_if(guest, other, "/ui/admin/people", do="invite", name="gast", role="reader") == 403
    assert (await emma.open("/ui/")).status_code == 200
    assert await stage.services.control.read(lambda tx: people.find(tx, "gast")) is None
    assert await acts(stage, "user", by="arno") == []


async def test_names_that_are_more_than_text_are_shown_as_text(stage: Stage) -> None:
    guest = await admin(stage, "axel")
    await stage.person(EVIL)
    for address in ("people", f"person?name={quote(EVIL, safe='')}"):
        page = await guest.open(f"/ui/admin/{address}")
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert html.escape(EVIL).replace("&quot;", "&#34;").replace("&#x27;", "&#39;") in page.text
    asked = await guest.send(page, "disable")
    assert "<script>alert" not in asked.text
    await guest.send(asked, "disable")
    person = await stage.services.control.read(lambda tx: people.require(tx, EVIL))
    assert person.disabled_at is not None
    assert (await guest.open("/ui/admin/person?name=nobody")).status_code == 404


async def test_a_long_list_is_narrowed_and_read_by_pages(tmp_path: Path) -> None:
    async with open_stage(tmp_path, signs_in=False) as stage:

        def add(tx: Writer) -> None:
            for number in range(150):
                people.add(tx, f"p{number:03}", 0)

        await stage.services.control.write(add)
        guest = stage.browser()
        first = await guest.open("/ui/admin/people")
        assert "150 people" in first.text
        assert ("p099" in first.text, "p100" in first.text) == (True, False)
        second = await guest.open("/ui/admin/people?text=P&page=2")
        assert ("p099" in second.text, "p149" in second.text) == (False, True)
        assert 'rel="prev"' in second.text
        assert 'rel="next"' not in second.text
        assert "1 person" in (await guest.open("/ui/admin/people?text=p042")).text
        assert (await guest.open("/ui/admin/people?page=9999999")).status_code == 200


async def test_where_nobody_signs_in_nobody_is_invited(tmp_path: Path) -> None:
    async with open_stage(tmp_path, signs_in=False, **{"auth.login": "off"}) as stage:
        guest = stage.browser()
        page = await guest.open("/ui/admin/people")
        assert "nobody can be invited" in page.text
        fields = forms_of(await guest.open("/ui/admin/tokens"))[0].fields
        answer = await guest.http.post("/ui/admin/people", data={**fields, "name": "x", "role": "reader"})
        assert answer.status_code == 422
        assert "auth.login" in answer.text


async def test_nothing_is_said_to_be_done_for_somebody_who_is_not_there(stage: Stage) -> None:
    guest = await admin(stage, "alida")
    for values in ({"do": "end_session", "id": "x"}, {"do": "end_sessions"}):
        assert (await post(guest, "/ui/admin/person", name="nobody", **values)).status_code == 404
        assert (await acts(stage, "user", "alida"))[-1]["outcome"] == "not_found"
    await stage.person("bodo")
    await post(guest, "/ui/admin/person", name="bodo", do="end_session", id="that of somebody else")
    assert (await acts(stage, "user", "alida"))[-1]["details"]["sessions"] == 0
