"""A request for a vault that another server has: whoever takes it, it is answered as the other would.

Covers server.http.peers.vault_forwarding, server.http.peers.peering, server.local_attempt, server.cluster.parts.
"""

from __future__ import annotations

import asyncio

import httpx2
import pytest

from server.http.peers.peer_connection import HIGH_WATER
from tests.server.http import odd_tools
from tests.server.http.serving import BOTH, ERAS, LATEST_HANDSHAKE, MODERN, browser, enveloped, raw
from tests.server.http.test_mcp_streams import listen
from tests.server.http.two_servers import two_servers
from tests.work import PATIENCE_S
from vaults.errors import VaultUnavailable


@pytest.fixture
async def pair(tmp_path, monkeypatch):
    odd_tools.forget()
    async with two_servers(tmp_path, monkeypatch) as running:
        yield running


async def test_calls_of_both_eras_are_answered_as_the_holder_answers(pair):
    async with raw(pair.front, "both") as asked, raw(pair.back, "both") as there:
        for era in ERAS:
            for method, params in (
                ("tools/call", {"name": "noop", "arguments": {}}),
                ("tools/call", {"name": "memory_get", "arguments": {"nonsense": 1}}),
                ("tools/list", {}),
                ("resources/templates/list", {}),
                ("nonsense", {}),
            ):
                message = asked.message(method, params, era)
                await there.post(message, era=era)  # from the second on it may go round the SDK
                ours, theirs = await asked.post(message, era=era), await there.post(message, era=era)
                assert (ours.status_code, ours.content) == (theirs.status_code, theirs.content)
                assert [n for n in ours.headers.items() if n[0] != "date"] == [
                    n for n in theirs.headers.items() if n[0] != "date"
                ]
    assert ("main" in pair.open_at("front"), "main" in pair.open_at("back")) == (False, True)


async def test_what_is_stored_through_one_server_is_read_through_another(pair):
    async with raw(pair.front, "both") as asked, raw(pair.back, "both") as there:
        mine = (await asked.call("remember", {"content": "a bittern"}))["structuredContent"]["id"]
        for one in (asked, there):
            found = await one.call("memory_get", {"ids": [mine]})
            assert found["structuredContent"]["memories"][0]["content"] == "a bittern"
        await there.call("remember", {"content": "a heron"})
        hits = (await asked.call("recall", {"query": "heron"}))["structuredContent"]["hits"]
        assert [hit["content"] for hit in hits] == ["a heron"]
    async with raw(pair.front, "both", "near") as near:
        assert not (await near.call("status"))["isError"]
    assert (pair.open_at("front"), pair.open_at("back")) == ({"near"}, {"main"})


async def test_the_sdks_client_works_with_a_vault_that_is_elsewhere(pair):
    for mode in (MODERN, LATEST_HANDSHAKE):
        async with pair.front.client("both", mode=mode) as client:
            assert len((await client.list_tools()).tools) > 10
            steps = []

            async def note(done, total, message, steps=steps):
                steps.append(message)

            answer = await client.call_tool("long_work", {}, progress_callback=note)
            assert (answer.structured_content, steps) == ({"text": "worked"}, ["step 0", "step 1", "step 2"])


async def test_plain_json_and_the_description_of_tools_are_passed_on(pair):
    async with browser(base_url=pair.front.url, headers=pair.front.headers("both")) as http:
        assert (await http.post("/v/main/tools/noop", json={})).json() == {"text": "nothing"}
        assert (await http.post("/v/main/tools/gone", json={})).status_code == 404
        assert (await http.get("/v/main/tools/noop")).status_code == 405
        assert "/tools/noop" in (await http.get("/v/main/openapi.json")).json()["paths"]
        head = await http.head("/v/main/openapi.json")
        assert (head.status_code, head.content) == (200, b"")
    async with raw(pair.front, "reader") as found_by_token:
        found_by_token.path = "/mcp"
        assert (await found_by_token.call("noop"))["structuredContent"] == {"text": "nothing"}
    assert "main" not in pair.open_at("front")


async def test_a_listener_hears_what_is_written_through_either_server(pair):
    async with raw(pair.front, "both") as asked, raw(pair.back, "both") as there:
        async with listen(asked, resourcesListChanged=True) as heard:
            assert (await heard.next())["method"] == "notifications/subscriptions/acknowledged"
            for one in (asked, there):
                await one.call("remember", {"content": "a bittern"})
                assert (await heard.next())["method"] == "notifications/resources/list_changed"
            pair.back.state["drain"]()
            assert (await heard.next())["id"] == 7


async def test_a_server_that_ends_keeps_no_listener_waiting(pair):
    async with raw(pair.front, "both") as asked, listen(asked, resourcesListChanged=True) as heard:
        await heard.next()
        pair.front.state["drain"]()
        assert await heard.next() is None, "the end, and no failure"


async def test_a_caller_who_hangs_up_ends_the_call_on_the_other_server(tmp_path, monkeypatch):
    odd_tools.forget()
    message = enveloped(
        "tools/call", {"name": "write_slowly", "arguments": {"word": "x"}, "_meta": {"progressToken": 1}}
    )
    headers = {"accept": BOTH, "mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "write_slowly"}
    async with two_servers(tmp_path, monkeypatch, **{"server.call_timeout_s": 10 * PATIENCE_S}) as pair:
        async with raw(pair.front, "both") as asked:
            async with asked.http.stream("POST", asked.path, json=message, headers=headers) as answer:
                await anext(answer.aiter_lines())
                await asyncio.wait_for(odd_tools.started.wait(), PATIENCE_S)
            await asyncio.wait_for(odd_tools.ended.wait(), PATIENCE_S)  # cancelled before it wrote
            odd_tools.go_on.set()
            assert (await asked.call("write_slowly", {"word": "x"}))["structuredContent"] == {"text": "written"}


async def test_a_vault_that_was_handed_over_meanwhile_is_found_where_it_is(pair):
    async with raw(pair.front, "both") as asked, raw(pair.back, "both", "near") as there:
        await asked.call("noop")  # both know the vault by now
        await there.call("noop")
        pair.standing["front"].believes.add("main")
        assert (await asked.call("noop"))["structuredContent"] == {"text": "nothing"}
        pair.standing["back"].believes.add("near")
        assert (await there.call("noop"))["structuredContent"] == {"text": "nothing"}
        message = asked.message("tools/call", {"name": "long_work", "arguments": {}, "_meta": {"progressToken": 1}})
        assert b"step 2" in (await asked.post(message)).content


async def test_two_servers_that_send_to_each_other_end_with_a_retryable_error(tmp_path, monkeypatch):
    async with two_servers(tmp_path, monkeypatch, **{"server.call_timeout_s": 0.3}) as pair:
        at_front, at_back = pair.standing["front"], pair.standing["back"]

        async def to_the_other(entry, *, forwarded):
            pair.table.looks.append(("both", entry.name, forwarded))
            return pair.table.rows[1] if not forwarded else pair.table.rows[0]

        pair.table.holder["main"] = "nobody"
        for each in (at_front, at_back):
            monkeypatch.setattr(each, "locate", to_the_other)
        async with raw(pair.front, "both") as asked:
            for era in ERAS:
                answer = await asked.call("noop", era=era)
                assert answer["isError"]
                assert answer["structuredContent"]["error"]["code"] == "vault_unavailable"
                assert answer["structuredContent"]["error"]["retryable"]
            listing = (await asked.post(asked.message("tools/list"))).json()
            assert listing["error"]["data"]["code"] == "vault_unavailable"
            plain = await asked.http.post("/v/main/tools/noop", json={})
            assert (plain.status_code, plain.headers["retry-after"]) == (503, "1")
        seen = [forwarded for _, _, forwarded in pair.table.looks]
        assert abs(seen.count(True) - seen.count(False)) <= 1, "one hop for each look"


async def test_a_database_that_cannot_tell_is_told_and_not_waited_for(pair):
    pair.table.failure = VaultUnavailable("the cluster's database does not answer", hint="call again")
    async with raw(pair.front, "both") as asked:
        answer = await asked.call("noop")
        assert answer["structuredContent"]["error"]["message"] == "the cluster's database does not answer"


async def test_marks_of_servers_mean_nothing_from_outside(pair):
    forged = {"x-strongroom-forwarded": "https;203.0.113.9", "x-strongroom-not-served": "1"}
    async with browser(base_url=pair.front.url, headers=pair.front.headers("both")) as http:
        for vault in ("main", "near"):
            wrong = await http.post(f"/v/{vault}/tools/noop", json={}, headers={**forged, "host": "evil.example"})
            assert wrong.status_code == 421, "whoever forwards has looked at the host, and nobody forwarded this"
            good = await http.post(f"/v/{vault}/tools/noop", json={}, headers=forged)
            assert good.json() == {"text": "nothing"}
            assert not any(name.startswith("x-strongroom") for name in good.headers)


async def test_the_address_of_the_client_comes_along(pair, monkeypatch):
    callers = []
    monkeypatch.setattr(odd_tools, "seen", callers.append)
    transport = httpx2.AsyncHTTPTransport(local_address="127.0.0.9")
    headers = {**pair.front.headers("both"), "x-strongroom-client": "a client", "x-strongroom-workspace": "/src/x"}
    async with httpx2.AsyncClient(transport=transport, base_url=pair.front.url, headers=headers) as http:
        assert (await http.post("/v/main/tools/noop", json={})).status_code == 200
    assert [(each.address, each.client, each.workspace) for each in callers] == [("127.0.0.9", "a client", "/src/x")]


async def test_host_and_origin_are_those_of_the_server_that_was_asked(tmp_path, monkeypatch):
    front_only = {"server.allowed_hosts": ["front.example"], "server.allowed_origins": ["https://page.example"]}
    async with two_servers(tmp_path, monkeypatch, front_only) as pair:
        sent = {**pair.front.headers("both"), "host": "front.example", "origin": "https://page.example"}
        async with browser(headers=sent) as http:
            answer = await http.post(f"{pair.front.url}/v/main/tools/noop", json={})
            assert answer.json() == {"text": "nothing"}
            assert answer.headers.get_list("access-control-allow-origin") == ["https://page.example"]
            assert (await http.post(f"{pair.back.url}/v/main/tools/noop", json={})).status_code == 421


async def test_hundreds_of_calls_at_once_are_all_answered(pair):
    async with browser(base_url=pair.front.url, headers=pair.front.headers("both")) as http:
        limit = asyncio.Semaphore(400)  # connections of one address

        async def ask(number):
            async with limit:
                return (await http.post("/v/main/tools/noop", json={})).status_code

        assert set(await asyncio.gather(*(ask(number) for number in range(500)))) == {200}


async def test_a_large_answer_and_a_large_question_come_through_whole(pair):
    text = "".join(chr(0x4E00 + (i * 7919) % 9000) for i in range(50_000))
    assert len(text.encode()) > 2 * HIGH_WATER
    async with raw(pair.front, "both") as asked, raw(pair.back, "both") as there:
        stored = await asked.call("remember", {"content": text})
        assert not stored["isError"], stored
        found = await there.call("memory_get", {"ids": [stored["structuredContent"]["id"]], "max_tokens": 100_000})
        assert found["structuredContent"]["memories"][0]["content"][:20_000] == text[:20_000]
        ours, theirs = [await each.http.get("/v/main/openapi.json") for each in (asked, there)]
        assert ours.content == theirs.content
        assert len(ours.content) > HIGH_WATER
