"""How a client is connected to a vault, and the tick that says that one has called.

Covers server.ui.connect_page.
"""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from auth.access import EVERY_VAULT
from auth.grants import set_grant
from auth.people import people
from auth.principal import LOCAL, owner
from auth.roles import Role
from server.call import Caller
from server.dispatch import dispatch
from server.setup.client_config import AGENT_RULES, READER_RULES
from server.setup.connection_guides import list_guides
from server.ui import connect_page
from tests.server.ui.stage import HOSTILE, URL, Stage, open_stage

pytestmark = pytest.mark.asyncio(loop_scope="module")

ENDPOINT = f"{URL}/v/main/mcp"


async def call_as(stage: Stage, name: str, client: str, vault: str = "main") -> None:
    """A call of somebody's agent, through dispatch."""
    caller = Caller(people.principal_of(name), vault, Role.WRITER, "http", client=client)
    outcome = await dispatch(stage.services, caller, "recall", {"query": "anything"})
    assert outcome.ok, outcome.content


CALLS = "/ui/v/main/connect/calls"
"""What the open page fetches when it hears of a change."""


async def test_each_known_client_is_told_how_to_connect_without_a_token(stage: Stage) -> None:
    page = unescape((await (await stage.person("anna")).open("/ui/v/main/connect")).text)
    for guide in list_guides(ENDPOINT, None):
        assert guide.title in page
        assert guide.commands in page
        assert guide.content in page
    assert f"claude mcp add --transport http strongroom {ENDPOINT}\n" in page.replace("</pre>", "\n")
    assert "strongroom connect cursor --url https://mem.example/v/main/mcp --token-env ''" in page
    assert f"strongroom login {ENDPOINT} --token-file ~/.strongroom-token" in page
    assert "Bearer" not in page
    assert AGENT_RULES in page
    assert set(re.findall(r'data-copy="#([^"]+)"', page)) <= set(re.findall(r' id="([^"]+)"', page))


async def test_an_administrator_is_led_to_tokens_and_others_to_who_makes_them(stage: Stage) -> None:
    admin = await (await stage.person("ada", Role.ADMIN, EVERY_VAULT)).open("/ui/v/main/connect")
    assert 'href="/ui/admin/tokens"' in admin.text
    reader = await (await stage.person("bert", Role.READER)).open("/ui/v/main/connect")
    assert "/ui/admin/" not in reader.text
    assert "strongroom token create --subject agent-1 --vault main --role reader" in reader.text
    assert READER_RULES in unescape(reader.text)
    assert AGENT_RULES not in unescape(reader.text)


async def test_the_tick_waits_for_a_client_of_this_person(stage: Stage) -> None:
    guest = await stage.person("carl")
    await stage.person("dora")
    await call_as(stage, "dora", "zed")
    page = await guest.open("/ui/v/main/connect")
    assert "Not yet" in page.text
    assert "dora" in page.text.partition("Others who call here")[2]
    assert f'hx-get="{CALLS}" hx-trigger="changed"' in page.text
    assert 'data-events="/ui/v/main/events"' in page.text
    again = await guest.open(CALLS)
    assert again.status_code == 200
    assert "Not yet" in again.text

    await call_as(stage, "carl", "cursor")
    told = await guest.open(CALLS)
    assert told.status_code == 286  # and htmx asks no more
    assert "Your agent has called" in told.text
    assert "cursor" in told.text.partition("Others who call here")[0]
    assert re.search(r'<time datetime="20\d\d-', told.text)
    assert "<html" not in told.text
    whole = await guest.open("/ui/v/main/connect")
    assert "Your agent has called" in whole.text
    assert "hx-get" not in whole.text


async def test_a_page_that_is_open_asks_for_nothing_by_the_clock_and_keeps_nobody_signed_in(stage: Stage) -> None:
    """It would keep the vault open, and count as calls of its person."""
    guest = await stage.person("emil")
    page = await guest.open("/ui/v/main/connect")
    assert "every " not in "".join(re.findall(r'hx-trigger="([^"]*)"', page.text))
    assert not connect_page.CALLS.is_use


async def test_a_call_under_way_is_found_behind_sessions_that_began_later(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = await stage.person("fred")
    await guest.open("/ui/v/main/connect")
    await call_as(stage, "fred", "codex")
    await stage.ask("session_save", summary="Done", status="completed")
    monkeypatch.setattr(connect_page, "SESSIONS", 1)
    page = await guest.open("/ui/v/main/connect")
    assert "codex" in page.text.partition("Others who call here")[0].partition("Your agent has called")[2]


async def test_the_home_leads_here_until_an_agent_called(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        guest = await stage.person("gina")
        home = await guest.open("/ui/v/main/")
        assert "No agent has called here yet" in home.text
        assert 'href="/ui/v/main/connect"' in home.text
        await call_as(stage, "gina", "claude-code")
        home = await guest.open("/ui/v/main/")
        assert "No agent has called here yet" not in home.text
        assert 'href="/ui/v/main/connect"' in home.text


async def test_where_everybody_is_the_owner_no_client_needs_a_token(tmp_path: Path) -> None:
    async with open_stage(tmp_path, signs_in=False) as stage:
        browser = stage.browser()
        page = await browser.open("/ui/v/main/connect")
        assert "token create" not in page.text
        assert "strongroom login" not in page.text
        assert f"strongroom connect zed --data {tmp_path} --vault main" in page.text
        assert "Not yet" in page.text
        caller = Caller(owner("loopback"), "main", Role.ADMIN, "http", client="windsurf")
        assert (await dispatch(stage.services, caller, "recall", {"query": "x"})).ok
        assert "windsurf" in (await browser.open(CALLS)).text


async def test_names_of_clients_are_only_texts(stage: Stage) -> None:
    guest = await stage.person("hans")
    await call_as(stage, "hans", HOSTILE[:190])
    page = await guest.open("/ui/v/main/connect")
    assert "&lt;script&gt;alert(1)" in page.text
    for live in ("<script>alert", 'href="javascript', "\u202e", "\U000e0041"):
        assert live not in page.text


async def test_who_may_not_enter_the_vault_is_told_nothing_of_it(stage: Stage) -> None:
    guest = await stage.person("ida", None)
    nothing = (await guest.open("/ui/nothing")).text
    for path in ("connect", "connect/calls"):
        answer = await guest.open(f"/ui/v/main/{path}")
        assert (answer.status_code, answer.text) == (404, nothing)
    await stage.services.access_cache.write(lambda tx: set_grant(tx, "ida", LOCAL, "main", Role.READER))
    assert (await guest.open("/ui/v/main/connect")).status_code == 200
