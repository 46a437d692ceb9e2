"""Memories and notes are changed in a browser, by two at once, and changes are taken back.

Covers server.ui.memory_page, server.ui.note_page and server.ui.graph_page.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.conftest import People, Windows
from tests.browser.harbour import Harbour
from tests.browser.site import Site


def _type(page: Page, text: str) -> None:
    page.get_by_label("Text", exact=True).fill(text)


def test_who_edits_second_sees_both_texts_and_decides(
    site: Site, people: People, windows: Windows, ask: Callable[..., Any]
) -> None:
    memory = ask("remember", content="The ferry leaves at nine.")["id"]
    address = f"{site.url}/ui/v/main/memories/{memory}"
    pages = [windows.open(address, storage_state=people(name)) for name in ("ann", "ben")]
    for page, text in zip(pages, ("The ferry leaves at ten.", "The ferry leaves at eleven."), strict=True):
        page.get_by_text("Edit", exact=True).click()
        _type(page, text)
        page.get_by_role("button", name="Save").click()
    expect(pages[0].get_by_role("status")).to_have_text("Saved.")
    late = pages[1]
    expect(late.get_by_text("Somebody else changed this memory while you wrote.")).to_be_visible()
    expect(late.locator("pre.body")).to_have_text("The ferry leaves at ten.")
    expect(late.get_by_label("Text", exact=True)).to_have_value("The ferry leaves at eleven.")
    late.get_by_role("button", name="Save").click()
    expect(late.get_by_role("status")).to_have_text("Saved.")
    expect(late.locator("pre.body")).to_have_text("The ferry leaves at eleven.")


def test_a_change_of_a_note_is_taken_back_from_its_history(
    site: Site, people: People, windows: Windows, ask: Callable[..., Any]
) -> None:
    ask("note_write", path="Undo.md", content="# Undo\n\nThe first text.\n")
    page = windows.open(f"{site.url}/ui/v/main/notes/Undo.md", storage_state=people("ann"))
    page.get_by_text("Edit", exact=True).click()
    page.get_by_label("Markdown").fill("# Undo\n\nThe second text.\n")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".prose")).to_contain_text("The second text.")
    page.get_by_text("History", exact=True).click()
    page.get_by_role("link", name="what changed").first.click()
    expect(page.locator(".diff .removed")).to_have_text("-The first text.")
    expect(page.locator(".diff .added")).to_have_text("+The second text.")
    page.get_by_role("button", name="Take back").click()
    expect(page.get_by_role("status")).to_have_text("Taken back.")
    expect(page.locator(".prose")).to_contain_text("The first text.")


def test_the_graph_shows_a_picture_and_a_table_that_leads_to_a_note(
    site: Site, harbour: Harbour, people: People, windows: Windows
) -> None:
    page = windows.open(f"{site.url}/ui/v/main/graph", storage_state=people("ann"))
    table = page.get_by_role("table").first
    expect(table.get_by_role("link", name="Cranes", exact=True)).to_be_visible()
    drawn = page.locator(".picture img")
    if drawn.count():
        assert drawn.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    table.get_by_role("link", name="Cranes", exact=True).click()
    page.wait_for_url("**/notes/Yard/Cranes.md")
