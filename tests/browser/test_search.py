"""Search as somebody types, with the keyboard alone.

Covers server.ui.search_page.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import People, Windows
from tests.browser.harbour import Harbour
from tests.browser.site import Site
from tests.browser.test_every_page import AXE


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


def test_in_a_narrow_window_filters_fold_and_hits_are_on_the_first_screen(
    site: Site, harbour: Harbour, people: People, windows: Windows
) -> None:
    narrow = {"width": 360, "height": 640}
    page = windows.open(f"{site.url}/ui/v/main/search?q=forty+tons", storage_state=people("ann"), viewport=narrow)
    summary, memories = page.locator("#facets summary"), page.locator("#facets [name=kinds][value=memory]")
    expect(page.locator("a.hit").first).to_be_in_viewport()
    expect(memories).to_be_hidden()
    summary.focus()
    page.keyboard.press("Enter")
    expect(memories).to_be_visible()
    memories.focus()
    for is_checked in (True, False):
        page.keyboard.press("Space")
        _wait_for_hits(page)
        expect(page).to_have_url(re.compile(r"kinds=memory") if is_checked else re.compile(r"q=forty(\+|%20)tons$"))
        expect(memories).to_be_checked(checked=is_checked)
        expect(memories).to_be_focused()
    page.goto(f"{site.url}/ui/v/main/search?q=forty+tons&kinds=memory")
    expect(memories).to_be_visible()  # one is set


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without"])
def test_in_a_wide_window_filters_stand_beside_the_hits_and_never_fold(
    site: Site, harbour: Harbour, people: People, windows: Windows, script: bool
) -> None:
    state = people("ann")
    page = windows.open(f"{site.url}/ui/v/main/search?q=forty+tons", storage_state=state, java_script_enabled=script)
    expect(page.locator("#facets [name=kinds][value=memory]")).to_be_visible()
    expect(page.locator("#facets summary")).to_be_hidden()


@pytest.mark.skipif(not AXE.is_file(), reason="make ui fetches axe-core, where there is npm")
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_nothing_while_filters_are_folded(
    site: Site, harbour: Harbour, people: People, windows: Windows, width: int
) -> None:
    size = {"width": width, "height": 800}
    page = windows.open(f"{site.url}/ui/v/main/search?q=forty+tons", storage_state=people("ann"), viewport=size)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    assert page.evaluate("axe.run().then(found => found.violations.map(each => each.id))") == []


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
