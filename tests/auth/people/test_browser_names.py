"""A browser is called as people call it, and what is none as it calls itself."""

from __future__ import annotations

import pytest

from auth.people.browser_names import name_browser

WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("said", "name"),
    [
        (f"Mozilla/5.0 (X11; Linux x86_64) {WEBKIT} Chrome/150.0.0.0 Safari/537.36", "Chrome, Linux"),
        (f"Mozilla/5.0 (Windows NT 10.0) {WEBKIT} Chrome/150.0.0.0 Safari/537.36 Edg/150.0.0.0", "Edge, Windows"),
        ("Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox, Windows"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/19.0 Safari/605.1.15", "Safari, Mac"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Mobile Safari/604.1", "Safari, iPhone"),
        (f"Mozilla/5.0 (Linux; Android 16) {WEBKIT} Chrome/150.0.0.0 Mobile Safari/537.36", "Chrome, Android"),
        (f"Mozilla/5.0 (X11; Linux x86_64) {WEBKIT} HeadlessChrome/150.0.0.0 Safari/537.36", "Chrome, Linux"),
        ("Mozilla/5.0 (Harbour) Firefox/1", "Firefox"),
        ("curl/8.5.0", "curl/8.5.0"),
        ("Safari/1 but not said as browsers do", "Safari/1 but not said as browsers do"),
        ("Mozilla/5.0 (something else)", "Mozilla/5.0 (something else)"),
        ("", ""),
    ],
)
def test_a_browser_is_called_by_its_name_and_system(said: str, name: str) -> None:
    assert name_browser(said) == name
