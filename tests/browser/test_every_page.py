"""Every page in light, in dark and on a narrow screen: nothing is wider than the screen, nothing comes from elsewhere,
and axe-core finds nothing.

Covers server.ui.application.

``PICTURES=folder make ui`` keeps pictures of what was looked at.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.browser.conftest import People, Windows
from tests.browser.every_page import addresses, filled_with
from tests.browser.harbour import Harbour
from tests.browser.site import Site

AXE = Path(os.environ.get("AXE", Path(__file__).parents[2] / ".venv/axe/node_modules/axe-core/axe.min.js"))
PICTURES = os.environ.get("PICTURES")

LOOKS: dict[str, tuple[int, str]] = {"light": (1280, "light"), "dark": (1280, "dark"), "narrow": (360, "dark")}
"""Width of the window and colours."""

WIDTHS: dict[str, tuple[int, str]] = {**LOOKS, "4K": (3840, "light")}

TOO_WIDE = """() => [document.documentElement, ...document.querySelectorAll("body *")]
    .filter(each => each.checkVisibility() && each.scrollWidth > each.clientWidth + 1)
    .filter(each => each === document.documentElement || ["auto", "scroll"].includes(getComputedStyle(each).overflowX))
    .filter(each => !each.matches(".wide:not(:has(.settings))"))
    .map(each => `${each.tagName}.${each.className} ${each.scrollWidth} > ${each.clientWidth}`)"""
"""What is wider than its place: the page, or a part of it that scrolls sideways. Tables of several columns and the day
of sessions may: they take the focus, so that arrows move them. That of settings has long names, and is stacked."""


@pytest.fixture(scope="module")
def everybody(site: Site, harbour: Harbour, people: People) -> Any:
    """The windows of who may see everything; others are there to be listed."""
    people("ann")
    return people("ada", "*", "admin")


def open_all(site: Site, harbour: Harbour, context: BrowserContext) -> Any:
    """Each page of the console, one after another. What is no page, as a picture, is left out."""
    page = context.new_page()
    for address in addresses(filled_with(harbour)):
        answer = page.goto(f"{site.url}{address}", wait_until="commit")
        assert answer is not None
        assert answer.status < 500, address
        assert answer.status < 400 or "owhere" in address, (address, answer.status)
        if answer.headers.get("content-type", "").startswith("text/html"):
            page.wait_for_load_state()
            yield address, page


def _look(page: Page, look: str) -> None:
    width, colours = WIDTHS[look]
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme="dark" if colours == "dark" else "light")


def _keep_picture(page: Page, address: str, look: str) -> None:
    if PICTURES:
        name = re.sub(r"\W+", "-", address).strip("-")[:60]
        page.screenshot(path=Path(PICTURES) / f"{name}.{look}.png", full_page=True)


def test_no_page_is_wider_than_its_window_or_loads_from_elsewhere(
    site: Site, harbour: Harbour, everybody: Any, windows: Windows
) -> None:
    context = windows.context(storage_state=everybody)
    asked: set[str] = set()
    context.on("request", lambda request: asked.add(request.url))
    wide = []
    for address, page in open_all(site, harbour, context):
        for look in WIDTHS:
            _look(page, look)
            page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
            wide += [(address, look, each) for each in page.evaluate(TOO_WIDE)]
            _keep_picture(page, address, look)
    assert not wide, "\n".join(map(str, wide))
    assert {url for url in asked if not url.startswith((f"{site.url}/", "data:"))} == set()


@pytest.mark.skipif(not AXE.is_file(), reason="make ui fetches axe-core, where there is npm")
def test_axe_finds_nothing_on_any_page(site: Site, harbour: Harbour, everybody: Any, windows: Windows) -> None:
    checks, found = AXE.read_text(encoding="utf-8"), []
    for address, page in open_all(site, harbour, windows.context(storage_state=everybody)):
        page.evaluate(checks)
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
        for look in LOOKS:
            _look(page, look)
            for each in page.evaluate("axe.run().then(found => found.violations)"):
                found += [f"{each['id']} at {address}, {look}: {node['html'][:200]}" for node in each["nodes"]]
    assert not found, "\n".join(found)
