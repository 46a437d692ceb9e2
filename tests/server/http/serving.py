"""The whole HTTP application behind a real uvicorn on 127.0.0.1, in the test's own loop."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from prometheus_client import CollectorRegistry

from auth.keys import KEYS_FOLDER, open_key_ring
from auth.roles import Role
from auth.tokens import TokenRequest, create_token
from ops.logs import CallLog
from ops.settings import OpsSettings
from ops.sink import Sink
from server import vault_admin
from server.control_database import CONTROL_DB
from server.http.app import ApplicationBuilder
from server.http.options import Instruments, ServeOptions, address
from server.http.process import uvicorn_config
from server.listening_socket import bind
from server.settings import LoadedSettings, load
from tests.blanks import lay_out_used
from tests.work import PATIENCE_S
from vaults import registry
from vaults.db.connection import Database
from vaults.db.migration import migrate

MODERN = "2026-07-28"
LATEST_HANDSHAKE = "2025-11-25"
ERAS = (MODERN, LATEST_HANDSHAKE)
BOTH = "application/json, text/event-stream"


@cache
def trusted() -> ssl.SSLContext:
    """Certificates a client trusts, read once: each client that reads them itself takes 30 ms for it."""
    return httpx2.create_ssl_context()


def browser(**options: Any) -> httpx2.AsyncClient:
    """A client as httpx makes it."""
    return httpx2.AsyncClient(verify=trusted(), timeout=PATIENCE_S, **options)


def settings_of(data: Path, **flags: Any) -> LoadedSettings:
    plain = {"storage.reserve_mb": 0, "embedding.engine": "off", "server.port": 0}
    return load(data, flags={**plain, **flags}, environment={})


@dataclass
class Ground:
    """A data folder with vaults, before any server runs on it."""

    loaded: LoadedSettings
    control: Database
    instance_id: str

    async def token(self, subject: str, role: Role, *vaults: str, preset: str | None = None) -> str:
        ring = open_key_ring(self.loaded.data / KEYS_FOLDER)
        wanted = TokenRequest(subject, vaults, role, 3600, preset)
        issued = await self.control.write(lambda tx: create_token(tx, ring, self.instance_id, wanted))
        return issued.token


@asynccontextmanager
async def ground(loaded: LoadedSettings, vaults: Sequence[str]) -> AsyncIterator[Ground]:
    loaded.data.mkdir(exist_ok=True)
    lay_out_used(loaded.data, tuple(vaults))
    control = Database(loaded.data / CONTROL_DB, loaded.settings.storage)
    try:
        await migrate(control, "control")
        known = {entry.name for entry in await control.read(registry.list_vaults)}
        for name in vaults:
            if name not in known:
                await vault_admin.register(control, loaded.data, loaded.settings.storage, name)
        yield Ground(loaded, control, await registry.instance_id(control))
    finally:
        await control.close()


@dataclass
class Site:
    """A running server. ``tokens`` by subject."""

    url: str
    ground: Ground
    metrics: CollectorRegistry
    state: Mapping[str, Any]
    tokens: dict[str, str] = field(default_factory=dict)

    def headers(self, subject: str, **more: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self.tokens[subject]}"} | more

    @asynccontextmanager
    async def client(
        self, subject: str, vault: str = "main", mode: str = MODERN, query: str = "", **headers: str
    ) -> AsyncIterator[Client]:
        """The SDK's client."""
        async with AsyncExitStack() as stack:
            http = await stack.enter_async_context(browser(headers=self.headers(subject, **headers)))
            transport = streamable_http_client(f"{self.url}/v/{vault}/mcp{query}", http_client=http)
            mode = "legacy" if mode == LATEST_HANDSHAKE else mode
            yield await stack.enter_async_context(Client(transport, mode=mode, cache=None))


def enveloped(method: str, params: Mapping[str, Any] | None = None, number: Any = 1) -> dict[str, Any]:
    """A request of the modern revision."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        **dict((params or {}).get("_meta", {})),
    }
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": {**(params or {}), "_meta": meta}}


@dataclass
class Raw:
    """Plain requests, where every byte matters."""

    http: httpx2.AsyncClient
    path: str

    async def post(self, message: Any, *, era: str = MODERN, query: str = "", **headers: str) -> httpx2.Response:
        sent = {"content-type": "application/json", "accept": BOTH, "mcp-protocol-version": era}
        if era == MODERN and isinstance(message, dict):
            sent["mcp-method"] = message["method"]
            name = message["params"].get("name") or message["params"].get("uri")
            if name:
                sent["mcp-name"] = name
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.http.post(self.path + query, content=json.dumps(message), headers=sent)

    async def call(self, tool: str, arguments: Any = None, era: str = MODERN, **headers: str) -> dict[str, Any]:
        """The result, or the error, of a tool call."""
        message = self.message("tools/call", {"name": tool, "arguments": arguments or {}}, era)
        answer = (await self.post(message, era=era, **headers)).json()
        found: dict[str, Any] = answer.get("result", answer.get("error"))
        return found

    @staticmethod
    def message(method: str, params: Mapping[str, Any] | None = None, era: str = MODERN, number: Any = 1) -> Any:
        if era == MODERN:
            return enveloped(method, params, number)
        return {"jsonrpc": "2.0", "id": number, "method": method, "params": dict(params or {})}


@asynccontextmanager
async def raw(site: Site, subject: str, vault: str = "main") -> AsyncIterator[Raw]:
    async with browser(base_url=site.url, headers=site.headers(subject)) as http:
        yield Raw(http, f"/v/{vault}/mcp")


Prepare = Callable[[Ground], Awaitable[dict[str, str]]]


async def nothing(ground: Ground) -> dict[str, str]:
    """No more tokens."""
    return {}


@asynccontextmanager
async def served(
    data: Path,
    *,
    vaults: Sequence[str] = ("main",),
    prepare: Prepare = nothing,
    application: Mapping[str, Any] | None = None,
    **flags: Any,
) -> AsyncIterator[Site]:
    """A server with an owner token for every vault. ``prepare`` changes the ground before it starts, and may bring
    more tokens."""
    loaded = settings_of(data, **flags)
    async with ground(loaded, vaults) as prepared:
        tokens = await prepare(prepared) | {"owner": await prepared.token("owner", Role.ADMIN, "*")}
        listener = bind("127.0.0.1", 0)
        host, port = address(listener)
        metrics = CollectorRegistry()
        with (data / "log").open("wb") as log:
            make = ApplicationBuilder(loaded, (host, port), **(application or {}))
            app = make(Instruments(metrics, CallLog(Sink(log.fileno()))))
            proxies = loaded.settings.server.trusted_proxies
            options = ServeOptions(ops=OpsSettings(shutdown_grace_s=2), trusted_proxies=proxies)
            server = uvicorn.Server(uvicorn_config(app, options))
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            while not server.started:
                assert not serving.done(), serving.exception()
                await asyncio.sleep(0.005)
            site = Site(f"http://127.0.0.1:{port}", prepared, metrics, server.lifespan.state, tokens)
            try:
                yield site
            finally:
                server.should_exit = True
                await serving
                listener.close()
