"""A client of the protocol logs in to a server that has nothing but built-in login; the browser goes through forms.

Covers server.http.sign_in_door, server.http.late_application and server.http.metadata.
"""

from __future__ import annotations

import ast
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from auth.grants import set_grant
from auth.people import people
from auth.principal import LOCAL
from auth.roles import Role
from tests.server.http.serving import Ground, Site, browser, served
from tests.server.oauth.desk import KEPT, Browser, query_of
from tests.server.oauth.outside_issuer import OutsideIssuer

ROOT = Path(__file__).resolve().parents[3]
CALLBACK = "http://localhost:3030/callback"


class Kept:
    """What the client keeps."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


async def prepare(ground: Ground) -> dict[str, str]:
    def write(tx: people.Writer) -> None:
        people.add(tx, "ann", 0)
        people.set_password(tx, "ann", KEPT)
        set_grant(tx, "ann", LOCAL, "main", Role.WRITER)

    await ground.control.write(write)
    return {}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with served(tmp_path, prepare=prepare) as running:
        yield running


def login_of(site: Site, kept: Kept, visitor: Browser, *, signed_in: bool = False) -> OAuthClientProvider:
    """The client's own login, with a person who signs in, where they are not, and allows."""
    came_back: list[dict[str, str]] = []

    async def visit(address: str) -> None:
        page = await visitor.open(address)
        if not signed_in:
            page = await visitor.follow(page)
            page = await visitor.follow(
                await visitor.send(page, "/oauth/sign-in", name="ann", password="wooden boats cross slowly")
            )
        came_back.append(query_of(await visitor.send(page, "/oauth/authorize", decision="allow")))

    async def come_back() -> AuthorizationCodeResult:
        found = came_back[-1]
        return AuthorizationCodeResult(code=found["code"], state=found.get("state"), iss=found["iss"])

    about = OAuthClientMetadata(client_name="SDK", redirect_uris=[AnyUrl(CALLBACK)])
    return OAuthClientProvider(f"{site.url}/v/main/mcp", about, kept, visit, come_back)


async def test_the_sdks_client_logs_in_calls_a_tool_and_renews_its_token(site: Site) -> None:
    kept = Kept()
    async with browser(base_url=site.url) as http:
        login = login_of(site, kept, Browser(http))
        async with httpx2.AsyncClient(auth=login, timeout=60) as speaking:
            transport = streamable_http_client(f"{site.url}/v/main/mcp", http_client=speaking)
            async with Client(transport, cache=None) as client:
                await client.call_tool("remember", {"content": "The harbour has three cranes."})
                first = kept.tokens
                assert first is not None
                login.context.token_expiry_time = 1  # as if it had run out
                found = await client.call_tool("recall", {"query": "cranes"})
                assert "three cranes" in str(found.content)
    assert kept.tokens is not None
    assert kept.tokens.access_token != first.access_token
    assert kept.tokens.refresh_token != first.refresh_token


async def test_the_door_answers_to_its_own_name_and_origin(site: Site) -> None:
    async with browser(base_url=site.url) as http:
        for path in ("/oauth/sign-in", "/oauth/token", "/.well-known/oauth-authorization-server"):
            assert (await http.get(path, headers={"host": "evil.example"})).status_code == 421
            assert (await http.get(path, headers={"origin": "https://evil.example"})).status_code == 403
        assert (await http.post("/oauth/token", content=b"x" * 70_000)).status_code == 413
        assert (await http.get("/oauth/%61ccount")).status_code == 404
        described = (await http.get("/.well-known/oauth-authorization-server")).json()
        assert described["issuer"] == site.url
        resource = (await http.get("/.well-known/oauth-protected-resource/v/main/mcp")).json()
        assert resource["authorization_servers"] == [site.url]


async def test_pages_of_other_origins_read_what_programs_call_and_no_page(site: Site) -> None:
    origin = {"origin": "http://localhost:6274"}
    async with browser(base_url=site.url) as http:
        asked = {"access-control-request-method": "POST", **origin}
        for path in ("/oauth/token", "/oauth/register"):
            assert (await http.options(path, headers=asked)).headers["access-control-allow-origin"] == origin["origin"]
            answer = await http.post(path, headers=origin)
            assert answer.headers["access-control-allow-origin"] == origin["origin"]
        assert "access-control-allow-origin" not in (await http.get("/oauth/sign-in", headers=origin)).headers


async def test_somebody_comes_through_a_provider_and_lets_a_client_in(tmp_path: Path) -> None:
    issuer, kept = OutsideIssuer(), Kept()
    settings = issuer.settings(grants=[{"group": "research", "vault": "main", "role": "writer"}])
    try:
        flags = {"auth.providers": [settings.model_dump(mode="json")]}
        async with served(tmp_path, **flags) as site, browser(base_url=site.url) as http:
            there = await http.get("/oauth/with/keycloak")
            brought = issuer.visit(there.headers["location"])
            assert (await http.get("/oauth/with/keycloak/done", params=brought)).status_code == 303
            login = login_of(site, kept, Browser(http), signed_in=True)
            async with httpx2.AsyncClient(auth=login, timeout=60) as speaking:
                transport = streamable_http_client(f"{site.url}/v/main/mcp", http_client=speaking)
                async with Client(transport, cache=None) as client:
                    stored = await client.call_tool("remember", {"content": "The harbour has three cranes."})
        assert not stored.is_error
    finally:
        issuer.close()


@pytest.mark.parametrize("flags", [{"auth.login": "off"}, {"auth.mode": "none"}])
async def test_where_nobody_signs_in_there_is_no_door(tmp_path: Path, flags: dict[str, str]) -> None:
    async with served(tmp_path, **flags) as site, browser(base_url=site.url) as http:
        for path in ("/oauth/sign-in", "/.well-known/oauth-authorization-server"):
            assert (await http.get(path)).status_code == 404
        assert "authorization_servers" not in (await http.get("/.well-known/oauth-protected-resource")).json()


def test_a_server_for_agents_alone_loads_nothing_of_it() -> None:
    """Nothing imports it before the first request for it."""
    importing = [
        f"{path.name}: {node.module}"
        for path in sorted((ROOT / "server").rglob("*.py"))
        if path.parent.name not in ("oauth", "ui")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("server.oauth", "server.ui"))
    ]
    assert importing == []
