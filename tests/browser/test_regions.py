"""Times stand as the reader's region writes them, in the language of the page.

Covers server.ui.assets.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import People, Windows
from tests.browser.harbour import Harbour
from tests.browser.site import Site


@pytest.mark.parametrize(
    ("region", "written"),
    [("en-GB", r"\d{1,2} \w+ \d{4}, \d\d:\d\d$"), ("en-US", r"\w+ \d{1,2}, \d{4}"), ("fr-FR", r"[AP]M$")],
)
def test_a_time_is_written_as_the_region_does_and_in_no_other_language(
    site: Site, harbour: Harbour, people: People, windows: Windows, region: str, written: str
) -> None:
    page = windows.open(f"{site.url}/ui/v/main/sessions", storage_state=people("ann"), locale=region)
    expect(page.locator(".when time").first).to_have_text(re.compile(written))
