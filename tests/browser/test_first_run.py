"""Somebody starts a server, makes a vault and connects an agent, in a browser.

Covers server.ui.connect_page and server.ui.vaults_page.
"""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from tests.browser.agent import call_as_agent
from tests.browser.conftest import Windows
from tests.browser.site import serving


def test_the_owner_makes_the_first_vault_and_sees_the_first_call_of_an_agent(tmp_path: Path, windows: Windows) -> None:
    with serving(tmp_path / "data", STRONGROOM_AUTH__MODE="none") as site:
        site.run("vault", "archive", "main")  # the first start made it: as where somebody begins anew
        page = windows.open(site.url)
        expect(page).to_have_title("Your vaults · strongroom")
        page.get_by_label("Name").fill("harbour")
        page.get_by_role("button", name="Make it").click()
        expect(page.get_by_role("status").first).to_contain_text("The vault is ready")
        address = page.locator("#endpoint").inner_text()
        assert address == site.mcp("harbour")
        called = page.get_by_role("region", name="Has your agent called?")
        expect(called).to_contain_text("Not yet")
        call_as_agent(address, "", [("remember", {"content": "The quay is free at night."})])
        expect(called).to_contain_text("Your agent has called")
        page.get_by_role("link", name="Home").click()
        expect(page.get_by_role("region", name="Told last")).to_contain_text("The quay is free at night.")
