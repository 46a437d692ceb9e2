"""Every request turned away is one line that says why, by whom and where to look, and never holds a token."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from auth import access_cache
from auth.access_cache import AccessCache
from auth.roles import Role
from tests.server.http.serving import Ground, Site, served
from tests.server.http.wired import Wire
from tests.work import PATIENCE_S

Lines = Callable[[], list[dict[str, Any]]]


async def prepare(ground: Ground) -> dict[str, str]:
    return {"alice": await ground.token("alice", Role.READER, "red")}


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> list[AccessCache]:
    """The caches of servers that are started from here on, whose clocks can be set."""
    found: list[AccessCache] = []
    start = AccessCache.start

    async def started(cache: AccessCache) -> None:
        found.append(cache)
        await start(cache)

    monkeypatch.setattr(AccessCache, "start", started)
    return found


@pytest.fixture
async def site(clocks: list[AccessCache], tmp_path: Path) -> AsyncIterator[Site]:
    async with served(tmp_path / "data", vaults=("red", "blue"), prepare=prepare) as made:
        yield made


@pytest.fixture
def lines(site: Site, tmp_path: Path) -> Lines:
    def read() -> list[dict[str, Any]]:
        text = (tmp_path / "data" / "log").read_text()
        assert not any(token.split(".")[2] in text for token in site.tokens.values())
        return [line for line in map(json.loads, text.splitlines()) if line["event"] == "refused"]

    return read


def request(path: str, token: str | None = None, host: str = "localhost", method: str = "POST", **more: str) -> bytes:
    fields = {"Host": host, "Connection": "close", "Content_Length": "0", **more}
    if token is not None:
        fields["Authorization"] = f"Bearer {token}"
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode()


async def ask(site: Site, sent: bytes) -> tuple[int, bytes]:
    answer = await Wire(int(site.url.rpartition(":")[2])).ask(sent)
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head[9:12]), body


@pytest.mark.parametrize(
    ("path", "how", "status", "reason", "known"),
    [
        ("/v/red/mcp", {"token": None}, 401, "missing", False),
        ("/v/red/mcp", {"token": "nonsense"}, 401, "malformed", False),
        ("/v/blue/mcp", {}, 404, "grant", True),
        ("/v/green/mcp", {}, 404, "grant", True),
        ("/v/red/mcp", {"host": "mem.example"}, 421, "host", False),
        ("/v/red/mcp", {"Origin": "https://evil.example"}, 403, "origin", False),
        ("/v/red/mcp", {"method": "GET"}, 405, "method", True),
        ("/v/red/mcp", {"X_Strongroom_Workspace": "a" * 300}, 400, "header", True),
        ("/v/red/mcp?tools=nosuch", {}, 400, "header", True),
        ("/v/red/mcp", {"Content_Length": "999999999"}, 413, "body", False),
        ("/v/red%2fmcp", {}, 404, "path", False),
        ("/admin.php", {}, 404, "path", False),
        ("/v/red/mcp", {"X": "a" * 70_000}, 431, "head", False),
    ],
)
async def test_a_refusal_is_one_line(
    site: Site, lines: Lines, path: str, how: dict[str, Any], status: int, reason: str, known: bool
) -> None:
    answered, _ = await ask(site, request(path, **{"token": site.tokens["alice"], **how}))
    assert answered == status
    (line,) = lines()
    assert (line["status"], line["reason"], line["address"]) == (status, reason, "127.0.0.1")
    assert ("principal" in line) is known
    counted = site.metrics.get_sample_value("strongroom_auth_failures_total", {"reason": reason})
    assert counted == 1


async def test_a_line_names_vaults_that_exist_and_no_others(site: Site, lines: Lines) -> None:
    for vault in ("blue", "green", site.tokens["owner"]):
        await ask(site, request(f"/v/{vault}/mcp", site.tokens["alice"]))
    assert [line.get("vault") for line in lines()] == ["blue", None, None]


async def test_a_host_that_is_not_ours_is_told_which_setting_names_it(site: Site, lines: Lines) -> None:
    _, body = await ask(site, request("/v/red/mcp", site.tokens["alice"], host="mem.example:8700"))
    assert b"server.allowed_hosts" in body
    (line,) = lines()
    assert line["host"] == "mem.example:8700"
    assert "server.allowed_hosts" in line["hint"]
    await ask(site, request("/v/red/mcp", host="<script>"))
    assert "host" not in lines()[-1]


async def test_a_flood_without_a_token_leaves_a_handful_of_lines_and_a_full_count(site: Site, lines: Lines) -> None:
    await asyncio.gather(*(ask(site, request("/v/red/mcp")) for _ in range(40)))
    assert len(lines()) < 40
    assert site.metrics.get_sample_value("strongroom_auth_failures_total", {"reason": "missing"}) == 40


@pytest.mark.parametrize(
    "path",
    [
        "/v/red%2fmcp",
        "/v/red%2Fmcp",
        "/v%2fred/mcp",
        "/v/red%5cmcp",
        "/v/red%5Cmcp",
        "/v/red%252fmcp",
        "/v/blue/%2e%2e/red/mcp",
        "/v/%2e%2e/v/red/mcp",
        "/v/red/mcp%00",
        "/v/red%0a/mcp",
        "/%6dcp",
        "/health%2flive",
        "/health/%2e%2e/v/red/mcp",
        "/.well-known/oauth-protected-resource/v%2fred%2fmcp",
    ],
)
async def test_an_address_written_with_percent_signs_is_nowhere(site: Site, path: str) -> None:
    nowhere = await ask(site, request("/nowhere", site.tokens["alice"]))
    assert await ask(site, request(path, site.tokens["alice"])) == nowhere
    assert nowhere[0] == 404
    assert await ask(site, request(path)) == nowhere


async def test_a_loop_that_stood_still_refuses_nobody(
    site: Site, lines: Lines, clocks: list[AccessCache], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_cache, "STALE_S", PATIENCE_S)
    for cache in clocks:  # an hour in which nothing ran, and no poll could look at the grants
        cache._clock = cache._awake._clock = lambda: time.monotonic() + 3600
    asked = await ask(site, request("/v/red/mcp", site.tokens["alice"], method="GET"))
    assert asked[0] == 405, "let in, and told that it should POST"
