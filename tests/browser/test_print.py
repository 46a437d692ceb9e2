"""On paper: a memory and a report are whole, and what is clicked on a screen is left out.

Covers server.ui.memory_page and server.ui.usage_page.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pypdfium2
from playwright.sync_api import Page, expect

from tests.browser.conftest import People, Windows
from tests.browser.harbour import LONG, Harbour
from tests.browser.site import Site


def _print(page: Page) -> str:
    """The text of the pages, without blanks: lines are broken anywhere."""
    with_ends = pypdfium2.PdfDocument(page.pdf(format="A4"))
    return "".join("".join(sheet.get_textpage().get_text_bounded().split()) for sheet in with_ends)


def _see_as_paper(page: Page) -> None:
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 between its margins
    page.emulate_media(media="print")


def test_a_memory_is_printed_whole_and_without_navigation(
    site: Site, harbour: Harbour, people: People, windows: Windows, ask: Callable[..., Any]
) -> None:
    lines = [f"Berth {number} is free." for number in range(200)]
    memory = ask("remember", content="\n".join([*lines, LONG, "The last line."]), title="Berths")["id"]
    page = windows.open(f"{site.url}/ui/v/main/memories/{memory}", storage_state=people("ann"))
    text = _print(page)
    assert all("".join(each.split()) in text for each in (*lines, LONG, "The last line."))
    for word in ("Signout", "Search", "Sessions", "Deutsch", "Save", "Edit"):
        assert word not in text, word
    assert text.startswith("strongroom/main"), "whoever finds the sheet knows the vault"
    _see_as_paper(page)
    expect(page.locator("nav a, button, footer, form").filter(visible=True)).to_have_count(0)


def test_a_report_is_printed_with_every_column_and_its_days(
    site: Site, harbour: Harbour, people: People, windows: Windows
) -> None:
    page = windows.open(f"{site.url}/ui/v/main/usage", storage_state=people("ada", "*", "admin"))
    text = _print(page)
    heads = page.locator("thead th").all_text_contents()
    assert all("".join(each.split()) in text for each in heads if "Share" not in each), text
    days = page.locator("details tbody th").all_text_contents()
    assert days
    assert all(each in text for each in days)
    _see_as_paper(page)
    expect(page.locator("nav a, button, footer, form").filter(visible=True)).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    wider = "[...document.querySelectorAll('.wide')].filter(each => each.scrollWidth > each.clientWidth).length"
    assert page.evaluate(wider) == 0
