"""Search over all vaults of a person: each hit says its vault, and what may not be entered stays unheard of.

Covers server.ui.across_page and server.ui.person_view.
"""

from __future__ import annotations

import re

import pytest

from auth.grants import set_grant
from auth.principal import LOCAL
from auth.roles import Role
from tests.server.ui.stage import Stage
from vaults.errors import VaultUnavailable

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def grant(stage: Stage, name: str, vault: str) -> None:
    await stage.services.access_cache.write(lambda tx: set_grant(tx, name, LOCAL, vault, Role.READER))


async def test_every_hit_says_its_vault_and_leads_into_it(stage: Stage) -> None:
    here = await stage.remember("The ferry leaves at eight")
    there = (await stage.ask("remember", vault="other", content="The ferry was sold in May"))["id"]
    guest = await stage.person("anna", Role.READER)
    await grant(stage, "anna", "other")
    page = (await guest.open("/ui/search?q=ferry")).text
    assert f'href="/ui/v/main/memories/{here}"' in page
    assert f'href="/ui/v/other/memories/{there}"' in page
    assert '<bdi>other</bdi></span> <span class="count">1</span>' in page
    only = (await guest.open("/ui/search?q=ferry&vault=other")).text
    assert re.findall(r'class="hit" href="([^"]*)"', only) == [f"/ui/v/other/memories/{there}"]
    assert 'name="vault" value="other" checked' in only
    assert 'name="vault" value="main"' in only


async def test_a_vault_without_a_grant_is_neither_searched_nor_named(stage: Stage) -> None:
    await stage.ask("remember", vault="other", content="The tide table is secret")
    guest = await stage.person("berta", Role.READER)
    for address in ("/ui/search?q=tide", "/ui/search?q=tide&vault=other", "/ui/search?q=tide&vault=nope"):
        page = await guest.open(address)
        assert page.status_code == 200
        assert "secret" not in page.text
        assert "other</bdi>" not in page.text
    assert (await (await stage.person("carl", None)).open("/ui/search?q=tide")).status_code == 200


@pytest.mark.parametrize("broken", ["main", "other"])
async def test_a_vault_that_fails_is_named_and_the_others_answer(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    sound = {"main": "other", "other": "main"}[broken]
    await stage.ask("remember", vault=sound, content=f"The dredger works for {sound}")
    guest = await stage.person(f"dora-{broken}", Role.READER)
    await grant(stage, f"dora-{broken}", "other")
    for way in ("lease", "lease_additional"):
        monkeypatch.setattr(stage.services.pool, way, failing(getattr(stage.services.pool, way), broken))
    page = await guest.open("/ui/search?q=dredger")
    assert page.status_code == 200
    assert f"vault {broken} could not be searched" in page.text
    assert f"works for {sound}" in page.text


def failing(lease: object, broken: str) -> object:
    def fail(entry: object) -> object:
        if entry.name == broken:  # type: ignore[attr-defined]
            raise VaultUnavailable("the vault cannot be opened at the moment")
        return lease(entry)  # type: ignore[operator]

    return fail


async def test_it_is_reached_from_the_list_and_from_a_search(stage: Stage) -> None:
    guest = await stage.person("ella", Role.READER)
    assert 'action="/ui/search"' in (await guest.open("/ui/")).text
    assert 'href="/ui/search?q=a+ferry"' in (await guest.open("/ui/v/main/search?q=a+ferry")).text


async def test_what_the_tool_refuses_stands_beside_the_form(stage: Stage) -> None:
    guest = await stage.person("fred", Role.READER)
    page = await guest.open("/ui/search?q=ferry&since=never")
    assert page.status_code == 422
    assert "since must be an RFC 3339 time" in page.text
