"""A program that knows nothing but the address of a vault asks a person, in their browser.

Covers server.oauth.authorize_route.
"""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.agent import CALLBACK, log_in_and_call
from tests.browser.conftest import People, Windows
from tests.browser.site import Site


def test_a_client_is_let_in_and_calls_until_its_person_withdraws_it(
    site: Site, people: People, windows: Windows
) -> None:
    context = windows.context(storage_state=people("ann"))
    page = context.new_page()
    page.route(f"{CALLBACK}**", lambda route: route.fulfill(body="You can close this window."))

    def agree(address: str) -> str:
        page.goto(address)
        expect(page.get_by_text("Harbour agent")).to_be_visible()
        expect(page.get_by_role("radio", name="main")).to_be_checked()
        page.get_by_role("button", name="Allow").click()
        page.wait_for_url(f"{CALLBACK}**")
        return page.url

    calls = [("remember", {"content": "Ann let this in."}), ("recall", {"query": "Ann let this in"})]
    _, found = log_in_and_call(site.mcp(), agree, calls)
    assert "Ann let this in." in str(found)
    page.goto(f"{site.url}/oauth/account")
    expect(page.get_by_text("writer of main")).to_be_visible()
    page.get_by_role("button", name="Withdraw").click()
    expect(page.get_by_text("writer of main")).to_have_count(0)
