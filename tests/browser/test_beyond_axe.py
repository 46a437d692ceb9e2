"""What WCAG 2.2 AA asks for and axe-core does not look at by itself: where the focus is, how large targets are, texts
that are set wider, and nothing that moves for who wants no motion.

Covers server.ui.application.
"""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import People, Windows
from tests.browser.harbour import Harbour
from tests.browser.site import Site
from tests.browser.test_every_page import AXE, TOO_WIDE, open_all

NARROWEST = 320
"""CSS pixels: what 1,280 are at 400 %."""

STOPS = 80
"""Tab stops looked at on each page: the longest list has more, all alike."""

FOCUS = """() => {
    const at = document.activeElement;
    if (!at || at === document.body) return null;
    const box = at.getBoundingClientRect(), style = getComputedStyle(at);
    const x = Math.min(Math.max(box.left + box.width / 2, 0), innerWidth - 1);
    const y = Math.min(Math.max(box.top + Math.min(box.height / 2, 12), 0), innerHeight - 1);
    const over = document.elementFromPoint(x, y);
    const covers = over && !at.contains(over) && !over.contains(at) && !over.closest("label")?.contains(at);
    const isSeen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    const isIn = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
    const what = at.outerHTML.slice(0, 120), by = covers ? over.outerHTML.slice(0, 80) : "";
    return { what, wrong: [isSeen ? "" : "unseen", isIn ? "" : "outside", by ? `below ${by}` : ""].filter(Boolean) };
}"""
"""Of what has the focus, what is wrong with it; null at the end of the page."""

WIDER = """() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`* { line-height: 1.5 !important; letter-spacing: .12em !important; }
        * { word-spacing: .16em !important; } p { margin-bottom: 2em !important; }`);
    document.adoptedStyleSheets = [sheet];
}"""
"""Text as 1.4.12 has it set; by a sheet that is made, since pages take none from elsewhere."""

CUT = """() => [...document.querySelectorAll("main *, header *, footer *")]
    .filter(each => each.checkVisibility() && getComputedStyle(each).overflowY === "hidden")
    .filter(each => getComputedStyle(each).clipPath === "none") // for screen readers alone
    .filter(each => each.textContent.trim() && each.scrollHeight > each.clientHeight + 1 && !each.matches(".clip"))
    .map(each => each.outerHTML.slice(0, 120))"""

MOVING = """() => [...document.querySelectorAll("*")]
    .filter(each => {
        const style = getComputedStyle(each);
        const longest = [style.transitionDuration, style.animationDuration].join(",").split(",").map(parseFloat);
        return Math.max(...longest) > 0 || style.scrollBehavior === "smooth";
    }).map(each => each.outerHTML.slice(0, 80)).concat(document.getAnimations().map(String))"""


@pytest.fixture(scope="module")
def everybody(site: Site, harbour: Harbour, people: People) -> Any:
    """The windows of who may see everything; others are there to be listed."""
    people("ann")
    return people("ada", "*", "admin")


def _unfold(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")


@pytest.mark.parametrize("width", [1280, 360])
def test_the_focus_is_seen_and_nothing_lies_over_it(
    site: Site, harbour: Harbour, everybody: Any, windows: Windows, width: int
) -> None:
    context = windows.context(storage_state=everybody, viewport={"width": width, "height": 500})
    wrong = []
    for address, page in open_all(site, harbour, context):
        _unfold(page)
        page.evaluate("document.activeElement.blur()")
        for _ in range(STOPS):
            page.keyboard.press("Tab")
            at = page.evaluate(FOCUS)
            if at is None:
                break
            if at["wrong"]:
                wrong.append(f"{address}: {at}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.skipif(not AXE.is_file(), reason="make ui fetches axe-core, where there is npm")
def test_every_target_is_large_enough_or_has_room_around_it(
    site: Site, harbour: Harbour, everybody: Any, windows: Windows
) -> None:
    checks, found = AXE.read_text(encoding="utf-8"), []
    for address, page in open_all(site, harbour, windows.context(storage_state=everybody)):
        page.evaluate(checks)
        _unfold(page)
        for width in (1280, NARROWEST):
            page.set_viewport_size({"width": width, "height": 800})
            only = "axe.run({ runOnly: ['target-size'] }).then(found => found.violations)"
            for each in page.evaluate(only):
                found += [f"{address} at {width}: {node['html'][:160]}" for node in each["nodes"]]
    assert not found, "\n".join(found)


def test_text_that_is_set_wider_fits_and_nothing_moves_unasked(
    site: Site, harbour: Harbour, everybody: Any, windows: Windows
) -> None:
    context = windows.context(
        storage_state=everybody, viewport={"width": NARROWEST, "height": 800}, reduced_motion="reduce"
    )
    wrong = []
    for address, page in open_all(site, harbour, context):
        _unfold(page)
        wrong += [f"{address} moves: {each}" for each in page.evaluate(MOVING)]
        wrong += [f"{address} is wide: {each}" for each in page.evaluate(TOO_WIDE)]
        page.evaluate(WIDER)
        wrong += [f"{address} is wide with wider text: {each}" for each in page.evaluate(TOO_WIDE)]
        wrong += [f"{address} is cut: {each}" for each in page.evaluate(CUT)]
    assert not wrong, "\n".join(wrong)


def test_the_head_of_a_long_table_does_not_lie_over_the_focus(
    site: Site, harbour: Harbour, everybody: Any, windows: Windows
) -> None:
    page = windows.open(f"{site.url}/ui/admin/grants", storage_state=everybody, viewport={"width": 1280, "height": 500})
    page.evaluate(
        """() => {
            const row = document.querySelector(".matrix tbody tr");
            for (let n = 0; n < 60; n++) row.after(row.cloneNode(true));
        }"""
    )
    page.locator(".matrix tbody a").last.focus()
    for _ in range(59):
        page.keyboard.press("Shift+Tab")
        assert page.evaluate(FOCUS)["wrong"] == []
