"""Pages of allowed origins: what a browser asks first, and what it may read."""

from __future__ import annotations

import pytest

from tests.server.http.house import open_house
from tests.server.http.serving import BOTH, MODERN, browser, enveloped, served

PAGE = "https://app.example"
ASKED = {
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,content-type,mcp-method,mcp-param-repo,x-evil,mcp-param-a b",
}


@pytest.fixture
async def house(tmp_path):
    async with open_house(tmp_path) as made:
        yield made


async def preflight(house, path="/v/v1/mcp", origin=PAGE, **change):
    asked = [("origin", origin), *(ASKED | change).items()]
    return await house.call(path, method="OPTIONS", body=b"", headers=asked)


async def test_a_preflight_of_an_allowed_page_is_answered_without_a_token(house):
    answer = await preflight(house)
    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["access-control-allow-origin"] == PAGE
    assert answer.headers["access-control-allow-methods"] == "POST"
    assert answer.headers["vary"] == "Origin"
    assert int(answer.headers["access-control-max-age"]) > 0
    assert "access-control-allow-credentials" not in answer.headers
    named = answer.headers["access-control-allow-headers"].split(", ")
    assert {"authorization", "content-type", "accept", "mcp-protocol-version", "mcp-method", "mcp-name"} <= set(named)
    assert {"mcp-session-id", "last-event-id", "x-strongroom-workspace", "mcp-param-repo"} <= set(named)
    assert not {"x-evil", "mcp-param-a b", "*"} & set(named)
    assert house.reached == []
    assert house.denied == []


async def test_a_preflight_says_nothing_about_vaults(house):
    answers = [await preflight(house, path) for path in ("/v/v1/mcp", "/v/v9/mcp", "/v/../mcp", "/mcp")]
    assert {(answer.status, str(answer.headers)) for answer in answers} == {(204, str(answers[0].headers))}


async def test_a_preflight_for_anything_but_mcp_is_not_found(house):
    answer = await preflight(house, "/v/v1")
    assert answer.status == 404
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("origin", ["https://evil.example", "null", f"{PAGE}.evil", "*"])
async def test_another_page_gets_nothing_it_could_use(house, origin):
    answer = await preflight(house, origin=origin)
    assert answer.status == 403
    assert not any(name.startswith("access-control") for name in answer.headers)


async def test_a_preflight_under_another_host_is_refused(house):
    asked = [("host", "evil.example"), ("origin", PAGE), *ASKED.items()]
    answer = await house.send("/v/v1/mcp", asked, b"", method="OPTIONS")
    assert answer.status == 421
    assert not any(name.startswith("access-control") for name in answer.headers)


async def test_a_page_may_read_answers_and_refusals_alike(house):
    issued = await house.token()
    for path, token, status in (("/v/v1/mcp", issued.token, 200), ("/v/v1/mcp", None, 401), ("/v/v9/mcp", "x", 401)):
        answer = await house.call(path, token=token, headers=[("origin", PAGE)])
        assert (answer.status, answer.headers["access-control-allow-origin"]) == (status, PAGE)
        assert answer.headers["vary"] == "Origin"
        assert answer.headers["access-control-expose-headers"] == "www-authenticate, mcp-session-id, retry-after"
    missing = await house.call("/v/v9/mcp", token=issued.token, headers=[("origin", PAGE)])
    assert (missing.status, missing.headers["access-control-allow-origin"]) == (404, PAGE)
    large = await house.call(token=issued.token, headers=[("origin", PAGE), ("content-length", "9" * 9)])
    assert (large.status, large.headers["access-control-allow-origin"]) == (413, PAGE)


async def test_without_an_origin_nothing_is_added(house):
    issued = await house.token()
    for token in (issued.token, None):
        answer = await house.call(token=token)
        assert not any(name.startswith("access-control") or name == "vary" for name in answer.headers)
    options = await house.call(method="OPTIONS", body=b"", headers=list(ASKED.items()))
    assert options.status == 401


async def test_a_page_named_in_the_settings_calls_a_tool(tmp_path):
    async with served(tmp_path / "data", **{"server.allowed_origins": ["https://App.example"]}) as site:
        async with browser(base_url=site.url, headers={"origin": PAGE}) as page:
            first = await page.options("/v/main/mcp", headers=ASKED)
            assert (first.status_code, first.headers["access-control-allow-origin"]) == (204, PAGE)
            for _ in range(3):  # by way of the SDK, and round it
                headers = {
                    **site.headers("owner"),
                    "accept": BOTH,
                    "mcp-protocol-version": MODERN,
                    "mcp-method": "tools/call",
                    "mcp-name": "status",
                }
                message = enveloped("tools/call", {"name": "status", "arguments": {}})
                answer = await page.post("/v/main/mcp", json=message, headers=headers)
                assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, PAGE)
