"""Pictures of the console of a small team: every page, light and dark, wide and narrow, English and German, to look
at; and the six that the documentation shows.

``python -m tests.browser.pictures FOLDER`` takes them all, ``… FOLDER usage`` those whose address holds a word, and
``… docs/pictures --shown`` the six.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.conftest import CHROMIUM, PATIENCE_MS, People
from tests.browser.every_page import Filled, addresses
from tests.browser.site import serving
from tests.browser.team import VAULT
from tests.browser.team_vault import TeamVault

HOME = f"/ui/v/{VAULT}/"
SEARCHED = "when do we deploy"


@dataclass(frozen=True, slots=True)
class Look:
    """How somebody looks at pages. ``region``: of their browser."""

    region: str = "en-GB"
    colours: Any = "light"
    width: int = 1280

    @property
    def name(self) -> str:
        return f"{self.region[:2]}-{self.colours}-{self.width}"


LOOKS = [Look(*each) for each in product(("en-GB", "de-DE"), ("light", "dark"), (1280, 360))]


@dataclass
class Team:
    """A server with a week of a team in it. ``ada`` administers it, and is the one who looks; ``links``: of people who
    were invited and have not come yet."""

    browser: Browser
    url: str
    vault: TeamVault
    ada: Any
    links: Sequence[str]
    now: datetime

    @contextmanager
    def window(self, look: Look, state: Any = None) -> Iterator[Page]:
        """One of somebody who is signed in, or of nobody."""
        with self.browser.new_context(
            storage_state=state, locale=look.region, color_scheme=look.colours, timezone_id="Europe/Berlin",
            viewport={"width": look.width, "height": 800}, reduced_motion="reduce",
        ) as context:  # fmt: skip
            context.set_default_timeout(PATIENCE_MS)
            yield context.new_page()

    def open(self, page: Page, address: str) -> bool:
        """Whether it is a page, and all there."""
        answer = page.goto(f"{self.url}{address}", wait_until="commit")
        if answer is None or not answer.headers.get("content-type", "").startswith("text/html"):
            return False
        page.wait_for_load_state()
        for state in page.locator(".map-state").all():  # a graph says there that its notes have no places yet
            expect(state).to_have_text("")
        return True

    @property
    def yesterday(self) -> str:
        return f"{self.now - timedelta(days=1):%Y-%m-%d}"

    def filled(self) -> Filled:
        """What addresses of the team's pages hold."""
        with self.window(Look(), self.ada) as page:
            self.open(page, f"{HOME}sessions?day={self.yesterday}")
            session = page.get_by_role("list").locator("a[href*='/sessions/']").first.get_attribute("href") or ""
        ids = self.vault.ids
        return Filled(
            paths={
                "memories/{id}": (ids["When we deploy"], ids["How long the card provider takes"]),
                "sessions/{id:path}": (session.rpartition("/")[2],),
                "notes/{path:path}": ("", "Services/", "Services/Checkout.md", "Nowhere.md"),
                "vaults/{name}": (VAULT,),
                "vaults/{name}/delete": (VAULT,),
            },
            queries={
                "search": ({}, {"q": SEARCHED}, {"q": "zeppelin", "mode": "keyword"}),
                "sessions": ({}, {"day": self.yesterday}),
                "graph": ({}, {"note": "Services/Checkout.md"}),
                "items": ({}, {"id": "nothing"}),
                "person": ({"name": "ben"},),
                "grant": ({"subject": "ben", "issuer": "local"},),
                "tokens": ({}, {"show": "all"}),
                "clients": ({}, {"show": "registered"}),
            },
        )


@contextmanager
def team() -> Iterator[Team]:
    """One that works while the pictures are taken."""
    now = datetime.now(UTC)
    with (
        TemporaryDirectory() as folder,
        serving(Path(folder) / "data", STRONGROOM_EMBEDDING__ENGINE="auto") as site,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        vault = TeamVault(site)
        vault.fill(now)
        people = People(site, browser)
        for name in ("ben", "mia"):
            people(name, "support", "reader")  # where their browsers do not stand among those at work
        links = [urlsplit(site.invite("zoe", VAULT))._replace(scheme="", netloc="").geturl()]
        yield Team(browser, site.url, vault, people("ada", "*", "admin"), links, now)
        browser.close()


def take_all(folder: Path, word: str) -> None:
    """One file for each page and look."""
    with team() as here:
        inside = [each.replace("/ui/v/main/", HOME) for each in addresses(here.filled())]
        for look in LOOKS:
            for state, places in ((here.ada, inside), (None, ("/oauth/sign-in", *here.links))):
                with here.window(look, state) as page:
                    for place in (each for each in places if word in each):
                        if here.open(page, place):
                            page.screenshot(path=folder / f"{_file_name(place, state)}.{look.name}.png", full_page=True)


def _file_name(address: str, state: Any) -> str:
    return re.sub(r"\W+", "-", address).strip("-")[:70] if state else f"guest-{urlsplit(address).path.split('/')[2]}"


def _open_reasons(page: Page) -> None:
    page.locator(".why summary").first.click()
    _at_top(page)


def _at_top(page: Page) -> None:
    page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")


def _choose_checkout(page: Page) -> None:
    page.get_by_label("Find a note").fill("Checkout")
    page.get_by_label("Find a note").press("Enter")
    page.locator(".map-picked .map-title").wait_for()
    page.evaluate("document.activeElement.blur(); document.querySelector('#map').scrollIntoView()")


def take_shown(folder: Path) -> None:
    """The six of the documentation, as large as a small screen."""
    with team() as here:
        shown: tuple[tuple[str, str, Callable[[Page], None]], ...] = (
            ("home", HOME, _at_top),
            ("search", f"{HOME}search?q={SEARCHED.replace(' ', '+')}", _open_reasons),
            ("note", f"{HOME}notes/Services/Checkout.md", _at_top),
            ("graph", f"{HOME}graph", _choose_checkout),
            ("sessions", f"{HOME}sessions?day={here.yesterday}", _at_top),
            ("usage", f"{HOME}usage", _at_top),
        )
        with here.window(Look(), here.ada) as page:
            for name, address, prepare in shown:
                here.open(page, address)
                prepare(page)
                picture = Image.open(BytesIO(page.screenshot()))
                picture.save(folder / f"console-{name}.webp", lossless=True, quality=100, method=6)  # a third of a PNG


if __name__ == "__main__":
    place, what = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    place.mkdir(parents=True, exist_ok=True)
    if what == "--shown":
        take_shown(place)
    else:
        take_all(place, what)
