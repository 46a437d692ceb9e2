"""The protocol as clients meet it: real HTTP, both eras, one server for the whole module.

Covers server.protocol, server.resources.
"""

from __future__ import annotations

import asyncio
import json

import jsonschema
import pytest
import pytest_asyncio
from mcp.shared.exceptions import MCPError

from server import resources
from server.tools import discover
from tests.server.http import odd_tools
from tests.server.http.broken_site import ODD, VAULTS, break_handlers, completion, names, prepare
from tests.server.http.examples import EXAMPLES
from tests.server.http.serving import ERAS, LATEST_HANDSHAKE, MODERN, browser, enveloped, raw, served
from tests.work import PATIENCE_S

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def site(tmp_path_factory):
    application = {"extra_tools": (ODD,), "extend": break_handlers}
    data = tmp_path_factory.mktemp("site")
    async with served(data, vaults=VAULTS, prepare=prepare, application=application) as running:
        yield running


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_stores_finds_and_reads(site, era):
    async with site.client("writer", mode=era) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert {"remember", "recall"} <= set(names)
        stored = await client.call_tool("remember", {"content": f"Heron nests in the {era} reeds"})
        memory = stored.structured_content["id"]
        assert memory in stored.content[0].text
        found = await client.call_tool("recall", {"query": "heron reeds"})
        assert memory in [hit["id"] for hit in found.structured_content["hits"]]
        assert not found.is_error
        listed = await client.list_resources()
        assert {"vault://status", f"memory://{memory}"} <= {each.uri for each in listed.resources}
        read = (await client.read_resource(f"memory://{memory}")).contents[0]
        assert read.text.endswith(f"Heron nests in the {era} reeds")
        assert read.meta["strongroom/memory"]["author"] == "writer"
        status = json.loads((await client.read_resource("vault://status")).contents[0].text)
        assert status["vault"] == "main"
        templates = await client.list_resource_templates()
        assert [each.uri_template for each in templates.resource_templates] == [
            "memory://{id}",
            "note://{path}",
            "document://{id}",
            "note://{path}/graph",
        ]


@pytest.mark.parametrize("era", ERAS)
async def test_nothing_of_an_exception_reaches_the_caller(site, era):
    async with raw(site, "owner") as owner:
        failed = await owner.call("explode", era=era)
        assert failed["isError"]
        assert failed["structuredContent"]["error"]["code"] == "internal"
        texts = [json.dumps(failed)]
        for method in ("prompts/get", "prompts/list"):
            params = {"name": "x"} if method == "prompts/get" else {}
            answer = await owner.post(owner.message(method, params, era), era=era)
            assert answer.json()["error"]["code"] == -32603
            texts.append(answer.text)
        for text in texts:
            assert odd_tools.SECRET not in text
            assert "RuntimeError" not in text
    log = (site.ground.loaded.data / "log").read_text()
    assert failed["structuredContent"]["error"]["details"]["reference"] in log


@pytest.mark.parametrize("era", ERAS)
async def test_an_unknown_tool_is_a_protocol_error(site, era):
    async with raw(site, "owner") as owner:
        assert await owner.call("no_such", era=era) == {"code": -32602, "message": "Unknown tool: no_such"}


@pytest.mark.parametrize("era", ERAS)
async def test_a_tool_above_the_role_looks_as_if_it_did_not_exist(site, era):
    async with raw(site, "reader") as reader:
        refused = await reader.call("remember", {"content": "x"}, era)
        assert refused == {"code": -32602, "message": "Unknown tool: remember"}
        bad = await reader.call("remember", {"nonsense": 1}, era)
        assert bad == refused


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({}, "content"),
        ({"content": "x", "colour": "red"}, "colour"),
        ({"content": 5}, "content"),
        ({"content": "x", "tier": "boiling"}, "tier"),
        ({"content": "x", "\ud800": 1}, None),
        ({"content": "\ud800"}, "content"),
        ({"content": ["x"]}, "content"),
    ],
)
async def test_a_bad_argument_is_named_and_nothing_is_written(site, era, arguments, field):
    async with raw(site, "owner", "busy") as owner:
        failed = await owner.call("remember", arguments, era)
        if era == LATEST_HANDSHAKE and "\\ud800" in json.dumps(arguments):
            assert failed["code"] == -32700  # there the SDK takes no lone surrogates at all
            return
        error = failed["structuredContent"]["error"]
        assert (failed["isError"], error["code"]) == (True, "invalid_argument")
        if field:
            assert error["details"]["field"] == field
            assert f"Validation error: {field} " in error["message"]
        status = await owner.call("status", era=era)
        assert status["structuredContent"]["memories"]["living"] == 0


async def test_every_result_fits_its_schema(site):
    async with raw(site, "owner", "third") as owner:
        listed = (await owner.post(owner.message("tools/list"), query="?tools=full")).json()["result"]["tools"]
        schemas = {tool["name"]: tool["outputSchema"] for tool in listed}
        assert {name for name, _ in EXAMPLES} == {spec.name for spec in discover()}
        ids: list[str] = []
        for name, arguments in EXAMPLES:
            filled = json.loads(
                json.dumps(arguments).replace("{0}", [*ids, ""][0]).replace("{1}", ids[-1] if ids else "")
            )
            result = await owner.call(name, filled)
            assert not result.get("isError", True), (name, result)
            jsonschema.validate(result["structuredContent"], schemas[name], jsonschema.Draft202012Validator)
            assert result["content"][0]["text"]
            if name == "remember":
                ids.append(result["structuredContent"]["id"])


async def test_lists_follow_role_preset_and_write_mode(site):
    reader, writer = await names(site, "reader"), await names(site, "writer")
    assert "remember" not in reader
    assert "remember" in writer
    assert set(reader) < set(writer)
    assert all(tool["annotations"]["readOnlyHint"] for tool in reader.values())
    assert not writer["remember"]["annotations"]["readOnlyHint"]
    assert writer["memory_forget"]["annotations"]["destructiveHint"]
    off = await names(site, "owner", "strict", "?tools=full")
    assert all(tool["annotations"]["readOnlyHint"] for tool in off.values())
    assert off["vaults"]["inputSchema"]["properties"]["action"]["enum"] == ["list", "info"]
    full = await names(site, "reader", query="?tools=full")
    assert full["vaults"]["inputSchema"]["properties"]["action"]["enum"] == ["list", "info"]
    owners = await names(site, "owner", query="?tools=full")
    written = ["create", "archive", "unarchive", "rename", "copy", "delete"]
    assert owners["vaults"]["inputSchema"]["properties"]["action"]["enum"] == ["list", "info", *written]


async def test_the_query_beats_the_tokens_preset_which_beats_the_vaults(site):
    assert "memory_list" not in await names(site, "writer")
    assert "memory_list" in await names(site, "thirds", "third")
    assert "vaults" not in await names(site, "thirds", "third")
    assert "vaults" in await names(site, "fuller", "third")
    assert "memory_list" not in await names(site, "fuller", "third", "?tools=agent")
    async with raw(site, "writer") as writer:
        for query in ("?tools=everything", "?tools=", "?tools=full&tools=agent"):
            answer = await writer.post(writer.message("tools/list"), query=query)
            assert answer.status_code == 400
            assert "tools" in answer.json()["error"]["message"]


async def test_where_writing_is_off_a_write_is_refused(site):
    async with raw(site, "owner", "strict") as owner:
        refused = await owner.call("remember", {"content": "x"})
        assert refused["structuredContent"]["error"]["code"] == "read_only"


async def test_headers_say_who_works_where(site):
    async with raw(site, "writer") as writer:
        plain = await writer.call("status")
        placed = await writer.call("status", x_strongroom_workspace="/home/me/project")
        assert "workspace" not in plain["structuredContent"]["you"]
        assert len(placed["structuredContent"]["you"]["workspace"]) == 12
        for header in ("workspace", "session", "client"):
            for value in ("", "a" * 201, "a\u200bb".encode(), b"\xff"):
                sent = {f"x_strongroom_{header}": value}
                answer = await writer.post(enveloped("tools/call", {"name": "status", "arguments": {}}), **sent)
                assert answer.status_code == 400
                assert f"x-strongroom-{header}" in answer.json()["error"]["message"]


@pytest.mark.parametrize("era", ERAS)
async def test_progress_reaches_who_asked_for_it(site, era):
    seen = []

    async def note(progress, total, message):
        seen.append((progress, total, message))

    async with site.client("reader", mode=era) as client:
        result = await client.call_tool("long_work", {}, progress_callback=note)
        assert result.structured_content == {"text": "worked"}
    assert seen == [(0, 3, "step 0"), (1, 3, "step 1"), (2, 3, "step 2")]


@pytest.mark.parametrize("era", ERAS)
async def test_without_a_progress_token_answers_are_json(site, era):
    async with raw(site, "reader") as reader:
        params = {"name": "long_work", "arguments": {}}
        plain = await reader.post(reader.message("tools/call", params, era), era=era)
        assert plain.headers["content-type"] == "application/json"
        asked = reader.message("tools/call", params | {"_meta": {"progressToken": "t"}}, era)
        assert (await reader.post(asked, era=era)).headers["content-type"] == "text/event-stream"
        only_json = await reader.post(asked, era=era, accept="application/json")
        assert only_json.headers["content-type"] == "application/json"


@pytest.mark.parametrize("era", ERAS)
async def test_what_is_foreign_answers_like_what_does_not_exist(site, era):
    async with raw(site, "stranger", "other") as stranger, raw(site, "writer") as writer:
        stored = await writer.call("remember", {"content": f"only in main, {era}"}, era)
        foreign, unknown = stored["structuredContent"]["id"], "01a20077-23f5-7243-a698-443efdcfd95e"
        answers = []
        for uri in (f"memory://{foreign}", f"memory://{unknown}", "note://x", "memory://../../etc"):
            answer = (await stranger.post(stranger.message("resources/read", {"uri": uri}, era), era=era)).json()
            answers.append(json.dumps(answer["error"]).replace(uri, "URI"))
        assert set(answers) == {'{"code": -32602, "message": "Resource not found", "data": {"uri": "URI"}}'}
        async with raw(site, "stranger", "main") as intruder:
            refused = await intruder.post(intruder.message("tools/list", era=era), era=era)
            intruder.path = "/v/never-made/mcp"
            absent = await intruder.post(intruder.message("tools/list", era=era), era=era)
            assert (refused.status_code, refused.content) == (404, absent.content)


@pytest.mark.parametrize("era", ERAS)
async def test_ids_are_completed_from_ids_and_titles_one_may_see(site, era):
    async with raw(site, "stranger", "other") as stranger, raw(site, "owner", "other") as owner:

        async def completed(caller, value, **more):
            answer = await caller.post(caller.message("completion/complete", completion(value, **more), era), era=era)
            return answer.json()["result"]["completion"]["values"]

        shared = await owner.call("remember", {"content": f"Falcon shared {era}"}, era)
        private = await owner.call("remember", {"content": f"Falcon private {era}", "visibility": "private"}, era)
        seen, hidden = shared["structuredContent"]["id"], private["structuredContent"]["id"]
        assert seen in await completed(stranger, "falcon")
        assert seen in await completed(stranger, seen[:20])
        assert hidden not in await completed(stranger, "falcon")
        assert {seen, hidden} <= set(await completed(owner, ""))
        assert await completed(stranger, "falcon", name="other") == []
        assert await completed(stranger, "falcon", uri="note://{path}") == []


@pytest.mark.parametrize("method", ["tools/list", "resources/list", "resources/templates/list"])
@pytest.mark.parametrize("era", ERAS)
async def test_a_cursor_nobody_gave_is_refused(site, method, era):
    foreign = "WyJ0b29scyIsIDMsICJhZ2VudCIsICJhdXRvIiwgOTldCg"
    async with raw(site, "owner") as owner:
        for cursor in ("x", "", foreign, "\ud800", "=" * 100):
            answer = (await owner.post(owner.message(method, {"cursor": cursor}, era), era=era)).json()
            assert answer["error"]["code"] == (-32700 if cursor == "\ud800" and era == LATEST_HANDSHAKE else -32602)


async def test_resources_are_listed_in_pages(site):
    async with raw(site, "owner", "busy") as owner:
        stored = [
            (await owner.call("remember", {"content": f"page entry number {n} {n * n}", "on_duplicate": "store"}))[
                "structuredContent"
            ]["id"]
            for n in range(60)
        ]
        seen, cursor, pages = [], None, 0
        while pages < 10:
            params = {"cursor": cursor} if cursor else {}
            result = (await owner.post(owner.message("resources/list", params))).json()["result"]
            seen += [entry["uri"] for entry in result["resources"]]
            pages += 1
            cursor = result.get("nextCursor")
            if cursor is None:
                break
        assert pages == 2
        assert seen == [*resources.FIXED_RESOURCES, *(f"memory://{each}" for each in reversed(stored))]
        await owner.call("memory_forget", {"ids": stored[:50], "purge": True, "confirmed": True})
        await owner.call("memory_forget", {"ids": stored[50:], "purge": True, "confirmed": True})


async def test_only_post_is_served(site):
    async with raw(site, "reader") as reader:
        for method in ("GET", "DELETE", "PUT", "OPTIONS"):
            for era in ERAS:
                headers = {"accept": "text/event-stream", "mcp-protocol-version": era, "mcp-session-id": "x"}
                answer = await reader.http.request(method, reader.path, headers=headers)
                assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        assert (await reader.http.get("/x")).status_code == 404
        assert (await reader.http.get("/v")).json()["error"]["code"] == "not_found"


async def test_public_routes_answer_without_a_token(site):
    async with browser(base_url=site.url) as anyone:
        assert (await anyone.get("/health/live")).json() == {"status": "live"}
        ready = (await anyone.get("/health/ready")).json()
        assert ready == {
            "status": "ready",
            "parts": {"audit": "ok", "control": "ok", "embedding": "off", "vaults": "ok"},
        }
        assert len((await anyone.get("/.well-known/jwks.json")).json()["keys"]) == 1
        document = (await anyone.get("/.well-known/oauth-protected-resource/v/main/mcp")).json()
        assert document["resource"] == f"{site.url}/v/main/mcp"
        assert (await anyone.post("/v/main/mcp", json={})).status_code == 401
        assert (await anyone.post("/v/main/mcp", json={}, headers={"host": "evil.example"})).status_code == 421


async def test_a_body_that_announces_no_size_is_capped_too(site):
    async def endless():
        for _ in range(15):
            yield b" " * 1024 * 1024

    async with raw(site, "owner") as owner:
        headers = {"content-type": "application/json", "mcp-protocol-version": MODERN}
        answer = await owner.http.post(owner.path, content=endless(), headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


async def test_a_caller_that_hangs_up_leaves_a_write_whole_or_absent(site):
    message = enveloped(
        "tools/call",
        {"name": "write_slowly", "arguments": {"word": "hang"}, "_meta": {"progressToken": 1}},
    )
    async with raw(site, "owner", "busy") as owner:
        odd_tools.forget()
        async with owner.http.stream(
            "POST",
            owner.path,
            json=message,
            headers={
                "accept": "application/json, text/event-stream",
                "mcp-protocol-version": MODERN,
                "mcp-method": "tools/call",
                "mcp-name": "write_slowly",
            },
        ) as answer:
            await anext(answer.aiter_lines())
            await asyncio.wait_for(odd_tools.started.wait(), PATIENCE_S)
        await asyncio.wait_for(odd_tools.ended.wait(), PATIENCE_S)  # cancelled before it wrote
        again = {"word": "stay"}
        odd_tools.go_on.set()
        assert (await owner.call("write_slowly", again))["structuredContent"] == {"text": "written"}
        async with site.client("owner", "busy"):
            pass
    path = site.ground.loaded.data / "vaults" / "busy" / "vault.db"
    from vaults.db.connection import Database

    db = Database(path, site.ground.loaded.settings.storage)
    try:
        rows = await db.read(lambda tx: tx.all("SELECT key FROM vault_info WHERE key LIKE 'hang%' OR key LIKE 'stay%'"))
    finally:
        await db.close()
    assert sorted(row[0] for row in rows) == ["stay0", "stay1"]


async def test_calls_are_counted_by_tool_and_outcome(site):
    def counted():
        return site.metrics.get_sample_value("strongroom_calls_total", {"tool": "noop", "outcome": "ok"}) or 0

    before = counted()
    async with raw(site, "owner") as owner:
        await owner.call("noop")
        await owner.call("noop", era=LATEST_HANDSHAKE)
        await owner.call("never_heard_of")
    assert counted() == before + 2
    assert site.metrics.get_sample_value("strongroom_calls_total", {"tool": "unknown", "outcome": "not_found"}) >= 1


async def test_room_on_disks_and_the_end_of_the_certificate_are_told(site):
    async with asyncio.timeout(PATIENCE_S):
        while not site.metrics.get_sample_value("strongroom_disk_free_bytes", {"disk": "data"}):  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    assert site.metrics.get_sample_value("strongroom_disk_size_bytes", {"disk": "backups"}) is None
    assert site.metrics.get_sample_value("strongroom_certificate_end_timestamp_seconds") == 0
    site.state["certificate"](1_800_000_000)
    assert site.metrics.get_sample_value("strongroom_certificate_end_timestamp_seconds") == 1_800_000_000


async def test_a_path_without_a_vault_serves_who_has_one(site):
    async with raw(site, "writer") as writer, raw(site, "owner") as owner:
        writer.path = owner.path = "/mcp"
        assert (await writer.call("status"))["structuredContent"]["vault"] == "main"
        assert (await owner.post(owner.message("tools/list"))).status_code == 400


async def test_the_client_refuses_what_the_server_refuses(site):
    async with site.client("reader") as client:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("remember", {"content": "x"})
        assert refused.value.code == -32602
