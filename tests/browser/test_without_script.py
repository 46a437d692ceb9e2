"""JavaScript off: what is stored can be read, and each kind of form does what it says.

Covers server.ui.forms and server.ui.guests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect

from tests.browser.conftest import People, Windows
from tests.browser.harbour import Harbour
from tests.browser.site import Site


def test_reading_searching_editing_and_administering_take_no_script(
    site: Site, harbour: Harbour, people: People, windows: Windows, ask: Callable[..., Any]
) -> None:
    memory = ask("remember", content="The dock has two gates.")["id"]
    page = windows.open(f"{site.url}/ui/v/main/", storage_state=people("ada", "*", "admin"), java_script_enabled=False)
    page.get_by_label("Search everything in this vault").fill("two gates")
    page.get_by_role("button", name="Search").click()
    page.locator("a.hit", has_text="two gates").click()
    page.get_by_text("Edit", exact=True).click()
    page.get_by_label("Text", exact=True).fill("The dock has three gates.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("pre.body")).to_have_text("The dock has three gates.")
    page.get_by_text("Forget", exact=True).click()
    page.get_by_role("button", name="Forget it").click()
    expect(page.get_by_text("searches do not find it")).to_be_visible()
    assert page.url.startswith(f"{site.url}/ui/v/main/memories/{memory}")
    page.goto(f"{site.url}/ui/v/main/notes/Yard/Cranes.md")
    page.get_by_role("button", name="Tick").click()
    expect(page.get_by_role("status")).to_have_text("Saved.")
    page.goto(f"{site.url}/ui/v/main/notes/Dock.md")
    page.get_by_text("Write it", exact=True).click()
    page.get_by_label("Markdown").fill("# Dock\n")
    page.get_by_role("button", name="Write the note").click()
    expect(page.get_by_role("status")).to_have_text("The note is written.")
    page.goto(f"{site.url}/ui/admin/grant?subject=dora&issuer=local")
    page.get_by_label("Vault").select_option("main")
    page.get_by_role("button", name="Give it").click()
    expect(page.get_by_role("status")).to_contain_text("Given.")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()


def test_a_page_that_was_open_while_the_server_was_restarted_goes_on(
    site: Site, people: People, windows: Windows, ask: Callable[..., Any]
) -> None:
    memory = ask("remember", content="The lamp is green.")["id"]
    page = windows.open(f"{site.url}/ui/v/main/memories/{memory}", storage_state=people("ann"))
    page.get_by_text("Edit", exact=True).click()
    page.get_by_label("Text", exact=True).fill("The lamp is red.")
    site.stop()
    site.start()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_have_text("Saved.")
    expect(page.locator("pre.body")).to_have_text("The lamp is red.")
