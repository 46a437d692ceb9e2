"""The files of a running server are replaced before anybody opened a page: it says so, and the next server is well.

Covers server.http.upgraded and server.http.late_application.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from server import installed_files
from server.oauth.pages import read_templates
from tests.server.http.serving import browser, served
from tests.server.http.test_sign_in_door import prepare


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of the console that an upgrade replaces."""
    monkeypatch.setattr(installed_files, "FOLDERS", (str(tmp_path / "ui"),))
    file = tmp_path / "ui" / "page.py"
    file.parent.mkdir()
    file.write_text("1", encoding="utf-8")
    return file


async def test_pages_ask_for_a_restart_and_agents_are_served(
    installed: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = tmp_path_factory.mktemp("upgraded")
    async with served(data, prepare=prepare) as site, browser(base_url=site.url) as http:
        installed.write_text("22", encoding="utf-8")
        for path in ("/ui/", "/oauth/sign-in"):
            page = await http.get(path, headers={"accept": "text/html,*/*;q=0.8"})
            assert page.status_code == 503
            assert "This server was upgraded while it ran" in page.text
            assert "default-src 'none'" in page.headers["content-security-policy"]
        told = await http.post("/oauth/token", data={"grant_type": "refresh_token"})
        assert (told.status_code, told.json()["error"]["code"]) == (503, "vault_unavailable")
        async with site.client("owner") as client:
            await client.call_tool("remember", {"content": "The harbour has three cranes."})
    async with served(data) as site, browser(base_url=site.url) as http:
        assert (await http.get("/oauth/sign-in")).status_code == 200


async def test_what_was_opened_before_goes_on(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    async with (
        served(tmp_path_factory.mktemp("open"), **{"auth.mode": "none"}) as site,
        browser(base_url=site.url) as http,
    ):
        assert (await http.get("/ui/")).status_code == 200
        installed.unlink()
        assert (await http.get("/ui/v/main/search", headers={"accept-language": "de"})).status_code == 200


def test_templates_are_read_once(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("old", encoding="utf-8")
    loader = read_templates(tmp_path)
    (tmp_path / "page.html").write_text("new {% broken", encoding="utf-8")
    assert loader.mapping["page.html"] == "old"
