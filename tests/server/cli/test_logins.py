"""``strongroom login``, against a server. Covers server.cli.logins, server.remote_vault.device_login."""

from __future__ import annotations

import asyncio
import re
import stat
from pathlib import Path

import pytest

from auth.people.attempts import AttemptLimit
from server.remote_vault import device_login
from tests.server.cli.command import Strongroom
from tests.server.http.serving import browser, served
from tests.server.http.test_sign_in_door import prepare
from tests.server.oauth.desk import Browser
from vaults.errors import Forbidden, StrongroomError


async def answer(page: str, decision: str) -> None:
    async with browser(base_url=page.partition("/oauth/")[0]) as http:
        visitor = Browser(http)
        asked = await visitor.follow(await visitor.open(page))
        asked = await visitor.follow(
            await visitor.send(asked, "/oauth/sign-in", name="ann", password="wooden boats cross slowly")
        )
        await visitor.send(asked, "/oauth/device", decision=decision)


async def test_a_shell_gets_a_token_that_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.oauth.device_routes.DEVICE_POLL", AttemptLimit("device poll", 10_000, 1))
    async with served(tmp_path / "served", prepare=prepare) as site:
        loop, waited = asyncio.get_running_loop(), []

        def say_yes(seconds: float) -> None:
            waited.append(seconds)
            if len(waited) == 2:  # the first look finds nothing yet
                asyncio.run_coroutine_threadsafe(answer(asked.page, "allow"), loop).result()

        asked = await asyncio.to_thread(device_login.ask, f"{site.url}/v/main/mcp", None, "shell")
        given = await asyncio.to_thread(device_login.wait_for_token, asked, say_yes)
        assert (given.vault, given.scope, len(waited)) == ("main", "vault:read vault:write", 2)
        async with browser(headers={"authorization": f"Bearer {given.token}"}) as http:
            assert (await http.post(f"{site.url}/v/main/tools/recall", json={"query": "x"})).status_code == 200
        assert given.token not in repr(given)
        assert asked.device_code not in repr(asked)

        denied = await asyncio.to_thread(device_login.ask, site.url, "main", "shell")
        await answer(denied.page, "deny")
        with pytest.raises(Forbidden):
            await asyncio.to_thread(device_login.wait_for_token, denied, lambda seconds: None)


async def test_where_nobody_signs_in_it_says_so(tmp_path: Path) -> None:
    async with served(tmp_path / "served", **{"auth.login": "off"}) as site:
        with pytest.raises(StrongroomError, match="people sign in to"):
            await asyncio.to_thread(device_login.ask, site.url, None, "shell")


def test_the_token_goes_to_stdout_or_into_a_file_of_ones_own(
    strongroom: Strongroom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = device_login.DeviceLogin(
        "https://mem.example", "d", "BCDF-GHJK", "https://mem.example/oauth/device?code=BCDF-GHJK", 5
    )
    given = device_login.GivenToken("a.b.c", "main", "vault:read", "2026-12-01T00:00:00Z")
    monkeypatch.setattr(device_login, "ask", lambda url, vault, by: asked)
    monkeypatch.setattr(device_login, "wait_for_token", lambda login: given)
    printed = strongroom("login", "https://mem.example")
    assert printed.out == "a.b.c\n"
    assert re.search(r"BCDF-GHJK.*\n.*main until 2026", printed.err, re.DOTALL)
    file = tmp_path / "token"
    for _ in range(2):
        assert strongroom("login", "https://mem.example", "--token-file", str(file)).out == ""
    assert file.read_text() == "a.b.c"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_an_address_that_is_none_is_named(strongroom: Strongroom) -> None:
    for url in ("mem.example", "ftp://mem.example", "https://mem.example/?q", ""):
        assert strongroom("login", url).code == 2, url
    assert strongroom("login", "http://127.0.0.1:1").code == 1
