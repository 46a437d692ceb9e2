"""The console in this process: its application beside sign-in's, over a server's services, and browsers for both."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx2

from auth.grants import remove_grant, set_grant
from auth.keys import open_key_ring
from auth.people import people
from auth.principal import LOCAL, owner
from auth.roles import Role
from server.call import Caller
from server.dispatch import CallOutcome, dispatch
from server.oauth.application import make_sign_in
from server.oauth.parts import SignInParts
from server.protocol import make_protocol
from server.services import Services
from server.ui.application import make_console
from server.ui.parts import ConsoleParts
from tests.conftest import open_at
from tests.server.oauth.desk import KEPT, PASSWORD

URL = "https://mem.example"
SEAL = b"s" * 32
HOSTILE = (
    '<script>alert(1)</script> <a href="javascript:alert(1)">x</a> {{ 7*7 }} \u202eevil\u202c \U000e0041 ' + "y" * 5000
)


@dataclass
class Stage:
    """``before``: done before the next call of a tool reaches dispatch, as what happens meanwhile."""

    services: Services
    app: Any = None
    before: Callable[[], Awaitable[object]] | None = None

    def browser(self) -> Guest:
        transport = httpx2.ASGITransport(app=self.app, client=("10.0.0.7", 1))
        return Guest(httpx2.AsyncClient(transport=transport, base_url=URL))

    async def person(self, name: str, role: Role | None = Role.WRITER, vault: str = "main") -> Guest:
        """Somebody's browser, signed in."""

        def write(tx: Any) -> None:
            people.add(tx, name, 0)
            people.set_password(tx, name, KEPT)
            if role is not None:
                set_grant(tx, name, LOCAL, vault, role)

        await self.services.access_cache.write(write)
        guest = self.browser()
        await guest.sign_in(name)
        return guest

    async def end_grant(self, name: str, vault: str = "main") -> None:
        await self.services.access_cache.write(lambda tx: remove_grant(tx, name, LOCAL, vault))

    async def ask(self, tool: str, /, vault: str = "main", **arguments: Any) -> Mapping[str, Any]:
        """What a tool answers to the owner, who agreed to it."""
        caller = Caller(owner("cli"), vault, Role.ADMIN, "cli", form="whole")
        outcome = await dispatch(self.services, caller, tool, arguments)
        assert outcome.ok, outcome.content
        return outcome.content

    async def remember(self, content: str, **more: Any) -> str:
        found: str = (await self.ask("remember", content=content, **more))["id"]
        return found


@dataclass
class Form:
    """As a browser would send it. ``attributes``: of the element."""

    action: str
    method: str
    fields: dict[str, str]


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Form] = []
        self._into: str | None = None
        self._select: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append(Form(values["action"], values.get("method", "get"), {}))
        elif tag == "input" and "name" in values and values.get("type") not in ("checkbox", "radio"):
            self.found[-1].fields[values["name"]] = values.get("value", "")
        elif tag == "textarea" and "name" in values:
            self._into = values["name"]
            self.found[-1].fields[self._into] = ""
        elif tag == "select" and "name" in values:
            self._select = values["name"]
        elif tag == "option" and self._select and "selected" in values:
            self.found[-1].fields[self._select] = values["value"]

    def handle_data(self, data: str) -> None:
        if self._into is not None:
            self.found[-1].fields[self._into] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._into is not None:
            fields = self.found[-1].fields
            fields[self._into] = fields[self._into].removeprefix("\n")
            self._into = None


def forms_of(page: httpx2.Response) -> list[Form]:
    parser = _Forms()
    parser.feed(page.text)
    return parser.found


class Guest:
    """One person's browser without a script: keeps cookies, and goes nowhere by itself."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http

    async def open(self, address: str) -> httpx2.Response:
        return await self.http.get(address)

    async def sign_in(self, name: str) -> httpx2.Response:
        page = await self.open("/oauth/sign-in")
        fields = forms_of(page)[-1].fields
        return await self.http.post("/oauth/sign-in", data={**fields, "name": name, "password": PASSWORD})

    async def send(self, page: httpx2.Response, do: str, **values: str) -> httpx2.Response:
        """Fill in the form of a page that does something, and send it."""
        form = next(each for each in forms_of(page) if each.fields.get("do") == do)
        return await self.http.post(urljoin(str(page.url), form.action), data={**form.fields, **values})

    async def follow(self, answer: httpx2.Response) -> httpx2.Response:
        assert answer.status_code == 303, answer.text
        return await self.open(answer.headers["location"])


@asynccontextmanager
async def open_stage(folder: Path, *, signs_in: bool = True, **flags: Any) -> AsyncIterator[Stage]:
    """Vaults ``main`` and ``other``."""
    async with open_at(folder, ("main", "other"), flags) as services:
        protocol = make_protocol(services, lambda ctx: ctx.request.caller)
        stage = Stage(services)

        async def call(caller: Caller, tool: str, arguments: Mapping[str, Any]) -> CallOutcome:
            meanwhile, stage.before = stage.before, None
            if meanwhile is not None:
                await meanwhile()
            return await protocol.call(caller, tool, arguments)

        console = make_console(ConsoleParts(services, call, URL, SEAL, signs_in, dict.fromkeys(flags, "flag")))
        sign_in = make_sign_in(
            SignInParts(
                control=services.control,
                access_cache=services.access_cache,
                vaults=services.registry_cache.names,
                ring=open_key_ring(folder / "keys"),
                instance_id=services.instance_id,
                audit=services.audit,
                url=URL,
                seal=SEAL,
            )
        )

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await (sign_in if scope["path"].startswith("/oauth/") else console)(scope, receive, send)

        stage.app = app
        yield stage
