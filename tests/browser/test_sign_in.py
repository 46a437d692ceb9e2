"""People sign in in a browser: by the link they were given, by a passkey, by a password.

Covers server.oauth.passkey_routes and server.oauth.sign_in_routes.
"""

from __future__ import annotations

from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import People, Windows, await_grant
from tests.browser.site import Site
from tests.server.oauth.desk import PASSWORD


def _give_authenticator(context: BrowserContext, page: Page) -> None:
    """A device of Chromium's own that makes passkeys and has its person's finger on it."""
    device = context.new_cdp_session(page)
    device.send("WebAuthn.enable")
    kind = {
        "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
        "isUserVerified": True, "automaticPresenceSimulation": True,
    }  # fmt: skip
    device.send("WebAuthn.addVirtualAuthenticator", {"options": kind})


def test_an_invited_person_makes_a_passkey_and_comes_back_by_it(site: Site, windows: Windows) -> None:
    context = windows.context()
    page = context.new_page()
    _give_authenticator(context, page)
    page.goto(site.invite("pia"))
    page.get_by_label("What you call this device").fill("Harbour laptop")
    page.get_by_role("button", name="Make a passkey").click()
    page.wait_for_url(f"{site.url}/ui/**")
    page.get_by_role("link", name="Your account: pia").click()
    expect(page.get_by_role("heading", name="Your account")).to_be_visible()
    expect(page.get_by_text("Harbour laptop")).to_be_visible()
    await_grant(page, f"{site.url}/ui/v/main/")
    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{site.url}/ui/v/main/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    page.wait_for_url(f"{site.url}/ui/v/main/")
    expect(page.get_by_role("heading", name="main", level=1)).to_be_visible()


def test_a_wrong_password_lets_nobody_in_and_the_right_one_leads_on(
    site: Site, people: People, windows: Windows
) -> None:
    people("ann")
    page = windows.open(f"{site.url}/ui/v/main/search?q=crane")
    for password in ("not the one it is", PASSWORD):
        expect(page).to_have_title("Sign in · strongroom")
        page.get_by_label("Name").fill("ann")
        page.get_by_label("Password").fill(password)
        page.get_by_role("button", name="Sign in", exact=True).click()
        if password != PASSWORD:
            expect(page.get_by_role("alert").filter(visible=True)).to_be_visible()
    page.wait_for_url(f"{site.url}/ui/v/main/search?q=crane")


def test_a_link_that_was_used_makes_no_second_passkey(site: Site, windows: Windows) -> None:
    link = site.invite("uri")
    first = windows.open(link)
    first.get_by_label("Password").fill(PASSWORD)
    first.get_by_label("The same again").fill(PASSWORD)
    first.get_by_role("button", name="Set the password").click()
    first.wait_for_url(f"{site.url}/ui/**")
    second = windows.open(link)
    expect(second.get_by_role("button", name="Set the password")).to_have_count(0)
