"""``python -m tests.browser.pictures FOLDER``: every page of the console of a small team, light and dark, wide and
narrow, English and German, to be looked at."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.browser.conftest import CHROMIUM, PATIENCE_MS, People
from tests.browser.every_page import Filled, addresses
from tests.browser.site import serving
from tests.browser.team import VAULT
from tests.browser.team_vault import TeamVault

WIDTHS = (1280, 360)
ENVIRONMENT = {"STRONGROOM_EMBEDDING__ENGINE": "auto"}


@dataclass(frozen=True, slots=True)
class Look:
    """How somebody looks at pages."""

    language: str
    colours: str
    width: int

    @property
    def name(self) -> str:
        return f"{self.language}-{self.colours}-{self.width}"


LOOKS = tuple(Look(language, colours, width) for language in ("en", "de") for colours in ("light", "dark") for width in WIDTHS)


def filled_with(team: TeamVault, session: str, now: datetime) -> Filled:
    """Addresses of the team's pages."""
    return Filled(
        paths={
            "memories/{id}": (team.ids["When we deploy"], team.ids["How long the card provider takes"]),
            "sessions/{id:path}": (session,),
            "notes/{path:path}": ("", "Services/", "Services/Checkout.md", "Nowhere.md"),
            "vaults/{name}": (VAULT,),
            "vaults/{name}/delete": (VAULT,),
        },
        queries={
            "search": ({}, {"q": "how are retries of payments made safe?"}, {"q": "zeppelin", "mode": "keyword"}),
            "sessions": ({}, {"day": f"{now - timedelta(days=1):%Y-%m-%d}"}),
            "graph": ({}, {"note": "Services/Checkout.md"}),
            "person": ({"name": "ben"},),
            "grant": ({"subject": "ben", "issuer": "local"},),
            "tokens": ({}, {"show": "all"}),
            "clients": ({}, {"show": "registered"}),
        },
    )


def take_pictures(folder: Path, only: str) -> None:
    """One file for each page and look; ``only``: of addresses that hold this text."""
    now = datetime.now(UTC)
    with TemporaryDirectory() as temporary, serving(Path(temporary) / "data", **ENVIRONMENT) as site, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        team = TeamVault(site)
        team.fill(now)
        people = People(site, browser)
        people("ben", VAULT), people("mia", VAULT)
        state = people("ada", "*", "admin")
        pages = [each.replace("/ui/v/main/", f"/ui/v/{VAULT}/") for each in addresses(filled_with(team, _session(browser, site.url, state), now))]
        for look in LOOKS:
            with _context(browser, look, state) as context:
                page = context.new_page()
                for address in [each for each in pages if only in each]:
                    _take(page, f"{site.url}{address}", folder / f"{_name(address)}.{look.name}.png")
        browser.close()


def _session(browser: Browser, url: str, state: Any) -> str:
    with browser.new_context(storage_state=state) as context:
        page = context.new_page()
        page.goto(f"{url}/ui/v/{VAULT}/sessions")
        link = page.locator("ol a[href*='/sessions/'], ul a[href*='/sessions/']").first.get_attribute("href")
        return (link or "").rsplit("/", 1)[-1]


def _context(browser: Browser, look: Look, state: Any) -> BrowserContext:
    context = browser.new_context(
        storage_state=state, locale="de-DE" if look.language == "de" else "en-GB", color_scheme="dark" if look.colours == "dark" else "light",
        viewport={"width": look.width, "height": 800}, reduced_motion="reduce", timezone_id="Europe/Berlin",
    )
    context.set_default_timeout(PATIENCE_MS)
    return context


def _name(address: str) -> str:
    return re.sub(r"\W+", "-", address).strip("-")[:70]


def _take(page: Page, address: str, path: Path) -> None:
    answer = page.goto(address, wait_until="commit")
    if answer is not None and answer.headers.get("content-type", "").startswith("text/html"):
        page.wait_for_load_state()
        page.screenshot(path=path, full_page=True)


if __name__ == "__main__":
    take_pictures(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "")
