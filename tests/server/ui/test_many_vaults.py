"""An installation of more vaults than a form or a list can hold: each is found by its name, without a script.

Covers server.ui.admin_forms, server.ui.application and server.ui.search_facets.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import httpx2
import pytest
import pytest_asyncio

from auth.principal import LOCAL
from server.ui.admin_forms import CHOICES
from server.ui.narrowing import ROWS
from server.ui.search_facets import MOST_VAULTS
from tests.server.ui.installation import admin
from tests.server.ui.stage import Guest, Stage, forms_of
from vaults import registry

pytestmark = pytest.mark.asyncio(loop_scope="module")

NAMES = [f"pier-{number:03}" for number in range(200)]
LAST = NAMES[-1]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def ada(stage: Stage) -> AsyncIterator[Guest]:
    """Who administers them all."""
    await stage.services.control.write(lambda tx: [registry.create(tx, name) for name in NAMES])
    await stage.services.registry_cache.refresh()
    yield await admin(stage, "ada")


def offered(page: httpx2.Response) -> list[str]:
    """The vaults that can be chosen."""
    return re.findall(r'(?:name="vault" value|<option value)="(\*|main|other|pier-\d+)"', page.text)


async def look(guest: Guest, address: str, text: str, **typed: str) -> httpx2.Response:
    """Press the button that looks for others, in the form that has it."""
    page = await guest.open(address)
    form = next(each for each in forms_of(page) if "vaults_text" in each.fields)
    to = re.search(r'name="look" value="yes" formaction="([^"]+)" formnovalidate', page.text)
    assert to is not None
    return await guest.http.post(
        to[1].replace("&amp;", "&"), data={**form.fields, **typed, "look": "yes", "vaults_text": text}
    )


@pytest.mark.parametrize(
    ("path", "name"),
    [("people", "name"), ("tokens", "subject"), ("grants", "subject"), (f"grant?subject=zoe&issuer={LOCAL}", "")],
)
async def test_a_form_offers_some_and_finds_the_others_keeping_what_was_typed(ada: Guest, path: str, name: str) -> None:
    page = await ada.open(f"/ui/admin/{path}")
    assert len(offered(page)) == CHOICES + 1
    assert offered(page)[0] == "*"
    assert LAST not in offered(page)
    typed = {name: "zoe"} if name else {}
    found = await look(ada, f"/ui/admin/{path}", "199", vault="pier-007", role="admin", **typed)
    assert found.status_code == 200
    assert offered(found) == ["*", "pier-007", LAST]
    assert re.search(r'value="pier-007" (checked|selected)', found.text)
    assert '<option value="admin" selected>' in found.text
    assert not name or 'value="zoe"' in found.text
    assert not name or "<details open>" in found.text


async def test_what_was_found_is_given(stage: Stage, ada: Guest) -> None:
    found = await look(ada, f"/ui/admin/grant?subject=zoe&issuer={LOCAL}", LAST)
    form = next(each for each in forms_of(found) if "vaults_text" in each.fields)
    answer = await ada.http.post(form.action, data={**form.fields, "vault": LAST, "role": "reader"})
    assert "Given." in (await ada.follow(answer)).text
    assert LAST in stage.services.access_cache.current.grants[LOCAL]["zoe"]


async def test_ones_own_vaults_come_a_page_at_a_time_and_by_name(ada: Guest) -> None:
    first = (await ada.open("/ui/")).text
    assert len(re.findall(r'<li><a href="/ui/v/', first)) == ROWS
    assert 'rel="next"' in first
    assert LAST in (await ada.open("/ui/?page=3")).text
    assert re.findall(r'<li><a href="/ui/v/([^/]+)/"', (await ada.open("/ui/?text=PIER-19")).text) == NAMES[190:]
    none = (await ada.open("/ui/?text=nothing")).text
    assert "None has this in its name." in none
    assert "first vault" not in none


async def test_a_search_over_all_offers_the_vaults_with_most_hits(ada: Guest) -> None:
    page = await ada.open(f"/ui/search?vault={LAST}")
    assert len(offered(page)) == MOST_VAULTS + 1
    assert offered(page)[0] == LAST
