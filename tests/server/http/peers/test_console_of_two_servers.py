"""The console at a server that does not have the vault: its pages say what the other server's would.

Covers server.ui.events_page, as far as streams are passed on.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from server.ui import live_streams
from server.ui.vault_lines import read_line, read_lines
from tests.server.http.serving import browser, raw
from tests.server.http.two_servers import two_servers
from tests.work import PATIENCE_S


@pytest.fixture
async def pair(tmp_path, monkeypatch):
    async with two_servers(tmp_path, monkeypatch, **{"auth.mode": "none"}) as running:
        yield running


@asynccontextmanager
async def open_page(site):
    async with browser(base_url=site.url) as http, http.stream("GET", "/ui/v/main/events") as answer:
        assert answer.status_code == 200
        lines = answer.aiter_lines()

        async def following():
            async with asyncio.timeout(PATIENCE_S):
                async for line in lines:
                    if line.startswith(("event:", "retry:")):
                        return line
            return None

        yield following


async def test_pages_are_those_of_the_holder(pair):
    async with raw(pair.front, "both") as asked:
        await asked.call("remember", {"content": "a bittern in the reeds"})
    for path in ("/ui/v/main/search?q=bittern", "/ui/search?q=bittern"):
        for site in (pair.back, pair.front):
            async with browser(base_url=site.url) as http:
                answer = await http.get(path)
                assert (answer.status_code, "in the reeds" in answer.text) == (200, True), answer.text
    opened = [slot.name for slot in pair.services["front"].pool.slots.values()]
    assert opened == ["near"], "its own"


async def test_the_administration_shows_vaults_wherever_they_are(pair):
    async with raw(pair.front, "both") as main, raw(pair.front, "both", "near") as near:
        for one in (main, near):
            await one.call("remember", {"content": "x"})
    lines = {}
    for name in ("front", "back"):
        found = {line.entry.name: line for line in await read_lines(pair.services[name])}
        assert {line.state for line in found.values()} == {"active"}
        lines[name] = found["main"].size
    assert lines["front"] == lines["back"] > 0
    pair.table.holder["main"] = "nobody"
    assert (await read_line(pair.services["front"], "main")).size is None
    async with browser(base_url=pair.front.url) as http:
        assert "–" in (await http.get("/ui/admin/vaults")).text


async def test_an_open_page_hears_of_changes_on_the_other_server_and_is_led_after_the_vault(pair, monkeypatch):
    monkeypatch.setattr(live_streams, "HEARTBEAT_S", 0.1)  # with which it is asked who may stay
    async with open_page(pair.front) as following:
        assert await following() == "retry: 3000"
        async with raw(pair.back, "both") as there:
            assert not (await there.call("remember", {"content": "x"}))["isError"]
        assert await following() == "event: change"
        pair.table.holder["main"] = "front"
        async with raw(pair.front, "both") as here:  # a change after which it is asked who may stay
            await here.call("noop")
        async with raw(pair.back, "both") as there:
            await there.call("remember", {"content": "y"})
        assert await following() is None
