"""The picture of a vault, moved about in from the keyboard and by the mouse, and the table that says the same.

Covers server.ui.graph_page.
"""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import People, Windows
from tests.browser.harbour import Harbour
from tests.browser.site import Site

INK = """canvas => {
    const shown = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    return new Set(new Uint32Array(shown.buffer)).size;
}"""
"""How many colours are on a canvas: an empty one has one."""


def _open_map(site: Site, people: People, windows: Windows, query: str = "") -> Page:
    page = windows.open(f"{site.url}/ui/v/main/graph{query}", storage_state=people("ann"))
    expect(page.locator(".map-legend button").first).to_be_visible()
    return page


def test_the_picture_is_drawn_and_has_a_button_for_each_colour(
    site: Site, harbour: Harbour, people: People, windows: Windows
) -> None:
    page = _open_map(site, people, windows)
    canvas = page.locator("#map canvas")
    page.wait_for_function(f"({INK})(document.querySelector('#map canvas')) > 2")
    only = page.locator(".map-legend button").first
    only.click()
    expect(only).to_have_attribute("aria-pressed", "true")
    page.get_by_label("Colour by").select_option("hub")
    expect(page.locator('.map-legend [aria-pressed="true"]')).to_have_count(0)
    assert canvas.evaluate(INK) > 2


def test_a_note_is_found_chosen_and_opened_without_a_mouse(
    site: Site, harbour: Harbour, people: People, windows: Windows
) -> None:
    page = _open_map(site, people, windows)
    page.locator("#find").focus()
    page.keyboard.type("cranes")
    expect(page.locator(".map-found button")).to_have_count(1)
    page.keyboard.press("Enter")
    picked = page.locator(".map-picked")
    expect(picked).to_contain_text("Yard/Cranes.md")
    expect(page).to_have_url(re.compile(r"#Yard%2FCranes\.md$"))
    page.locator("#map canvas").focus()
    page.keyboard.press("Escape")
    expect(picked).to_be_empty()
    page.locator("#find").fill("cranes")
    page.locator(".map-found button").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#map canvas")).to_be_focused()
    for key in ("+", "-", "ArrowLeft", "ArrowRight"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")  # what stands in the middle: the note that was centred
    expect(picked).to_contain_text("Yard/Cranes.md")
    picked.get_by_role("link").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/notes/Yard/Cranes.md")


def test_the_way_from_one_note_to_another_stands_in_words(
    site: Site, harbour: Harbour, people: People, windows: Windows
) -> None:
    page = _open_map(site, people, windows, "?note=Yard/Tides.md&to=Yard/Paint%20%26%20co.md")
    steps = page.locator(".map-picked ol li")
    expect(steps).to_have_text(["Tides", "Cranes", "Paint"])
    rows = page.get_by_role("table").first.locator("tbody th > a:first-child")
    expect(rows).to_have_text(["Tides", "Cranes", "Paint"])
