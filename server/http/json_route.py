"""Tools as plain JSON, behind the gate: a call is a POST of its arguments, the answer its result.

A call takes the way of an MCP call from here on (``Protocol.call``), so grants, consent, quotas, budgets, audit and log
are the same. What differs is the envelope: a failure is an HTTP status with the error that MCP has in its result.
Nobody can be asked through this door, so a call that needs a person is made again with ``confirmed``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import ceil
from typing import Any

from starlette.types import Receive, Scope, Send

from ops.refusals import RefusalLine
from server import errors
from server.call import Caller
from server.dispatch import CallOutcome
from server.http.gate import Admission
from server.http.http_caller import caller_of
from server.http.json_arguments import read_arguments
from server.http.request_head import Headers, Refusal, line_of, respond
from server.http.vault_description import VaultDescriptions
from server.http.vault_paths import METHODS, VaultPath
from server.protocol import Protocol
from server.services import Services
from server.toolsets.old_tool import NOT_VALID
from vaults.errors import StrongroomError

STATUS: Mapping[str, int] = {
    **errors.HTTP_STATUS,
    NOT_VALID: 422,  # the same as invalid_argument, of a tool of another system
}
"""The HTTP status of each code a call may end with."""


class JsonRoute:
    """ASGI, behind the gate, for the doors ``tool`` and ``openapi``. ``url``: where clients find this server."""

    def __init__(
        self, services: Services, protocol: Protocol, url: str, on_refusal: Callable[[RefusalLine], None]
    ) -> None:
        self._services = services
        self._protocol = protocol
        self._descriptions = VaultDescriptions(services, url)
        self._on_refusal = on_refusal

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        place: VaultPath = scope["state"]["place"]
        try:
            _check_method(scope, METHODS[place.door])
            caller = _caller(scope, self._services)
            if place.door == "openapi":
                await self._describe(scope, caller, send)
                return
            arguments = await read_arguments(scope)
        except Refusal as refusal:
            admission: Admission = scope["state"]["admission"]
            refusal.principal, refusal.vault = admission.principal.key, admission.vault
            self._on_refusal(line_of(refusal, scope))
            await respond(refusal, send)
            return
        if arguments is not None:  # else the caller hung up before the request was whole
            await self._call(caller, place.tool or "", arguments, send)

    async def _call(self, caller: Caller, tool: str, arguments: Mapping[str, Any], send: Send) -> None:
        outcome = await self._protocol.call(caller, tool, arguments)
        if outcome.unknown_tool:
            await _send(send, 404, _no_such_tool(tool))
            return
        await _send(send, 200 if outcome.code is None else STATUS[outcome.code], outcome.content, _wait(outcome))

    async def _describe(self, scope: Scope, caller: Caller, send: Send) -> None:
        """Not a tool call, yet it costs like one, so it is admitted."""
        try:
            with self._services.quotas.admit(caller.principal, caller.vault):
                body = await self._descriptions.describe(caller)
        except StrongroomError as failure:
            content = errors.to_content(failure)
            await _send(send, STATUS[failure.code], content, _wait(CallOutcome(content, "", failure.code)))
            return
        await _send_body(send, 200, body, with_body=scope["method"] != "HEAD")


def _check_method(scope: Scope, method: bytes) -> None:
    taken = (b"GET", b"HEAD") if method == b"GET" else (method,)
    if scope["method"].encode("latin-1") not in taken:
        allow = ((b"allow", b", ".join(taken)),)
        raise Refusal(405, "invalid_argument", f"use {method.decode()}", allow, reason="method")


def _caller(scope: Scope, services: Services) -> Caller:
    caller = caller_of(scope, services)
    if caller.form == "text":
        message = "Validation error: content must be structured or left out: this address answers in JSON"
        raise Refusal(400, "invalid_argument", message, reason="header")
    return replace(caller, era="")  # it speaks no revision of MCP, whatever its headers say


def _no_such_tool(name: str) -> dict[str, Any]:
    """The same for a tool that does not exist and for one above the caller's role."""
    message, hint = f"Unknown tool: {name[:100]}", "GET openapi.json, beside tools/, lists those there are for you"
    return {"error": {"code": "not_found", "message": message, "retryable": False, "hint": hint}}


def _wait(outcome: CallOutcome) -> Headers:
    """When to try again, where the failure says so."""
    error = outcome.content.get("error") if not outcome.ok else None
    details = error.get("details", {}) if isinstance(error, dict) else {}
    after = details.get("retry_after_s")
    return [(b"retry-after", str(max(1, ceil(after))).encode())] if isinstance(after, int | float) else []


async def _send(send: Send, status: int, content: Mapping[str, Any], more: Headers | None = None) -> None:
    await _send_body(send, status, json.dumps(content, separators=(",", ":")).encode(), more)


async def _send_body(
    send: Send, status: int, body: bytes, more: Headers | None = None, *, with_body: bool = True
) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        *(more or ()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body if with_body else b""})
