"""``subscriptions/listen``: who hears what, and when a stream ends.

Covers server.mcp_bridge.subscriptions.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from auth.roles import Role
from server.mcp_bridge import subscriptions
from server.services import Services
from tests.server.http.serving import BOTH, MODERN, enveloped, raw, served
from tests.work import PATIENCE_S
from vaults.errors import VaultUnavailable


@pytest.fixture
async def site(tmp_path, monkeypatch):
    monkeypatch.setattr(subscriptions, "GRANT_CHECK_S", 0.05)
    async with served(tmp_path / "data", vaults=("main", "other")) as running:
        running.tokens["second"] = await running.ground.token("second", Role.ADMIN, "main")
        running.tokens["stranger"] = await running.ground.token("stranger", Role.WRITER, "other")
        yield running


class Stream:
    """An open stream; messages as they come."""

    def __init__(self, answer):
        self.answer = answer
        self._lines = answer.aiter_lines()

    async def next(self):
        async with asyncio.timeout(PATIENCE_S):
            async for line in self._lines:
                if line.startswith("data: "):
                    return json.loads(line.removeprefix("data: "))
        return None


@asynccontextmanager
async def listen(caller, **wanted):
    message = enveloped("subscriptions/listen", {"notifications": wanted}, 7)
    headers = {"accept": BOTH, "mcp-protocol-version": MODERN, "mcp-method": "subscriptions/listen"}
    async with caller.http.stream("POST", caller.path, json=message, headers=headers) as answer:
        yield Stream(answer)


async def test_a_listener_hears_of_changes_in_its_own_vault_alone(site):
    async with raw(site, "owner") as owner, raw(site, "stranger", "other") as stranger:
        mine = (await owner.call("remember", {"content": "a bittern"}))["structuredContent"]["id"]
        uri = f"memory://{mine}"
        async with (
            listen(owner, resourceSubscriptions=[uri], resourcesListChanged=True) as heard,
            listen(stranger, resourceSubscriptions=["vault://status"], resourcesListChanged=True) as elsewhere,
        ):
            assert (await heard.next())["method"] == "notifications/subscriptions/acknowledged"
            assert (await elsewhere.next())["method"] == "notifications/subscriptions/acknowledged"
            await owner.call("memory_update", {"id": mine, "add_tags": ["bird"]})
            changed = await heard.next()
            assert (changed["method"], changed["params"]["uri"]) == ("notifications/resources/updated", uri)
            assert (await heard.next())["method"] == "notifications/resources/list_changed"
            await owner.call("recall", {"query": "bittern"})  # reading tells nobody
            await stranger.call("remember", {"content": "a heron"})
            assert (await elsewhere.next())["params"]["uri"] == "vault://status"
            site.state["drain"]()
            assert (await heard.next())["id"] == 7


async def test_who_may_no_longer_read_a_memory_hears_no_more_of_it(site):
    async with raw(site, "owner") as owner, raw(site, "second") as second:
        mine = (await owner.call("remember", {"content": "a bittern"}))["structuredContent"]["id"]
        uri = f"memory://{mine}"
        async with (
            listen(owner, resourceSubscriptions=[uri]) as own,
            listen(second, resourceSubscriptions=[uri], resourcesListChanged=True) as others,
        ):
            for heard in (own, others):
                assert (await heard.next())["method"] == "notifications/subscriptions/acknowledged"
            told = {"shared": ["updated", "list_changed"], "private": ["list_changed"]}
            for state in ("shared", "private", "shared", "private"):
                changed = await owner.call("memory_update", {"id": mine, "visibility": state})
                assert not changed["isError"], changed
                assert (await own.next())["params"]["uri"] == uri
                for kind in told[state]:
                    assert (await others.next())["method"] == f"notifications/resources/{kind}"
            await owner.call("memory_forget", {"ids": [mine], "purge": True, "confirmed": True})
            assert (await own.next())["params"]["uri"] == uri
            assert (await others.next())["method"] == "notifications/resources/list_changed"
            site.state["drain"]()
            assert (await others.next())["id"] == 7


async def test_the_end_of_a_shared_memory_is_told_to_all_who_listen(site):
    async with raw(site, "owner") as owner, raw(site, "second") as second:
        mine = (await owner.call("remember", {"content": "a bittern"}))["structuredContent"]["id"]
        async with listen(second, resourceSubscriptions=[f"memory://{mine}"]) as heard:
            await heard.next()
            await owner.call("memory_forget", {"ids": [mine], "purge": True, "confirmed": True})
            assert (await heard.next())["params"]["uri"] == f"memory://{mine}"


async def test_a_write_stands_when_listeners_cannot_be_told(site, monkeypatch):
    async def unavailable(vault, ids):
        raise VaultUnavailable("the vault's files cannot be read or written", reason="io")

    async with raw(site, "owner") as owner:
        mine = (await owner.call("remember", {"content": "a bittern"}))["structuredContent"]["id"]
        wanted = [f"memory://{mine}"]
        async with listen(owner, resourceSubscriptions=wanted, resourcesListChanged=True) as heard:
            await heard.next()
            monkeypatch.setattr(subscriptions.visibility, "find_sole_viewers", unavailable)
            assert not (await owner.call("memory_update", {"id": mine, "title": "x"}))["isError"]
            assert (await heard.next())["method"] == "notifications/resources/list_changed"


async def test_nobody_listens_to_what_it_may_not_read(site):
    async with raw(site, "owner") as owner, raw(site, "stranger", "other") as stranger:
        mine = (await owner.call("remember", {"content": "a bittern"}))["structuredContent"]["id"]
        answers = []
        for uri in (f"memory://{mine}", "memory://01a20077-23f5-7243-a698-443efdcfd95e", "note://x"):
            async with listen(stranger, resourceSubscriptions=["vault://status", uri]) as refused:
                body = json.loads(await refused.answer.aread())
                answers.append((refused.answer.status_code, body["error"]["code"], body["error"]["message"]))
        assert set(answers) == {(400, -32602, "Resource not found")}


async def test_a_stream_ends_when_its_grant_does(site):
    async with raw(site, "stranger", "other") as stranger:
        async with listen(stranger, resourcesListChanged=True) as heard:
            await heard.next()
            await site.ground.control.write(lambda tx: tx.run("DELETE FROM grants WHERE subject = 'stranger'"))
            end = await heard.next()
            assert (end["id"], end["error"]["message"]) == (7, "the grant for this stream has ended")


async def test_a_stream_ends_in_order_when_another_server_has_its_vault(site, monkeypatch):
    async with raw(site, "owner") as owner:
        async with listen(owner, resourcesListChanged=True) as heard:
            await heard.next()
            monkeypatch.setattr(Services, "holds", lambda services, vault_id: False)
            end = await heard.next()
            assert end["id"] == 7
            assert "error" not in end
            assert await heard.next() is None


async def test_a_changed_role_is_told_as_a_changed_tool_list(site):
    async with raw(site, "stranger", "other") as stranger:
        async with listen(stranger, toolsListChanged=True) as heard:
            await heard.next()
            await site.ground.control.write(
                lambda tx: tx.run("UPDATE grants SET role = 'reader' WHERE subject = 'stranger'")
            )
            assert (await heard.next())["method"] == "notifications/tools/list_changed"


async def test_draining_ends_streams_and_admits_no_more(site):
    async with raw(site, "owner") as owner:
        async with listen(owner, resourcesListChanged=True) as heard:
            await heard.next()
            site.state["drain"]()
            assert (await heard.next())["id"] == 7
            assert await heard.next() is None
        async with listen(owner, resourcesListChanged=True) as late:
            assert json.loads(await late.answer.aread())["error"]["data"]["code"] == "overloaded"
        ready = await owner.http.get("/health/ready")
        assert (ready.status_code, ready.json()["status"]) == (503, "draining")
