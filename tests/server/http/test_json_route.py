"""Tools as plain JSON over real HTTP: the same rights, limits and answers as over MCP, and nothing else.

Covers server.http.app, server.http.vault_description.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import jsonschema
import pytest
import pytest_asyncio

from auth.roles import Role
from server.http.json_route import STATUS
from server.http.vault_description import OPENAPI
from server.toolsets.old_tool import NOT_VALID
from tests.server.http import odd_tools
from tests.server.http.broken_site import ODD
from tests.server.http.serving import Ground, Site, browser, raw, served
from tests.server.http.wired import Wire
from tests.work import PATIENCE_S
from vaults import errors

pytestmark = pytest.mark.asyncio(loop_scope="module")

FACT = "The heron nests in the reeds"


async def prepare(ground: Ground) -> dict[str, str]:
    await ground.control.write(lambda tx: tx.run("UPDATE vaults SET write_mode = 'off' WHERE name = 'strict'"))
    return {
        "reader": await ground.token("reader", Role.READER, "main"),
        "writer": await ground.token("writer", Role.WRITER, "main"),
        "stranger": await ground.token("stranger", Role.ADMIN, "other"),
    }


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("json")
    application = {"extra_tools": (ODD,)}
    vaults = ("main", "other", "strict")
    async with served(folder, vaults=vaults, prepare=prepare, application=application) as running:
        assert (await call(running, "writer", "remember", {"content": FACT, "type": "fact"})).status_code == 200
        yield running


async def call(
    site: Site, who: str | None, tool: str, arguments: Any = None, vault: str = "main", query: str = "", **headers: str
) -> httpx2.Response:
    given = site.headers(who) if who else {}
    sent = {} if arguments is None else {"json": arguments}
    async with browser() as http:
        return await http.post(f"{site.url}/v/{vault}/tools/{tool}{query}", headers=given | headers, **sent)


async def describe(site: Site, who: str, vault: str = "main", query: str = "") -> Any:
    async with browser() as http:
        answer = await http.get(f"{site.url}/v/{vault}/openapi.json{query}", headers=site.headers(who))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.headers["cache-control"] == "no-store"
    return answer.json()


async def ask(site: Site, who: str, method: str, path: str, length: int = 0) -> tuple[tuple[int, dict[str, str]], str]:
    """Status, headers and body of a request without a body, as it was written."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {site.tokens[who]}"]
    sent = "\r\n".join([*lines, f"Content-Length: {length}", "Connection: close", "", ""])
    answer = (await Wire(int(site.url.rpartition(":")[2])).ask(sent.encode())).decode()
    head, _, body = answer.partition("\r\n\r\n")
    first, *fields = head.split("\r\n")
    named = (field.partition(": ") for field in fields)
    return (int(first[9:12]), {name.lower(): value for name, _, value in named}), body


def error(answer: httpx2.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/json"
    found = answer.json()["error"]
    assert found["message"]
    return answer.status_code, found["code"]


async def test_a_call_answers_with_the_object_that_mcp_has_as_its_structured_content(site: Site) -> None:
    asked = {"query": "heron", "mode": "keyword"}
    answer = await call(site, "reader", "recall", asked)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json()["hits"][0]["content"] == FACT
    async with raw(site, "reader") as reader:
        assert answer.json() == (await reader.call("recall", asked))["structuredContent"]


async def test_a_call_without_a_body_has_no_arguments(site: Site) -> None:
    assert (await call(site, "reader", "noop")).json() == {"text": "nothing"}


@pytest.mark.parametrize(
    ("who", "vault", "tool", "arguments", "found"),
    [
        (None, "main", "recall", {"query": "x"}, (401, "unauthorized")),
        ("stranger", "main", "recall", {"query": "heron"}, (404, "not_found")),
        ("stranger", "nowhere", "recall", {"query": "heron"}, (404, "not_found")),
        ("writer", "main", "memory_forget", {"ids": ["x"], "reason": "old", "purge": True}, (403, "forbidden")),
        ("reader", "main", "remember", {"content": "x"}, (404, "not_found")),
        ("reader", "main", "unheard_of", {}, (404, "not_found")),
        ("reader", "main", "..", {}, (404, "not_found")),
        ("reader", "main", "", {}, (404, "not_found")),
        ("reader", "main", "recall", {}, (422, "invalid_argument")),
        ("reader", "main", "recall", {"query": "x", "limit": "ten"}, (422, "invalid_argument")),
        ("reader", "main", "recall", {"query": "x", "wrong": 1}, (422, "invalid_argument")),
        ("reader", "main", "recall", {"query": "x", "session": "none"}, (404, "not_found")),
        ("reader", "main", "recall", ["x"], (422, "invalid_argument")),
        ("writer", "main", "memory_update", {"id": "none", "title": "x"}, (404, "not_found")),
        ("owner", "strict", "remember", {"content": "x"}, (403, "read_only")),
        ("reader", "main", "explode", {}, (500, "internal")),
    ],
)
async def test_a_failure_is_a_status_with_the_code_that_mcp_gives(
    site: Site, who: str | None, vault: str, tool: str, arguments: Any, found: tuple[int, str]
) -> None:
    answer = await call(site, who, tool, arguments, vault)
    assert error(answer) == found
    assert odd_tools.SECRET not in answer.text
    if found[0] == 401:
        metadata = f"{site.url}/.well-known/oauth-protected-resource/v/main/mcp"
        assert f'resource_metadata="{metadata}"' in answer.headers["www-authenticate"]


async def test_foreign_and_missing_vaults_and_hidden_and_missing_tools_are_not_told_apart(site: Site) -> None:
    vaults = [await call(site, "stranger", "recall", {"query": "x"}, vault) for vault in ("main", "nowhere")]
    assert vaults[0].content == vaults[1].content
    hidden, missing = [await call(site, "reader", tool, {}) for tool in ("reindex", "reindeer")]
    assert (hidden.status_code, missing.status_code) == (404, 404)
    assert hidden.text.replace("reindex", "reindeer") == missing.text


async def test_every_code_has_a_status() -> None:
    kinds = [
        each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.StrongroomError)
    ]
    assert set(STATUS) == {kind.code for kind in kinds} | {NOT_VALID}
    assert all(400 <= status < 600 for status in STATUS.values())


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("GET", "/v/main/tools/recall", 405, "POST"),
        ("PUT", "/v/main/tools/recall", 405, "POST"),
        ("DELETE", "/v/main/tools/reindeer", 405, "POST"),
        ("OPTIONS", "/v/main/tools/recall", 405, "POST"),
        ("POST", "/v/main/openapi.json", 405, "GET, HEAD"),
        ("HEAD", "/v/main/openapi.json", 200, None),
        ("POST", "/v/main/tools%2frecall", 404, None),
        ("POST", "/v/main/tools/%72ecall", 404, None),
        ("POST", "/v/main/tools/recall/", 404, None),
        ("POST", "/v/main/tools/../tools/recall", 404, None),
        ("POST", "/v/main/tools", 404, None),
        ("POST", "/tools/recall", 404, None),
    ],
)
async def test_other_methods_and_other_spellings_lead_nowhere(
    site: Site, method: str, path: str, status: int, allow: str | None
) -> None:
    (found, head), body = await ask(site, "reader", method, path)
    assert (found, head.get("allow")) == (status, allow)
    if method == "HEAD":
        assert body == ""


async def test_the_checks_of_host_and_origin_are_those_of_mcp(site: Site) -> None:
    for tool in ("recall", "reindeer"):
        evil = await call(site, "reader", tool, {"query": "x"}, host="evil.example")
        page = await call(site, "reader", tool, {"query": "x"}, origin="https://evil.example")
        assert (error(evil), error(page)) == ((421, "invalid_argument"), (403, "forbidden"))
    ours = await call(site, "reader", "noop", {}, origin="http://localhost:3000")
    assert ours.headers["access-control-allow-origin"] == "http://localhost:3000"


async def test_a_page_asks_first_with_the_method_of_the_address(site: Site) -> None:
    asked = {"origin": "http://localhost:3000", "access-control-request-method": "POST"}
    async with browser(base_url=site.url, headers=asked) as page:
        for path, method in (("tools/recall", "POST"), ("tools/reindeer", "POST"), ("openapi.json", "GET")):
            for vault in ("main", "nowhere"):
                answer = await page.options(f"/v/{vault}/{path}")
                assert (answer.status_code, answer.headers["access-control-allow-methods"]) == (204, method)


async def test_a_large_body_is_refused_before_it_is_read(site: Site) -> None:
    status, body = await ask(site, "reader", "POST", "/v/main/tools/recall", length=999_999_999_999)
    assert (status[0], json.loads(body)["error"]["code"]) == (413, "too_large")


async def test_a_body_that_is_no_json_is_refused_and_logged(site: Site) -> None:
    headers = site.headers("reader") | {"content-type": "application/json"}
    async with browser() as http:
        answer = await http.post(f"{site.url}/v/main/tools/recall", content=b'{"query": NaN}', headers=headers)
    assert error(answer) == (400, "invalid_argument")
    lines = [json.loads(line) for line in (site.ground.loaded.data / "log").read_text().splitlines()]
    (line,) = [each for each in lines if each.get("reason") == "json" and each["status"] == 400]
    assert (line["vault"], bool(line["principal"])) == ("main", True)


async def test_where_a_person_must_agree_the_call_is_made_again_with_their_word(site: Site) -> None:
    first = await call(site, "writer", "remember", {"content": "The otter sleeps"}, query="?write_mode=ask")
    assert error(first) == (409, "confirmation_required")
    agreed = {"content": "The otter sleeps", "confirmed": True}
    assert (await call(site, "writer", "remember", agreed, query="?write_mode=ask")).status_code == 200


async def test_what_the_url_asks_for_is_checked(site: Site) -> None:
    for query, said in (
        ("?content=text", "answers in JSON"),
        ("?tools=all", "tools must"),
        ("?write_mode=on", "write_mode"),
    ):
        answer = await call(site, "reader", "noop", {}, query=query)
        assert error(answer) == (400, "invalid_argument")
        assert said in answer.json()["error"]["message"]
    assert (await call(site, "reader", "noop", {}, query="?content=structured")).status_code == 200


async def test_headers_name_session_client_and_workspace(site: Site) -> None:
    headers = {"x-strongroom-session": "nightly", "x-strongroom-client": "cron", "x-strongroom-workspace": "/srv/boat"}
    saved = await call(site, "writer", "session_save", {"summary": "Counted herons"}, **headers)
    assert saved.status_code == 200
    found = (await call(site, "writer", "session_history", {})).json()["sessions"]
    assert "cron" in {each.get("client") for each in found}


async def test_a_view_of_another_system_has_its_tools(site: Site) -> None:
    answer = await call(site, "writer", "memory_status", {}, query="?tools=nano-brain")
    assert (answer.status_code, list(answer.json())) == (200, ["text"])
    assert error(await call(site, "writer", "memory_status", {})) == (404, "not_found")
    wrong = await call(site, "writer", "memory_query", {}, query="?tools=nano-brain")
    assert wrong.status_code == 422


async def test_a_caller_who_hangs_up_during_the_request_leaves_nothing_behind(site: Site) -> None:
    odd_tools.forget()
    token = site.tokens["writer"]
    head = f"POST /v/main/tools/write_slowly HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    _, writer = await asyncio.open_connection("127.0.0.1", int(site.url.rpartition(":")[2]))
    writer.write(f'{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"word": '.encode())
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    assert (await call(site, "reader", "noop", {})).status_code == 200
    assert not odd_tools.started.is_set()


async def test_a_call_whose_caller_hangs_up_is_done_once_and_to_its_end(site: Site) -> None:
    odd_tools.forget()
    token, body = site.tokens["writer"], b'{"word": "gone"}'
    head = f"POST /v/main/tools/write_slowly HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    _, writer = await asyncio.open_connection("127.0.0.1", int(site.url.rpartition(":")[2]))
    writer.write(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    await asyncio.wait_for(odd_tools.started.wait(), PATIENCE_S)
    writer.close()
    await writer.wait_closed()
    odd_tools.go_on.set()
    await asyncio.wait_for(odd_tools.ended.wait(), PATIENCE_S)
    again = await call(site, "writer", "write_slowly", {"word": "gone"})
    assert error(again) == (500, "internal"), "its rows are there already"


async def test_calls_and_descriptions_count_against_the_same_rate(tmp_path: Any) -> None:
    async with served(tmp_path / "data", **{"limits.calls_per_minute": 3}) as busy:
        assert (await call(busy, "owner", "status", {})).status_code == 200
        await describe(busy, "owner")
        async with raw(busy, "owner") as owner:
            assert not (await owner.call("status"))["isError"]
        async with browser(headers=busy.headers("owner")) as http:
            answers = [
                await http.post(f"{busy.url}/v/main/tools/status", json={}),
                await http.get(f"{busy.url}/v/main/openapi.json"),
            ]
        for answer in answers:
            assert error(answer) == (429, "rate_limited")
            assert int(answer.headers["retry-after"]) >= 1
            assert answer.json()["error"]["retryable"]


# openapi.json


def operations(document: Any) -> dict[str, Any]:
    return {path.removeprefix("/tools/"): each["post"] for path, each in document["paths"].items()}


async def listed(site: Site, who: str, vault: str, query: str) -> dict[str, Any]:
    async with raw(site, who, vault) as caller:
        answer = await caller.post(caller.message("tools/list"), query=query)
    return {tool["name"]: tool for tool in answer.json()["result"]["tools"]}


@pytest.mark.parametrize(
    ("who", "vault", "query"),
    [
        ("reader", "main", ""),
        ("reader", "main", "?tools=full"),
        ("writer", "main", "?tools=notes"),
        ("owner", "main", "?tools=full"),
        ("owner", "main", "?tools=full&write_mode=ask"),
        ("owner", "strict", "?tools=full"),
        ("writer", "main", "?tools=moltmind"),
    ],
)
async def test_openapi_has_the_tools_and_arguments_that_mcp_lists_for_this_caller(
    site: Site, who: str, vault: str, query: str
) -> None:
    document, tools = await describe(site, who, vault, query), await listed(site, who, vault, query)
    found = operations(document)
    assert list(found) == list(tools)
    for name, operation in found.items():
        arguments = operation["requestBody"]["content"]["application/json"]["schema"]
        shown = tools[name]["inputSchema"]["properties"]
        assert set(shown) <= set(arguments["properties"])
        assert set(arguments["properties"]) <= {*shown, "session", "max_tokens"}
        assert arguments["properties"].get("action", {}).get("enum") == shown.get("action", {}).get("enum")


async def test_openapi_is_a_document_that_programs_can_read(site: Site) -> None:
    document = await describe(site, "writer")
    assert document["openapi"] == OPENAPI
    assert document["servers"] == [{"url": f"{site.url}/v/main"}]
    assert document["security"] == [{"token": []}]
    text = json.dumps(document)
    for reference in {part.split('"')[0] for part in text.split('"$ref": "')[1:]}:
        place = document
        for step in reference.removeprefix("#/").split("/"):
            place = place[step]
    names = [operation["operationId"] for operation in operations(document).values()]
    assert len(names) == len(set(names))
    for operation in operations(document).values():
        assert operation["description"]
        jsonschema.Draft202012Validator.check_schema(operation["requestBody"]["content"]["application/json"]["schema"])
        jsonschema.Draft202012Validator.check_schema(
            operation["responses"]["200"]["content"]["application/json"]["schema"]
        )


async def test_what_is_answered_fits_what_openapi_says(site: Site) -> None:
    described = operations(await describe(site, "owner", query="?tools=full"))
    for tool, given in (("recall", {"query": "heron"}), ("search", {"query": "heron"}), ("status", {}), ("usage", {})):
        arguments = described[tool]["requestBody"]["content"]["application/json"]["schema"]
        result = described[tool]["responses"]["200"]["content"]["application/json"]["schema"]
        jsonschema.validate(given, arguments)
        answer = await call(site, "owner", tool, given)
        jsonschema.validate(answer.json(), result)


async def test_an_error_fits_what_openapi_says(site: Site) -> None:
    schema = (await describe(site, "reader"))["components"]["schemas"]["Error"]
    for tool, given in (("recall", {}), ("reindeer", {}), ("explode", {}), ("recall", ["x"])):
        jsonschema.validate((await call(site, "reader", tool, given)).json(), schema)


async def test_openapi_of_a_foreign_vault_is_not_found_and_asks_for_a_token_first(site: Site) -> None:
    async with browser() as http:
        for vault in ("main", "nowhere"):
            path = f"{site.url}/v/{vault}/openapi.json"
            assert (await http.get(path)).status_code == 401
            assert error(await http.get(path, headers=site.headers("stranger"))) == (404, "not_found")
