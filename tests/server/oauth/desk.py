"""Sign-in without a server: the application alone over a control.db, with a clock one can turn, and browsers for it."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2

from auth.access_cache import AccessCache
from auth.authenticate import Authenticator
from auth.grants import set_grant
from auth.keys import KeyRing, open_key_ring
from auth.local_issuer import LocalAuthenticator
from auth.outside.provider_questions import ProviderQuestions
from auth.people import accounts, people
from auth.people.attempts import Attempts
from auth.people.passwords import hash_password
from auth.principal import LOCAL, Principal
from auth.roles import Role
from ops.audit.audit_log import AuditLog
from ops.settings import AuditSettings
from server.oauth.application import make_sign_in
from server.oauth.parts import SignInParts
from vaults.db.connection import Database
from vaults.db.migration import migrate
from vaults.settings import StorageSettings

URL = "https://mem.example"
VAULT = f"{URL}/v/main/mcp"
CALLBACK = "http://127.0.0.1:4321/callback"
PASSWORD = "wooden boats cross slowly"
KEPT = hash_password(PASSWORD)
VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")


@dataclass
class Form:
    action: str
    fields: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Form] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append(Form(values["action"]))
        elif tag == "input" and values.get("type") == "radio":
            self.found[-1].choices.setdefault(values["name"], []).append(values["value"])
            if "checked" in values:
                self.found[-1].fields[values["name"]] = values["value"]
        elif tag == "input":
            self.found[-1].fields[values["name"]] = values.get("value", "")


def forms_of(page: httpx2.Response) -> list[Form]:
    """The forms of a page as a browser would send them."""
    parser = _Forms()
    parser.feed(page.text)
    return parser.found


class Browser:
    """One person's browser: keeps cookies, and goes nowhere by itself."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http

    async def open(self, address: str) -> httpx2.Response:
        return await self.http.get(address)

    async def send(self, page: httpx2.Response, to: str, **values: str) -> httpx2.Response:
        """Fill in the form of a page that goes ``to`` somewhere, and send it."""
        form = next(each for each in reversed(forms_of(page)) if each.action.endswith(to))
        return await self.http.post(urljoin(str(page.url), form.action), data={**form.fields, **values})

    async def sign_in(self, name: str = "ann", password: str = PASSWORD, after: str = "") -> httpx2.Response:
        page = await self.open(f"/oauth/sign-in{after}")
        return await self.send(page, "/oauth/sign-in", name=name, password=password)

    async def follow(self, answer: httpx2.Response) -> httpx2.Response:
        assert answer.status_code in (302, 303), answer.text
        return await self.open(answer.headers["location"])


@dataclass
class Desk:
    parts: SignInParts
    clock: list[float]
    app: Any

    def http(self, address: str = "10.0.0.7") -> httpx2.AsyncClient:
        transport = httpx2.ASGITransport(app=self.app, client=(address, 1))
        return httpx2.AsyncClient(transport=transport, base_url=self.parts.url)

    def browser(self, address: str = "10.0.0.7") -> Browser:
        return Browser(self.http(address))

    async def person(self, name: str = "ann", role: Role = Role.WRITER, *vaults: str) -> None:
        def write(tx: Any) -> None:
            people.add(tx, name, self.clock[0])
            people.set_password(tx, name, KEPT)
            for vault in vaults or ("main",):
                set_grant(tx, name, LOCAL, vault, role)

        await self.parts.access_cache.write(write)

    async def invite(self, name: str = "ann") -> str:
        return await self.parts.control.write(lambda tx: accounts.invite(tx, name, self.clock[0]))

    async def client(self, *redirects: str, **more: Any) -> dict[str, Any]:
        """A client that registered itself."""
        asked = {
            "redirect_uris": redirects or (CALLBACK,),
            "client_name": "Tester",
            "token_endpoint_auth_method": "none",
        }
        async with self.http() as http:
            answer = await http.post("/oauth/register", json={**asked, **more})
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def allow(self, browser: Browser, client: str, choice: Mapping[str, str] | None = None, **asked: str) -> str:
        """The code that a signed-in person sends a client back with."""
        page = await browser.open(authorize_address(client, **asked))
        answer = await browser.send(page, "/oauth/authorize", decision="allow", **(choice or {}))
        return query_of(answer)["code"]

    async def token(self, **form: str) -> httpx2.Response:
        async with self.http() as http:
            return await http.post("/oauth/token", data=form)

    async def exchange(self, client: str, code: str, **more: str) -> httpx2.Response:
        form = {"grant_type": "authorization_code", "client_id": client, "code": code, "redirect_uri": CALLBACK}
        return await self.token(**{**form, "code_verifier": VERIFIER, **more})

    async def refresh(self, client: str, token: str, **more: str) -> httpx2.Response:
        return await self.token(grant_type="refresh_token", client_id=client, refresh_token=token, **more)

    async def login(self, browser: Browser, client: str, **asked: str) -> dict[str, Any]:
        """The tokens of a client that somebody lets in."""
        answer = await self.exchange(client, await self.allow(browser, client, **asked))
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def principal(self, token: str) -> Principal:
        """Who a token is, as the gate sees it. Raises ``TokenInvalid``."""
        local = LocalAuthenticator(self.parts.ring, self.parts.instance_id, 30)
        return await Authenticator([local], self.parts.access_cache).authenticate(token)


def authorize_address(client: str, **change: str) -> str:
    asked = {
        "response_type": "code", "client_id": client, "redirect_uri": CALLBACK, "state": "xyz", "resource": VAULT,
        "code_challenge": CHALLENGE, "code_challenge_method": "S256",
    }  # fmt: skip
    return str(httpx2.URL("/oauth/authorize", params={k: v for k, v in {**asked, **change}.items() if v != "-"}))


def query_of(answer: httpx2.Response) -> dict[str, str]:
    """What a redirect carries."""
    assert answer.status_code in (302, 303), answer.text
    return {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}


@asynccontextmanager
async def open_desk(
    folder: Path,
    ring: KeyRing | None = None,
    url: str = URL,
    outside: Mapping[str, ProviderQuestions] | None = None,
    console: bool = False,
) -> AsyncIterator[Desk]:
    storage = StorageSettings(reserve_mb=0)
    control = Database(folder / "control.db", storage)
    await migrate(control, "control")
    audit = AuditLog(folder, AuditSettings(), storage)
    clock = [time.time()]  # tokens carry the time there is
    cache = AccessCache(control)
    await cache.refresh()
    parts = SignInParts(
        control=control,
        access_cache=cache,
        vaults=lambda: {"main", "other", "third"},
        ring=ring or open_key_ring(folder / "keys"),
        instance_id="abc",
        audit=audit,
        url=url,
        seal=b"s" * 32,
        console=console,
        outside=outside or {},
        attempts=Attempts(lambda: clock[0]),
        now=lambda: clock[0],
    )
    try:
        yield Desk(parts, clock, make_sign_in(parts))
    finally:
        await audit.close()
        await control.close()
