"""Somebody who administers the server lets people and agents in and shuts them out, in a browser.

Covers server.ui.people_page, server.ui.grants_page, server.ui.tokens_page and server.ui.events_page.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
from playwright.sync_api import Page, expect

from tests.browser.agent import call_as_agent
from tests.browser.conftest import People, Windows
from tests.browser.site import Site, serving
from tests.server.oauth.desk import PASSWORD
from tests.server.ui.test_ill_vaults import damage


def _open_admin(site: Site, people: People, windows: Windows, place: str) -> Page:
    return windows.open(f"{site.url}/ui/admin/{place}", storage_state=people("ada", "*", "admin"))


def test_an_admin_invites_somebody_and_gives_and_takes_a_grant(site: Site, people: People, windows: Windows) -> None:
    admin = _open_admin(site, people, windows, "people")
    admin.get_by_text("Invite somebody").click()
    admin.get_by_label("Name", exact=True).fill("gus")
    admin.get_by_role("button", name="Make the link").click()
    link = admin.locator(".secret code").inner_text()
    guest = windows.open(link)
    guest.get_by_label("Password").fill(PASSWORD)
    guest.get_by_label("The same again").fill(PASSWORD)
    guest.get_by_role("button", name="Set the password").click()
    expect(guest.get_by_text("You have no grant for a vault yet.")).to_be_visible()
    admin.goto(f"{site.url}/ui/admin/grant?subject=gus&issuer=local")
    admin.get_by_label("Vault").select_option("main")
    admin.get_by_role("button", name="Give it").click()
    expect(admin.get_by_role("status")).to_contain_text("Given.")
    guest.goto(f"{site.url}/ui/v/main/")
    expect(guest.get_by_text("you read here")).to_be_visible()
    admin.goto(f"{site.url}/ui/admin/grant?subject=gus&issuer=local")
    admin.get_by_role("button", name="Take away the grant for main").click()
    expect(admin.get_by_role("status")).to_contain_text("Taken away.")
    answer = guest.reload()
    assert answer is not None
    assert answer.status == 404


def test_a_token_is_shown_once_opens_its_vault_and_revoked_opens_nothing(
    site: Site, people: People, windows: Windows
) -> None:
    page = _open_admin(site, people, windows, "tokens")
    page.get_by_text("Create a token").click()
    page.get_by_label("Subject", exact=True).fill("crane-agent")
    page.get_by_role("checkbox", name="main").check()
    page.get_by_label("Life").fill("1d")
    page.get_by_role("button", name="Create it").click()
    token = page.locator("#token").inner_text()
    page.get_by_role("link", name="To the tokens").click()
    expect(page.get_by_role("table")).to_contain_text("crane-agent")
    assert token not in page.content()
    site.run("grant", "set", "crane-agent", "main", "writer")
    call_as_agent(site.mcp(), token, [("remember", {"content": "The crane agent was here."})])
    page.get_by_role("button", name="Revoke a token of crane-agent").click()
    page.get_by_role("button", name="Revoke it").click()
    expect(page.get_by_role("status")).to_have_text("The token opens nothing any more.")
    assert httpx2.post(site.mcp(), headers={"authorization": f"Bearer {token}"}, json={}).status_code == 401


def test_nothing_is_kept_or_shown_once_a_grant_ends_under_an_open_page(
    site: Site, people: People, windows: Windows, ask: Callable[..., Any]
) -> None:
    memory = ask("remember", content="The tug is called Orca.")["id"]
    page = windows.open(f"{site.url}/ui/v/main/memories/{memory}", storage_state=people("eve"))
    admin = _open_admin(site, people, windows, "grant?subject=eve&issuer=local")
    admin.get_by_role("button", name="Take away the grant for main").click()
    expect(admin.get_by_role("status")).to_contain_text("Taken away.")
    page.get_by_text("Edit", exact=True).click()
    page.get_by_label("Text", exact=True).fill("The tug is called Nemo.")
    with page.expect_navigation() as gone:
        page.get_by_role("button", name="Save").click()
    assert gone.value.status == 404
    expect(page.get_by_role("heading", name="Nothing is here")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Nothing is here")).to_be_visible()
    assert "Orca" not in page.content()
    assert ask("memory_get", ids=[memory])["memories"][0]["content"] == "The tug is called Orca."


def test_an_open_page_that_only_listens_shows_nothing_once_a_grant_ends(
    site: Site, people: People, windows: Windows, ask: Callable[..., Any]
) -> None:
    ask("session_save", goal="Moor the Orca")
    page = windows.open(f"{site.url}/ui/v/main/", storage_state=people("liv"))
    expect(page.locator("#live")).to_contain_text("Moor the Orca")
    admin = _open_admin(site, people, windows, "grant?subject=liv&issuer=local")
    admin.get_by_role("button", name="Take away the grant for main").click()
    expect(admin.get_by_role("status")).to_contain_text("Taken away.")
    ask("session_save", goal="Moor the Nemo")  # a change that the page would be told of
    expect(page.get_by_role("heading", name="Nothing is here")).to_be_visible()
    assert "Moor the" not in page.content()


def test_an_open_page_says_that_its_vault_is_damaged(tmp_path: Path, windows: Windows) -> None:
    with serving(tmp_path / "data", STRONGROOM_AUTH__MODE="none") as site:
        call_as_agent(site.mcp(), "", [("session_save", {"goal": "Moor the Orca"})])
        page = windows.open(f"{site.url}/ui/v/main/")
        expect(page.locator("#live")).to_contain_text("Moor the Orca")
        damage(site.command.data / "vaults" / "main")
        assert page.request.get(f"{site.url}/ui/v/main/usage").status == 503
        expect(page.locator("#gone")).to_have_text("the vault's database is damaged")
        expect(page.locator("#live")).to_contain_text("Moor the Orca")
