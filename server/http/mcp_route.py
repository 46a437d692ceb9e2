"""The MCP application behind the gate: who calls and with which view, cached listings, then one of two transports.

Both are the SDK's, stateless, over one server object: one answers JSON at half the cost, the other streams. A request
is streamed when it asks for progress, which JSON cannot carry; ``subscriptions/listen`` streams by itself. Plain tool
calls whose envelope the SDK has accepted before go round it (``fast_path``).
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast
from urllib.parse import parse_qs

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import DEFAULT_NEGOTIATED_VERSION, SERVER_INFO_META_KEY
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from starlette.types import Receive, Scope, Send
from uuid_utils import uuid7

from ops.refusals import RefusalLine
from server.call import AnswerForm, Caller
from server.caller_views import PRESET_NAMES, WRITE_MODES, first_preset, strictest_mode, view_of
from server.http.fast_path import FastPath, ParsedToolCall, parse_tool_call
from server.http.gate import Admission
from server.http.listing_cache import ListingCache, ListingRequest, parse_listing_request
from server.http.request_body import JsonBody, RequestBody
from server.http.request_head import Refusal, line_of, respond
from server.protocol import Protocol
from server.services import Services
from server.tool_spec import ToolSpec
from vaults.errors import NotFound, Overloaded, RateLimited

_ERAS = {version.encode(): version for version in (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)}
_CALLER_HEADERS = {
    b"x-strongroom-workspace": "workspace",
    b"x-strongroom-session": "session",
    b"x-strongroom-client": "client",
}
_LABEL = 200
_PROGRAM = re.compile(rb"[A-Za-z0-9._-]{1,60}")
_HEADERS_READ = frozenset({b"accept", b"content-type"})
"""What the SDK reads besides its own headers. It scans all headers a dozen times per request, and nothing behind the
gate needs the token."""

_STREAMS = re.compile(rb"text/event-stream|\*/\*|text/\*", re.IGNORECASE)


class McpRoute:
    """ASGI, behind the gate. Serves only inside ``run``."""

    def __init__(self, services: Services, on_refusal: Callable[[RefusalLine], None]) -> None:
        self._services = services
        self._max_body = services.settings.body_limit
        self._on_refusal = on_refusal
        self._listings = ListingCache()
        self._transports: _Transports | None = None

    @asynccontextmanager
    async def run(self, protocol: Protocol) -> AsyncIterator[None]:
        """Serve ``protocol`` inside the block."""
        plain = self._transport(protocol.server, json=True)
        streaming = self._transport(protocol.server, json=False)
        fast_path = FastPath({SERVER_INFO_META_KEY: protocol.server.server_info_stamp})
        # Tools that declare a header per argument need the SDK to compare both.
        tools = self._services.registry
        declaring = tools.kept.get("header arguments", lambda: [each.name for each in tools if _declares_header(each)])
        async with plain.run(), streaming.run():
            self._transports = _Transports(protocol, plain, streaming, fast_path, frozenset(declaring))
            yield

    def _transport(self, server: Server[Any], *, json: bool) -> StreamableHTTPSessionManager:
        # The gate has checked Host and Origin, by the same rules, before it said a word about vaults.
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        return StreamableHTTPSessionManager(
            server,
            json_response=json,
            stateless=True,
            security_settings=security,
            max_request_body_size=self._max_body,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["method"] != "POST":
                # Sessions and their streams do not exist here: nothing to GET, nothing to DELETE.
                raise Refusal(405, "invalid_argument", "use POST", ((b"allow", b"POST"),), reason="method")
            caller = caller_of(scope, self._services)
            request_body: RequestBody = scope["state"]["body"]
            body = await request_body.read()
        except Refusal as refusal:
            admission: Admission = scope["state"]["admission"]
            refusal.principal, refusal.vault = admission.principal.key, admission.vault
            self._on_refusal(line_of(refusal, scope))
            await respond(refusal, send)
            return
        if body is None:
            return  # the caller hung up before the request was whole
        scope["state"]["caller"] = caller
        await self._serve(scope, body, receive, send)

    async def _serve(self, scope: Scope, body: JsonBody, receive: Receive, send: Send) -> None:
        assert self._transports is not None, "called outside of run()"
        if self._services.settings.server.fast_path:
            learning = await self._go_round(self._transports, scope, body, send)
            if learning is None:
                return
            send = learning
        scope["headers"] = [
            header for header in scope["headers"] if header[0] in _HEADERS_READ or header[0][:4] == b"mcp-"
        ]
        await self._transports.transport(scope, body).handle_request(scope, receive, send)

    async def _go_round(self, transports: _Transports, scope: Scope, body: JsonBody, send: Send) -> Send | None:
        """Answer without the SDK and return None; or the ``send`` by which the SDK's answer teaches how."""
        caller: Caller = scope["state"]["caller"]
        if (listing := parse_listing_request(scope, (view_of(caller), caller.form), body)) is not None:
            if self._listings.knows(listing) and await self._answer_listing(listing, caller, send):
                return None
            return self._listings.recording(listing, send)
        if (call := transports.fast_call(scope, caller, body)) is None:
            return send
        if not transports.fast_path.knows(call):
            return transports.fast_path.learning(call, send)
        outcome = await transports.protocol.call(caller, call.name, call.arguments)
        await transports.fast_path.answer(call, outcome, caller.form, send)
        return None

    async def _answer_listing(self, request: ListingRequest, caller: Caller, send: Send) -> bool:
        """Answer from the cache, counted like a call. False above a rate: the SDK's way words the refusal."""
        try:
            with self._services.quotas.admit(caller.principal, caller.vault):
                await self._listings.answer(request, send)
        except (RateLimited, Overloaded):
            return False
        return True


@dataclass(frozen=True, slots=True)
class _Transports:
    """The ways a request may take while the route runs."""

    protocol: Protocol
    plain: StreamableHTTPSessionManager
    streaming: StreamableHTTPSessionManager
    fast_path: FastPath
    header_tools: frozenset[str]  # tools whose arguments may also be headers

    def fast_call(self, scope: Scope, caller: Caller, body: JsonBody) -> ParsedToolCall | None:
        """The request as a call that may go round the SDK. None where a person must be asked: only the SDK can."""
        if self.protocol.traced:
            return None
        call = parse_tool_call(scope, body)
        if call is None or call.name in self.header_tools or not self.protocol.may_call(caller, call.name):
            return None
        return None if self.protocol.asks(caller, call.name, call.arguments) else call

    def transport(self, scope: Scope, body: JsonBody) -> StreamableHTTPSessionManager:
        return self.streaming if _wants_stream(scope, body) else self.plain


def _declares_header(spec: ToolSpec) -> bool:
    return "x-mcp-header" in json.dumps(spec.input_schema)


def caller_of(scope: Scope, services: Services) -> Caller:
    """Who calls, as the gate found it, with the view this request asks for. Raises ``Refusal`` naming what does not
    fit: silently dropping a workspace would put memories where others see them."""
    admission: Admission = scope["state"]["admission"]
    era = DEFAULT_NEGOTIATED_VERSION
    about: dict[str, str] = {}
    program: str | None = None
    view = _parse_view_request(scope["query_string"])
    for name, value in scope["headers"]:
        if name == b"mcp-protocol-version":
            era = _ERAS.get(value, "")
        elif name in _CALLER_HEADERS:
            about[_CALLER_HEADERS[name]] = _label(name, value)
        elif name == b"user-agent":
            program = _client_program(value)
    try:
        entry = services.registry_cache.entry(admission.vault)
    except NotFound as failure:  # archived since the gate looked
        raise Refusal(404, failure.code, failure.message, reason="grant") from None
    return Caller(
        principal=admission.principal,
        vault=admission.vault,
        role=admission.role,
        transport="http",
        preset=first_preset(view.preset, admission.principal.preset, entry.preset),
        write_mode=strictest_mode(services.settings.server.write_mode, entry.write_mode, view.write_mode),
        form=view.form,
        era=era,
        request_id=str(uuid7()),
        workspace=about.get("workspace"),
        session=about.get("session"),
        client=about.get("client") or program,
        address=scope["client"][0] if scope.get("client") else None,
    )


@dataclass(frozen=True, slots=True)
class _ViewRequest:
    """What the URL asks for. A write mode can only be stricter than those of server and vault."""

    preset: str | None = None
    write_mode: str = "auto"
    form: AnswerForm = "both"


@lru_cache(maxsize=256)
def _parse_view_request(query: bytes) -> _ViewRequest:
    if not query:
        return _ViewRequest()
    asked = parse_qs(query.decode("latin-1"), keep_blank_values=True)
    form = cast("AnswerForm", _parse_choice(asked, "content", ("both", "text", "structured")) or "both")
    return _ViewRequest(
        _parse_choice(asked, "tools", PRESET_NAMES), _parse_choice(asked, "write_mode", WRITE_MODES) or "auto", form
    )


def _parse_choice(listing: Mapping[str, Sequence[str]], name: str, known: Sequence[str]) -> str | None:
    values = listing.get(name)
    if values is None:
        return None
    if len(values) != 1 or values[0] not in known:
        message = f"Validation error: {name} must be one of {', '.join(known)}"
        raise Refusal(400, "invalid_argument", message, reason="header")
    return values[0]


def _label(name: bytes, value: bytes) -> str:
    try:
        text = value.decode().strip()
    except UnicodeDecodeError:
        text = ""
    if not (0 < len(text) <= _LABEL and text.isprintable()):
        message = f"Validation error: {name.decode()} must be 1 to {_LABEL} printable characters"
        raise Refusal(400, "invalid_argument", message, reason="header")
    return text


def _client_program(agent: bytes) -> str | None:
    """The calling program, by the first word of its user agent. It tells the sessions of one person apart."""
    return (found := _PROGRAM.match(agent)) and found[0].decode("ascii")


def _wants_stream(scope: Scope, body: JsonBody) -> bool:
    # A memory may hold the word as well. That costs a little and changes nothing: a stream nobody writes to is
    # answered as JSON in the modern era, and as a stream the client said it accepts in the older one.
    if b'"progressToken"' not in body.data:
        return False
    return any(name == b"accept" and _STREAMS.search(value) for name, value in scope["headers"])
