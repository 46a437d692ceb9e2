"""The HTTP application of one process: what is public, the gate, and behind it MCP and plain JSON.

::

    /health/*  /.well-known/*     anyone
    /v/{vault}/mcp  /mcp          Gate → McpRoute → the SDK
    /v/{vault}/tools/{tool}       Gate → JsonRoute
    /v/{vault}/openapi.json       Gate → JsonRoute
    /oauth/*  /.well-known/oauth-authorization-server   SignInDoor → server.oauth, where people sign in here
    /  /ui/*                      ConsoleDoor → server.ui, where people sign in here or everybody is the owner
    anything else                 404
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import structlog
from starlette.requests import Request
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from auth.authenticate import Authenticator, TokenAuthenticator
from auth.external_issuer import ExternalAuthenticator
from auth.jwks import IssuerKeys
from auth.kept_secrets import open_secrets
from auth.keys import KEYS_FOLDER, KeyRing, open_key_ring
from auth.local_issuer import LocalAuthenticator
from auth.roles import Role
from auth.settings import has_local_login, refuse_open_bind
from auth.tokens import TOKEN_SEEN
from ops import tracing
from ops.cluster_metrics import ClusterMetrics
from ops.disk_space import keep_reading, written_folders
from ops.loop_lag import LoopLag
from ops.metrics import Metrics
from ops.refusals import RefusalLog
from server.background_plan import SERVER_WORK
from server.backup_drills import keep_drilling
from server.backup_schedule import keep_backups
from server.call import Caller
from server.command_door import open_door
from server.http.certificate import certificate_names
from server.http.cluster_health import register_cluster
from server.http.console_door import ConsoleDoor, is_console_address, is_console_path
from server.http.gate import Gate, GatePolicy
from server.http.health import health_routes
from server.http.json_route import JsonRoute
from server.http.late_changes import LateChanges
from server.http.mcp_route import McpRoute
from server.http.metadata import metadata_routes
from server.http.options import Instruments
from server.http.request_head import Refusal, line_of, respond
from server.http.sign_in_door import SignInDoor, is_sign_in_path
from server.http.upkeep import keep_up
from server.http.vault_paths import serve_by_door
from server.protocol import Context, Extend, Protocol, make_protocol
from server.services import Recorders, Services, open_services
from server.settings import LoadedSettings, Settings, configured_endpoints
from server.tool_registry import ToolRegistry, load_gradually
from server.tools import discover_kept
from server.toolsets.registry import required_role as old_tool_role
from server.version import version
from vaults.db.migration import load_migrations
from vaults.errors import InvalidArgument, StrongroomError

if TYPE_CHECKING:
    from server.http.peers.peering import Peering

log = structlog.get_logger("server.http")

LOAD_TOOLS_S = 1.0
"""Seconds between two looks at whether somebody called a tool."""

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_PUBLIC = ("/health/", "/.well-known/")
_NO_SUCH_ROUTE = Refusal(404, "not_found", "nothing is here; MCP is at /v/{vault}/mcp", reason="path")


@dataclass(frozen=True, slots=True)
class ApplicationBuilder:
    """Builds the application of one serving process; picklable, for workers."""

    loaded: LoadedSettings
    listening: tuple[str, int] | None = None  # the address really bound: the settings may say port 0
    extra_tools: tuple[str, ...] = ()  # modules with more tools, for the conformance fixtures
    extend: Extend | None = None  # for the same fixtures; a function at the top of a module

    def __call__(self, instruments: Instruments) -> ASGIApp:
        """The application. Raises ``InvalidArgument`` for settings that do not go together."""
        settings = self.loaded.settings
        host, port = self.listening or (settings.server.host, settings.server.port)
        try:
            refuse_open_bind(settings.auth, host)
        except ValueError as failure:
            raise InvalidArgument("auth.mode", str(failure)) from None
        url = public_url(settings, host, port)
        try:
            has_local_login(settings.auth, url)
        except ValueError as failure:
            raise InvalidArgument("auth.login", str(failure)) from None
        return _Site(self, instruments, url).serve


class _Site:
    """Routing, and everything behind it between start and end."""

    def __init__(self, application: ApplicationBuilder, instruments: Instruments, url: str) -> None:
        self._application = application
        self._settings = application.loaded.settings
        self._url = url
        endpoints = configured_endpoints(self._settings)
        self._registry = discover_kept(application.loaded.data, application.extra_tools, endpoints)
        self._metrics = Metrics(instruments.registry, tools=self._registry.names, version=version())
        cluster = self._settings.cluster
        self._cluster_metrics = ClusterMetrics(instruments.registry, cluster.server_name) if cluster.is_on else None
        self._calls = instruments.calls
        self._calls.sink.on_drop = self._metrics.on_lines_dropped
        self._refusals = RefusalLog(self._calls, self._metrics.on_refusal)
        self._lifespan = Router(lifespan=self._open)
        self._public: ASGIApp = self._lifespan
        self._gate: ASGIApp = self._lifespan
        self._sign_in: ASGIApp | None = None
        self._console: ConsoleDoor | None = None
        self._peering: Peering | None = None

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._lifespan(scope, receive, send)
            return
        path: str = scope["path"]
        # No address but a page's needs percent signs: what looks like one segment to a proxy must not be two to us.
        plain = b"%" not in scope["raw_path"]
        if plain and (path == "/mcp" or path.startswith("/v/")):
            await self._gate(scope, receive, send)
        elif plain and self._sign_in is not None and is_sign_in_path(path):
            await self._sign_in(scope, receive, send)
        elif self._console is not None and is_console_path(path) and (plain or is_console_address(scope["raw_path"])):
            await self._console(scope, receive, send)
        elif plain and path.startswith(_PUBLIC):
            await self._public(scope, receive, send)
        else:
            self._refusals.write(line_of(_NO_SUCH_ROUTE, scope))
            await respond(_NO_SUCH_ROUTE, send)

    @asynccontextmanager
    async def _open(self, _app: object) -> AsyncIterator[dict[str, Any]]:
        async with AsyncExitStack() as stack:
            stop = tracing.start_tracing(self._settings.ops.otlp_endpoint, version=version())
            if stop is not None:
                stack.push_async_callback(asyncio.to_thread, stop)
            rings: list[KeyRing] = []
            services = await stack.enter_async_context(
                open_services(
                    self._settings,
                    self._application.loaded.data,
                    self._registry,
                    recorders=Recorders(self._metrics, self._calls, self._cluster_metrics),
                    background=replace(SERVER_WORK, followers=(partial(_follow_all, rings),)),
                )
            )
            # Behind the services, which lay out the keys of several servers; so who follows them knows none before.
            ring = await asyncio.to_thread(open_keys, self._application.loaded)
            rings += [] if ring is None else [ring]
            _log_opened(services)
            if ring is not None:
                log.info("signing", kid=ring.newest.kid, keys=len(ring.keys))
            await stack.enter_async_context(keep_up(services, ring))
            register_pings(services)
            if (cluster := services.cluster) is not None:
                register_cluster(services.health, cluster.held, self._settings.cluster.server_name)
            lag = LoopLag(self._metrics.on_loop_lag, self._settings.ops.loop_lag_interval_s)
            lag.start()
            stack.push_async_callback(lag.stop)
            disks = written_folders(services.data, self._settings.backup.to)
            await stack.enter_async_context(keep_reading(disks, self._metrics.on_disk, services.defects))
            await stack.enter_async_context(keep_backups(services, self._application.loaded.file))
            await stack.enter_async_context(keep_drilling(services))
            protocol = make_protocol(services, _identify, traced=stop is not None, extend=self._application.extend)
            await self._open_doors(stack, services, ring, protocol)
            await stack.enter_async_context(open_door(services, self._application.loaded.file))
            gc.freeze()  # what is loaded by now stays: the collector need not walk it during calls
            stack.callback(asyncio.create_task(_load_tools(services.registry), name="tools").cancel)
            stack.callback(self._refusals.flush)
            yield {
                "drain": partial(_drain, services, protocol, self._console, self._peering),
                "reload": _Reload(ring, services),
                "certificate": self._metrics.on_certificate,
                "refused": self._refusals.write,
                **({} if services.cluster is None else {"hand_over": services.cluster.drain}),
            }

    async def _open_doors(
        self, stack: AsyncExitStack, services: Services, ring: KeyRing | None, protocol: Protocol
    ) -> None:
        hosts, origins = allowed_hosts(self._settings, self._url), allowed_origins(self._settings, self._url)
        route = McpRoute(services, self._refusals.write)
        await stack.enter_async_context(route.run(protocol))
        policy = GatePolicy(
            authenticator=None if ring is None else _authenticator(stack, services, ring, self._url),
            access_cache=services.access_cache,
            vaults=services.registry_cache.names,
            look_again=LateChanges(services.registry_cache, services.access_cache).look,
            required_role=partial(_required_role, self._registry),
            public_url=self._url,
            allowed_hosts=hosts,
            allowed_origins=origins,
            max_body=self._settings.body_limit,
            on_refusal=self._refusals.write,
        )
        plain = JsonRoute(services, protocol, self._url, self._refusals.write)
        behind = serve_by_door(route, plain)
        if (cluster := services.cluster) is not None and cluster.door is not None:
            from server.http.peers.peering import Peering

            self._peering = peering = Peering(cluster, services, protocol, self._cluster_metrics)
            await stack.enter_async_context(peering.serving(self.serve))
            behind = peering.before(behind)
        self._gate = Gate(behind, policy)
        issuers = [each.issuer for each in self._settings.auth.issuers]
        has_people = ring is None  # without keys everybody is the owner
        if ring is not None and has_local_login(self._settings.auth, self._url):
            issuers.insert(0, self._url)
            self._sign_in = door = SignInDoor(services, ring, self._url, policy)
            stack.push_async_callback(door.close)
            has_people = True
        if has_people and self._settings.ui.enabled:
            self._console = ConsoleDoor(services, protocol, self._url, policy, self._application.loaded.sources)
        jwks = None if ring is None else ring.jwks
        self._public = Router([*health_routes(services.health), *metadata_routes(self._url, issuers, jwks)])


def public_url(settings: Settings, host: str, port: int) -> str:
    """Where clients find this server: as set, else by the address it listens on, or by its certificate if that is
    every address."""
    if settings.auth.public_url is not None:
        return settings.auth.public_url
    scheme = "https" if settings.server.tls_cert else "http"
    name = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104  compared, not bound
    if name != host:  # every address of the machine: clients use the name they can check
        name = next((each for each in _certificate_hosts(settings) if each[0] not in "*["), name)
    return f"{scheme}://[{name}]:{port}" if ":" in name else f"{scheme}://{name}:{port}"


def allowed_hosts(settings: Settings, url: str) -> tuple[str, ...]:
    """Host headers accepted: this machine and the names of the certificate under any port, the public name, and what
    the settings add; in lower case, as names are compared."""
    name = urlsplit(url).netloc
    known = (*_LOOPBACK, *_certificate_hosts(settings))
    names = (*known, *(f"{host}:*" for host in known), name, f"{name}:*", *settings.server.allowed_hosts)
    return tuple(each.lower() for each in names)


def _certificate_hosts(settings: Settings) -> tuple[str, ...]:
    return certificate_names(settings.server.tls_cert) if settings.server.tls_cert else ()


def allowed_origins(settings: Settings, url: str) -> tuple[str, ...]:
    """Browser origins accepted: pages of this machine, our own, and what the settings add; in lower case."""
    own = [f"{scheme}://{host}{port}" for scheme in ("http", "https") for host in _LOOPBACK for port in ("", ":*")]
    parts = urlsplit(url)
    names = (*own, f"{parts.scheme}://{parts.netloc}", *settings.server.allowed_origins)
    return tuple(each.lower() for each in names)


def register_pings(services: Services) -> None:
    """Register what readiness depends on. Without control.db nobody is let in; without the model keyword search still
    serves, and one damaged vault is no reason to turn callers away from the others."""

    async def control() -> str:
        try:
            _ = services.access_cache.current
        except StrongroomError:
            return "stale"
        await services.control.read(lambda tx: tx.value("SELECT 1"))
        return "ok"

    async def embedding() -> str:
        return services.embedder.state().status

    async def audit() -> str:
        return "full" if services.audit.failing else "ok"

    async def vaults() -> str:
        return "failed" if services.pool.quarantined else "ok"

    services.health.register("control", control, required=True)
    services.health.register("embedding", embedding, required=False)
    services.health.register("vaults", vaults, required=False)
    services.health.register("audit", audit, required=False)


def open_keys(loaded: LoadedSettings) -> KeyRing | None:
    """The signing keys; None where everybody is the owner. Blocking. Raises ``InvalidArgument`` for a passphrase that
    opens none of what lies among them."""
    folder, passphrase_file = loaded.data / KEYS_FOLDER, loaded.settings.auth.key_passphrase_file
    open_secrets(folder, passphrase_file)
    if loaded.settings.auth.mode == "none":
        return None
    return open_key_ring(folder, passphrase_file)


def _follow(ring: KeyRing) -> None:
    """Take up changed keys; say which one signs from now on, and once which of them do not open. Blocking."""
    newest, unopened = [key.kid for key in ring.keys[-1:]], ring.unopened
    ring.refresh()
    if ring.keys and [ring.newest.kid] != newest:
        log.info("signing", kid=ring.newest.kid, keys=len(ring.keys))
    if ring.unopened and ring.unopened != unopened:
        log.warning("keys_not_opened", files=", ".join(ring.unopened))


def _follow_all(rings: Sequence[KeyRing]) -> None:
    for ring in rings:
        _follow(ring)


def _authenticator(stack: AsyncExitStack, services: Services, ring: KeyRing, url: str) -> Authenticator:
    settings = services.settings.auth
    chain: list[TokenAuthenticator] = [LocalAuthenticator(ring, services.instance_id, settings.leeway_s)]
    for issuer in settings.issuers:
        keys = IssuerKeys(issuer)
        stack.push_async_callback(keys.close)
        chain.append(ExternalAuthenticator(issuer, keys, url, settings.leeway_s))
    return Authenticator(
        chain, services.access_cache, on_use=lambda token_id: services.daily_usage.mark_seen(TOKEN_SEEN + token_id)
    )


def _required_role(registry: ToolRegistry, name: str) -> Role | None:
    """The least role that can call a tool at all; what an action needs is checked in dispatch."""
    spec = registry.get(name)
    return old_tool_role(registry, name) if spec is None else spec.least_role


def _identify(ctx: Context) -> Caller:
    request: Request | None = ctx.request
    assert request is not None, "HTTP requests carry one"
    caller: Caller = request.scope["state"]["caller"]
    return caller


class _Reload:
    """Called when everything secret is to be read again."""

    def __init__(self, ring: KeyRing | None, services: Services) -> None:
        self._ring = ring
        self._services = services
        self._task: asyncio.Task[None] | None = None

    def __call__(self) -> None:
        self._task = asyncio.create_task(self._reload(), name="reload")

    async def _reload(self) -> None:
        try:
            if self._ring is not None:
                await asyncio.to_thread(self._ring.reload)
            await asyncio.to_thread(self._services.licence.refresh)
            await self._services.access_cache.refresh()
        except (StrongroomError, OSError) as failure:  # what was read before goes on to hold
            log.warning("reload_failed", reason=getattr(failure, "message", None) or type(failure).__name__)
        else:
            log.info("reloaded", kid=None if self._ring is None else self._ring.newest.kid)


async def _load_tools(registry: ToolRegistry) -> None:
    """Once a tool was called, import the others, so that their first call waits less. A server nobody uses goes without
    them."""
    while not registry.is_used:  # noqa: ASYNC110  any thread may be the first to ask
        await asyncio.sleep(LOAD_TOOLS_S)
    await asyncio.sleep(LOAD_TOOLS_S)  # that first call loads what it needs itself, and comes first
    await load_gradually(registry)
    gc.freeze()


def _drain(services: Services, protocol: Protocol, console: ConsoleDoor | None, peering: Peering | None) -> None:
    services.health.drain()
    if peering is not None:
        peering.drain()
    protocol.subscriptions.close()
    if console is not None:
        console.close()


def _log_opened(services: Services) -> None:
    """One line that says what is served, for whoever starts it or looks why it differs from another."""
    log.info(
        "opened",
        data=str(services.data),
        control_schema=len(load_migrations("control")),
        vault_schema=len(load_migrations("vault")),
        text_index="fts5",
        tools=len(services.registry.names),
    )
