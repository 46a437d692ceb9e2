"""Search as somebody types, with the keyboard alone.

Covers server.ui.search_page.
"""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import People, Windows
from tests.browser.harbour import Harbour
from tests.browser.site import Site


def _wait_for_hits(page: Page) -> None:
    """Until what was asked is answered and put in."""
    expect(page.locator(".htmx-request, .htmx-swapping, .htmx-settling")).to_have_count(0)


def test_hits_come_as_somebody_types_and_are_opened_from_the_keyboard(
    site: Site, harbour: Harbour, people: People, windows: Windows
) -> None:
    page = windows.open(f"{site.url}/ui/v/main/search", storage_state=people("ann"))
    page.locator("#content").focus()
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type("forty tons")
    hit = page.locator("a.hit", has_text="forty tons")
    expect(hit).to_be_visible()
    expect(page).to_have_url(re.compile(r"/search\?.*q=forty(\+|%20)tons"))
    _wait_for_hits(page)
    page.keyboard.press("ArrowDown")
    _wait_for_hits(page)  # who leaves the field asks once more
    expect(page.locator("a.hit").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#q")).to_be_focused()
    hit.focus()
    page.keyboard.press("Enter")
    beside = page.locator("#beside")
    expect(beside).to_contain_text("The north crane lifts forty tons.")
    beside.get_by_role("link", name="Open its page").click()
    page.wait_for_url(f"**/memories/{harbour.memory}")
    page.go_back()
    expect(page.locator("#q")).to_have_value("forty tons")


def test_where_there_is_no_room_beside_the_list_a_hit_leads_to_its_page(
    site: Site, harbour: Harbour, people: People, windows: Windows
) -> None:
    narrow = {"width": 800, "height": 900}
    page = windows.open(f"{site.url}/ui/v/main/search?q=forty+tons", storage_state=people("ann"), viewport=narrow)
    page.locator("a.hit", has_text="forty tons").click()
    expect(page).to_have_url(re.compile(rf"/memories/{harbour.memory}$"))


def test_hits_of_an_earlier_question_are_not_taken_for_those_of_one_that_nobody_answers(
    site: Site, harbour: Harbour, people: People, windows: Windows
) -> None:
    page = windows.open(f"{site.url}/ui/v/main/search?q=forty+tons", storage_state=people("ann"))
    silence = page.get_by_text("The server does not answer")
    expect(silence).to_be_hidden()
    page.context.set_offline(True)
    page.locator("#q").fill("tides")
    expect(silence).to_be_visible()
    page.context.set_offline(False)
    page.locator("#q").fill("tides at noon")
    expect(silence).to_be_hidden()
    expect(page.locator("a.hit", has_text="Tides")).to_be_visible()
