"""A real browser, real servers, and people who are signed in there."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.agent import call_as_agent
from tests.browser.harbour import Harbour, fill_harbour
from tests.browser.site import VAULT, Site, serving
from tests.server.oauth.desk import PASSWORD

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = os.environ.get("BROWSER") or "/usr/bin/chromium"
collect_ignore_glob = [] if importlib.util.find_spec("playwright") else ["test_*.py"]
"""Only ``make ui`` installs it, and other targets look through all folders for tests of theirs."""

PATIENCE_MS = 60_000
"""A safety net: a server that has just begun loads its pages at the first request."""

ASKED_AT_MOST = 5_000
"""A safety net as well: answers take milliseconds, and a grant is followed within 5 seconds."""

BROKEN_RULES = ("Content Security Policy", "Refused to")
"""What a browser says in its console of a page that wants what its policy forbids."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here needs a browser, and runs in ``make ui`` alone."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.browser)


@dataclass
class Windows:
    """Windows of the browser, each with cookies of its own, which end with the test. ``complaints``: what went wrong in
    scripts, and what the policy of a page (CSP) did not let it do."""

    browser: Browser
    complaints: list[str] = field(default_factory=list)
    _open: list[BrowserContext] = field(default_factory=list)

    def context(self, **how: Any) -> BrowserContext:
        context = self.browser.new_context(**how)
        context.set_default_timeout(PATIENCE_MS)
        context.on("weberror", lambda failed: self.complaints.append(str(failed.error)))
        context.on("console", lambda said: self._hear(said.text))
        self._open.append(context)
        return context

    def open(self, address: str, **how: Any) -> Page:
        page = self.context(**how).new_page()
        page.goto(address)
        return page

    def close(self) -> None:
        for each in self._open:
            each.close()

    def _hear(self, text: str) -> None:
        if any(each in text for each in BROKEN_RULES):
            self.complaints.append(text)


class People:
    """Who signs in at a server. Each takes an invite once, and is known to every window afterwards."""

    def __init__(self, site: Site, browser: Browser) -> None:
        self._site, self._browser = site, browser
        self._states: dict[str, Any] = {}

    def __call__(self, name: str, vault: str = VAULT, role: str = "writer") -> Any:
        """What a window of theirs holds: ``windows.open(…, storage_state=people("ann"))``."""
        if name not in self._states:
            with self._browser.new_context() as context:
                context.set_default_timeout(PATIENCE_MS)
                page = context.new_page()
                page.goto(self._site.invite(name, vault, role))
                page.get_by_label("Password").fill(PASSWORD)
                page.get_by_label("The same again").fill(PASSWORD)
                page.get_by_role("button", name="Set the password").click()
                page.wait_for_url(f"{self._site.url}/ui/**")
                await_grant(page, f"{self._site.url}/ui/{'admin/' if vault == '*' else f'v/{vault}/'}")
                self._states[name] = context.storage_state()
        return self._states[name]


def await_grant(page: Page, address: str) -> None:
    """Until the server follows what a command beside it gave whoever is signed in: it looks every few seconds."""
    for _ in range(ASKED_AT_MOST):
        if page.request.get(address).status == 200:
            return
    raise AssertionError(f"{address} opens to nobody after {ASKED_AT_MOST} looks")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not shutil.which(CHROMIUM):
        pytest.skip(f"no browser at {CHROMIUM}: install Debian's chromium, or name one that is here in BROWSER")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def windows(browser: Browser) -> Iterator[Windows]:
    opened = Windows(browser)
    yield opened
    opened.close()
    assert opened.complaints == []


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Site]:
    """A server where people sign in, with a vault ``main`` that agents have worked in."""
    with serving(tmp_path_factory.mktemp("site") / "data") as running:
        yield running


@pytest.fixture(scope="session")
def harbour(site: Site) -> Harbour:
    """What stands in the vault."""
    return fill_harbour(site.mcp(), site.token)


@pytest.fixture(scope="session")
def people(site: Site, browser: Browser) -> People:
    return People(site, browser)


@pytest.fixture
def ask(site: Site) -> Callable[..., Any]:
    """Call a tool as the agent that holds the first token."""

    def call(tool: str, /, **arguments: Any) -> Any:
        return call_as_agent(site.mcp(), site.token, [(tool, arguments)])[0]

    return call
