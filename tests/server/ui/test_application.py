"""Who is let into the console, what it says where nothing is, and what every answer carries.

Covers server.ui.application, server.ui.guests, server.ui.parts, server.ui.pages, server.ui.page,
server.ui.vault_view, server.ui.forms, server.ui.admin_view and server.ui.overview_page.
"""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from auth.access import EVERY_VAULT
from auth.grants import set_grant
from auth.people import accounts
from auth.principal import LOCAL
from auth.roles import Role
from server import vault_admin
from server.oauth.sign_in_routes import safe_next
from server.ui.application import ADMIN_PAGES, VAULT_PAGES
from server.ui.graph_page import LAYOUT, PICTURE
from server.ui.pages import POLICY
from tests.server.ui.stage import Stage, forms_of, open_stage
from vaults.errors import VaultUnavailable

pytestmark = pytest.mark.asyncio(loop_scope="module")

UNKNOWN_ID = "01a21b50-0000-7000-8000-000000000000"


def address_of(path: str, vault: str = "main") -> str:
    return f"/ui/v/{vault}/{path.replace('{id}', UNKNOWN_ID)}"


async def test_whoever_is_not_signed_in_signs_in_and_comes_back(stage: Stage) -> None:
    browser = stage.browser()
    assert (await browser.open("/")).headers["location"] == "/ui/"
    for wanted in ("/ui/", "/ui/v/main/search?q=a%20b&kinds=note", "/ui/v/nothing/", "/ui/nothing"):
        answer = await browser.open(wanted)
        assert answer.status_code == 303
        led = urlsplit(answer.headers["location"])
        assert led.path == "/oauth/sign-in"
        assert not led.netloc
        assert parse_qs(led.query)["next"] == [wanted]
    await stage.person("anna")
    page = await browser.open(answer.headers["location"].replace("nothing", "v/main/"))
    fields = forms_of(page)[-1].fields
    back = await browser.http.post(
        "/oauth/sign-in", data={**fields, "name": "anna", "password": "wooden boats cross slowly"}
    )
    assert back.headers["location"] == "/ui/v/main/"
    assert (await browser.follow(back)).status_code == 200


async def test_the_list_holds_the_vaults_of_a_person_alone(stage: Stage) -> None:
    page = await (await stage.person("berta")).open("/ui/")
    assert "/ui/v/main/" in page.text
    assert "other" not in page.text
    assert "no grant for a vault" in (await (await stage.person("carl", None)).open("/ui/")).text


async def test_a_vault_of_others_answers_as_one_that_is_not_there(stage: Stage) -> None:
    guest = await stage.person("dora")
    for page in VAULT_PAGES:
        theirs, nobodys = [await guest.open(address_of(page.path, vault)) for vault in ("other", "nope")]
        assert theirs.status_code == nobodys.status_code == 404
        assert theirs.text == nobodys.text
        answers = [
            await guest.http.post(address_of(page.path, vault), data={"form": "x"}) for vault in ("other", "nope")
        ]
        assert answers[0].text == answers[1].text
        assert answers[0].status_code == answers[1].status_code != 200
    assert (await guest.open("/ui/nothing")).status_code == 404


async def test_who_administers_everything_administers_the_installation(stage: Stage) -> None:
    guest = await stage.person("ada", Role.ADMIN, EVERY_VAULT)
    assert "/ui/admin/" in (await guest.open("/ui/")).text
    assert (await guest.open("/ui/admin/")).status_code == 200
    await stage.end_grant("ada", EVERY_VAULT)
    assert (await guest.open("/ui/admin/")).status_code == 404


async def test_for_anybody_else_there_is_no_administration(stage: Stage) -> None:
    guest = await stage.person("adam", Role.ADMIN)
    nothing = await guest.open("/ui/nothing")
    assert "/ui/admin/" not in (await guest.open("/ui/")).text
    for page in ADMIN_PAGES:
        answers = [await guest.open(f"/ui/admin/{page.path}")]
        if page.change is not None:
            answers.append(await guest.http.post(f"/ui/admin/{page.path}", data={"form": "x"}))
        for answer in answers:
            assert (answer.status_code, answer.text) == (404, nothing.text)


async def test_a_grant_that_ends_between_two_requests_shuts_the_page(stage: Stage) -> None:
    memory = await stage.remember("The north gate is open on Sundays")
    guest = await stage.person("emil")
    page = await guest.open(f"/ui/v/main/memories/{memory}")
    assert page.status_code == 200
    await stage.end_grant("emil")
    answer = await guest.send(page, "edit", content="The north gate is closed")
    assert answer.status_code == 404
    assert (await guest.open(f"/ui/v/main/memories/{memory}")).status_code == 404
    assert (await stage.ask("memory_get", ids=[memory]))["memories"][0]["version"] == 1


async def test_what_ends_while_a_page_is_made_is_not_there_either(stage: Stage) -> None:
    guest = await stage.person("lars")
    missing = (await guest.open("/ui/v/nope/")).text
    for path in ("", "search?q=x", "sessions", f"memories/{UNKNOWN_ID}", "items?id=x.md"):
        await stage.services.access_cache.write(lambda tx: set_grant(tx, "lars", LOCAL, "main", Role.WRITER))
        stage.before = partial(stage.end_grant, "lars")
        page = await guest.open(f"/ui/v/main/{path}")
        assert page.status_code == 404
        assert page.text == missing


async def test_a_vault_that_is_archived_is_gone_and_one_that_fails_says_so(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = await stage.person("mona", Role.ADMIN, "other")

    def fail(*_: object) -> None:
        raise VaultUnavailable("the vault cannot be opened at the moment")

    with monkeypatch.context() as broken:
        broken.setattr(stage.services.pool, "lease", fail)
        for path in ("", "search?q=x", "sessions", "findings", f"memories/{UNKNOWN_ID}"):
            page = await guest.open(f"/ui/v/other/{path}")
            assert page.status_code == 503
            assert "cannot be opened" in page.text
    await vault_admin.archive(stage.services, "other")
    assert (await guest.open("/ui/v/other/")).text == (await guest.open("/ui/v/nope/")).text


async def test_whoever_is_shut_out_is_signed_out(stage: Stage) -> None:
    guest = await stage.person("fred")
    await stage.services.control.write(lambda tx: accounts.disable(tx, "fred", 0))
    assert (await guest.open("/ui/")).status_code == 303


async def test_what_was_typed_outlives_the_session(stage: Stage) -> None:
    memory = await stage.remember("The bell rings at noon")
    guest = await stage.person("olga")
    page = await guest.open(f"/ui/v/main/memories/{memory}")
    guest.http.cookies.clear()
    answer = await guest.send(page, "edit", content="The bell rings at <one>")
    assert answer.status_code == 403
    assert "The bell rings at &lt;one&gt;" in answer.text
    assert f'href="/oauth/sign-in?next=%2Fui%2Fv%2Fmain%2Fmemories%2F{memory}"' in answer.text
    assert (await guest.http.post("/ui/v/nope/memories/x", data={f"f{n}": "x" for n in range(1100)})).status_code == 400
    assert (await guest.http.post(f"/ui/v/main/memories/{memory}", files={"a": b"b"})).status_code == 303


async def test_no_form_is_taken_but_from_a_page_of_ours(stage: Stage) -> None:
    guest, other = await stage.person("gina"), await stage.person("hans")
    memory = await stage.remember("The lamps are lit at six")
    page = await guest.open(f"/ui/v/main/memories/{memory}")
    theirs = forms_of(await other.open(f"/ui/v/main/memories/{memory}"))[-1].fields["form"]
    changing = [each for each in VAULT_PAGES if each.change is not None]
    assert changing
    for each in changing:
        for value in ("", "x", theirs):
            answer = await guest.http.post(
                f"/ui/v/main/{each.path.replace('{id}', memory)}", data={"form": value, "do": "edit", "content": "Mine"}
            )
            assert answer.status_code == 403
            assert "Mine" in answer.text  # what was typed is not lost
    for form in forms_of(page):
        assert form.method == "get" or form.fields["form"], form.action
    assert (await stage.ask("memory_get", ids=[memory]))["memories"][0]["version"] == 1


async def test_every_answer_forbids_what_does_not_come_from_here(stage: Stage) -> None:
    guest = await stage.person("ida", Role.ADMIN)
    memory = await stage.remember("The keys hang behind the door")
    addresses = [
        "/ui/",
        "/ui/nothing",
        "/ui/v/nope/",
        *(address_of(each.path) for each in VAULT_PAGES if each not in (PICTURE, LAYOUT)),
    ]
    addresses += [f"/ui/v/main/memories/{memory}", "/ui/v/main/search?q=keys", "/ui/v/main/search?q=x&since=never"]
    for address in addresses:
        page = await guest.open(address)
        assert page.headers["content-security-policy"] == POLICY
        assert page.headers["x-frame-options"] == "DENY"
        assert page.headers["cache-control"] == "no-store"
        assert not re.search(
            r"<style|\sstyle=|\son[a-z]+=|<script>|<script [^>]*></script>.*<script [^>]*>[^<]", page.text
        )
        loaded = re.findall(r'(?:src|href)="([^"]*)"', page.text)
        assert all(each.startswith(("/ui/", "/oauth/", "#")) for each in loaded), loaded
        if not address.endswith("/connect/calls"):  # a part of a page
            config = re.search(r'htmx-config" content="([^"]*)"', page.text)
            assert config is not None, address
            assert json.loads(config[1].replace("&#34;", '"'))["allowEval"] is False
    assert "'unsafe" not in POLICY
    assert "frame-ancestors 'none'" in POLICY


async def test_files_and_floods_of_fields_are_refused(stage: Stage) -> None:
    guest = await stage.person("jens")
    address = address_of("memories/{id}")
    assert (await guest.http.post(address, files={"a": b"b"})).status_code == 415
    assert (await guest.http.post(address, data={f"f{n}": "x" for n in range(1100)})).status_code == 400
    assert (await guest.http.put(address)).status_code == 405


async def test_calls_of_pages_count_as_calls_of_the_person(stage: Stage) -> None:
    guest = await stage.person("kim")
    await guest.open("/ui/v/main/search?q=anything")
    sessions = (await stage.ask("session_history", limit=50))["sessions"]
    (mine,) = [each for each in sessions if each["who"] == "kim"]
    assert [each["tool"] for each in mine["tools"]] == ["search"]


async def test_where_everybody_is_the_owner_nobody_signs_in_and_forms_are_held_to_the_browser(tmp_path: Path) -> None:
    async with open_stage(tmp_path, signs_in=False) as stage:
        memory = await stage.remember("The quay is closed")
        browser = stage.browser()
        page = await browser.open(f"/ui/v/main/memories/{memory}")
        assert page.status_code == 200
        assert "/oauth/" not in page.text
        strange = await stage.browser().http.post(
            f"/ui/v/main/memories/{memory}", data={**forms_of(page)[0].fields, "content": "x"}
        )
        assert strange.status_code == 403
        answer = await browser.send(page, "edit", content="The quay is open")
        assert answer.status_code == 303
        assert (await stage.ask("memory_get", ids=[memory]))["memories"][0]["content"] == "The quay is open"


async def test_after_signing_in_somebody_is_led_to_a_note_of_any_name(stage: Stage) -> None:
    browser, wanted = stage.browser(), "/ui/v/main/notes/%C3%9Cber%20uns/100%25%3F.md"
    asked = parse_qs(urlsplit((await browser.open(wanted)).headers["location"]).query)["next"]
    assert asked == [wanted]
    assert safe_next(wanted) == wanted
