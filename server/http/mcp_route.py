"""The MCP application behind the gate: who calls and with which view, cached listings, then one of two transports.

Both are the SDK's, stateless, over one server object: one answers JSON at half the cost, the other streams. A request
is streamed when it asks for progress, which JSON cannot carry; ``subscriptions/listen`` streams by itself. Plain tool
calls whose envelope the SDK has accepted before go round it (``fast_path``).
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import SERVER_INFO_META_KEY
from starlette.types import Receive, Scope, Send

from ops.refusals import RefusalLine
from server.call import Caller
from server.caller_views import view_of
from server.http.fast_path import FastPath, ParsedToolCall, parse_tool_call
from server.http.gate import Admission
from server.http.http_caller import caller_of
from server.http.listing_cache import ListingCache, ListingRequest, parse_listing_request
from server.http.request_body import JsonBody, RequestBody
from server.http.request_head import Refusal, line_of, respond
from server.protocol import Protocol
from server.services import Services
from server.tool_spec import ToolSpec
from vaults.errors import Overloaded, RateLimited

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


def _wants_stream(scope: Scope, body: JsonBody) -> bool:
    # A memory may hold the word as well. That costs a little and changes nothing: a stream nobody writes to is
    # answered as JSON in the modern era, and as a stream the client said it accepts in the older one.
    if b'"progressToken"' not in body.data:
        return False
    return any(name == b"accept" and _STREAMS.search(value) for name, value in scope["headers"])
