"""The steps by which hosted clients connect, as their documentation tells them, over real sockets.

Claude: claude.com/docs/connectors/building/authentication. ChatGPT: developers.openai.com/apps-sdk/build/auth. Neither
can be run here; what each asks for is.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from auth.grants import set_grant
from auth.people import people
from auth.principal import LOCAL
from auth.roles import Role
from tests.server.http.serving import Ground, Raw, Site, served
from tests.server.oauth.desk import KEPT, PASSWORD, Browser
from tests.work import PATIENCE_S


@dataclass(frozen=True)
class Connector:
    """``callbacks``: where its documentation says people are sent back to, all of them registered."""

    name: str
    callbacks: tuple[str, ...]
    registers: dict[str, Any]


CONNECTORS = (
    Connector(
        "Claude",
        ("https://claude.ai/api/mcp/auth_callback", "https://claude.com/api/mcp/auth_callback"),
        {"token_endpoint_auth_method": "none", "scope": "vault:read vault:write"},
    ),
    Connector(
        "ChatGPT",
        ("https://chatgpt.com/connector_platform_oauth_redirect", "https://chatgpt.com/connector/oauth/Ab3_x-9"),
        {"token_endpoint_auth_method": "none"},
    ),
)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async def settle(ground: Ground) -> dict[str, str]:
        def write(tx: Any) -> None:
            people.add(tx, "ann", 0)
            people.set_password(tx, "ann", KEPT)
            set_grant(tx, "ann", LOCAL, "main", Role.WRITER)

        await ground.control.write(write)
        return {}

    async with served(tmp_path / "data", prepare=settle) as running:
        yield running


async def let_in(site: Site, http: httpx2.AsyncClient, connector: Connector) -> tuple[dict[str, Any], str, str]:
    """From the vault's URL alone to tokens: these, the client's id, and the token endpoint."""
    typed = f"{site.url}/v/main/mcp"
    hello = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    stranger = await http.post(typed, json=hello, headers={"accept": "application/json, text/event-stream"})
    assert stranger.status_code == 401
    challenge = stranger.headers["www-authenticate"]
    told = (await http.get(challenge.split('resource_metadata="')[1].split('"')[0])).json()
    assert told["resource"] == typed, "a client refuses a document that is about another resource"
    [issuer] = told["authorization_servers"]
    described = (await http.get(f"{issuer.rstrip('/')}/.well-known/oauth-authorization-server")).json()
    assert described["issuer"] == issuer
    assert described["code_challenge_methods_supported"] == ["S256"], "ChatGPT refuses a server that does not say so"
    assert "none" in described["token_endpoint_auth_methods_supported"]
    asked = {
        "client_name": connector.name,
        "redirect_uris": list(connector.callbacks),
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        **connector.registers,
    }
    registered = await http.post(described["registration_endpoint"], json=asked)
    assert registered.status_code == 201, registered.text
    client, verifier, callback = registered.json()["client_id"], secrets.token_urlsafe(48), connector.callbacks[-1]
    assert "client_secret" not in registered.json()
    code = await agree(site, described, {"client_id": client, "redirect_uri": callback, "resource": typed}, verifier)
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": callback, "client_id": client}
    granted = await http.post(described["token_endpoint"], data={**form, "code_verifier": verifier, "resource": typed})
    assert granted.status_code == 200, granted.text
    return granted.json(), client, described["token_endpoint"]


async def agree(site: Site, described: dict[str, Any], asked: dict[str, str], verifier: str) -> str:
    """The code that ann's browser carries back after she signed in and agreed."""
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    query = {**asked, "response_type": "code", "state": "s" * 43, "code_challenge": challenge}
    async with httpx2.AsyncClient(base_url=site.url, timeout=PATIENCE_S) as http:
        browser = Browser(http)
        address = httpx2.URL(described["authorization_endpoint"], params={**query, "code_challenge_method": "S256"})
        page = await browser.follow(await browser.open(str(address)))
        signed_in = await browser.send(page, "/oauth/sign-in", name="ann", password=PASSWORD)
        consent = await browser.follow(signed_in)
        assert urlsplit(asked["redirect_uri"]).netloc in consent.text, "ann sees where she is sent"
        sent = await browser.send(consent, "/oauth/authorize", decision="allow")
    assert sent.headers["location"].startswith(f"{asked['redirect_uri']}?")
    carried = {name: value for name, [value] in parse_qs(urlsplit(sent.headers["location"]).query).items()}
    assert (carried["state"], carried["iss"]) == ("s" * 43, described["issuer"])
    return carried["code"]


@pytest.mark.parametrize("connector", CONNECTORS, ids=lambda each: each.name)
async def test_a_hosted_client_connects_by_the_address_of_a_vault_alone(site: Site, connector: Connector) -> None:
    async with httpx2.AsyncClient(timeout=PATIENCE_S) as http:
        granted, client, endpoint = await let_in(site, http, connector)
        assert granted["token_type"].lower() == "bearer"
        form = {"grant_type": "refresh_token", "refresh_token": granted["refresh_token"], "client_id": client}
        again = await http.post(endpoint, data=form)
        assert again.status_code == 200, again.text
        credential = {"authorization": f"Bearer {again.json()['access_token']}"}
        async with httpx2.AsyncClient(base_url=site.url, headers=credential, timeout=PATIENCE_S) as signed_in:
            raw = Raw(signed_in, "/v/main/mcp")
            stored = await raw.call("remember", {"content": "The north gate is open on Sundays"})
            found = await raw.call("search", {"query": "when is the north gate open"})
            # Deep research reads the text alone: results with id, title and url, then the document by its id.
            [hit] = json.loads(found["content"][0]["text"])["results"]
            assert hit["id"] == stored["structuredContent"]["id"]
            assert {"title", "url"} <= hit.keys()
            document = json.loads((await raw.call("fetch", {"id": hit["id"]}))["content"][0]["text"])
            assert document["text"] == "The north gate is open on Sundays"


async def test_a_hosted_client_is_told_when_it_has_to_register_or_ask_anew(site: Site) -> None:
    async with httpx2.AsyncClient(timeout=PATIENCE_S) as http:
        granted, client, endpoint = await let_in(site, http, CONNECTORS[0])
        form = {"grant_type": "refresh_token", "refresh_token": granted["refresh_token"]}
        unknown = await http.post(endpoint, data={**form, "client_id": f"{client}x"})
        assert (unknown.status_code, unknown.json()["error"]) == (401, "invalid_client")
        used = [await http.post(endpoint, data={**form, "client_id": client}) for _ in range(2)]
        assert [each.status_code for each in used] == [200, 400]
        assert used[1].json()["error"] == "invalid_grant"
