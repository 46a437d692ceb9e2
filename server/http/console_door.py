"""The door to the console. What is behind it is imported at the first request for it, and every page asks dispatch.

Host and Origin are checked as at the gate; no page of another origin reads anything here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from starlette.types import ASGIApp, Receive, Scope, Send

from server.http.gate import GatePolicy
from server.http.late_application import LateApplication
from server.http.peer_marks import was_forwarded
from server.http.request_head import Refusal, RequestHead, line_of, respond
from server.protocol import Protocol
from server.services import Services
from vaults.errors import StrongroomError

BODY_LIMIT = 1024 * 1024
"""Bytes of a form: the longest memory, of characters that take twelve bytes each there, fits."""


_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/\\\0")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})?")


def is_console_path(path: str) -> bool:
    """Whether this door leads there."""
    return path in ("/", "/ui") or path.startswith("/ui/")


def is_console_address(raw_path: bytes) -> bool:
    """Whether an address is written as pages write it. Notes and people may have spaces and umlauts in their names, but
    what needs no escape has none, nor has a slash: what looks like one segment to a proxy must not be two to us."""
    escapes = _ESCAPE.findall(raw_path)
    return all(each and bytes.fromhex(each.decode())[0] not in _PLAIN for each in escapes)


class ConsoleDoor:
    """ASGI. ``url``: where people find this server; ``policy``: that of the gate, whose authenticator is None where
    everybody is the owner; ``sources``: of each setting that was set, by what."""

    def __init__(
        self, services: Services, protocol: Protocol, url: str, policy: GatePolicy, sources: Mapping[str, str]
    ) -> None:
        self._services, self._protocol, self._url, self._policy = services, protocol, url, policy
        self._sources = sources
        self._late = LateApplication(services, "the console", self._make)
        self._close: Callable[[], None] | None = None

    def close(self) -> None:
        """End what is open for as long as its page is, as soon as a shutdown begins."""
        if self._close is not None:
            self._close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        head = RequestHead.of(scope)
        try:
            if not was_forwarded(scope):  # else the server that it came to has looked
                head.check_origin(self._policy.allowed_hosts, self._policy.allowed_origins)
            head.check_length(BODY_LIMIT)
            try:
                await self._policy.access_cache.catch_up()
            except StrongroomError as failure:
                retry = ((b"retry-after", b"5"),)
                raise Refusal(503, failure.code, failure.message, retry, reason="vault_unavailable") from None
            application = await self._late.open()
        except Refusal as refusal:
            self._policy.on_refusal(line_of(refusal, scope))
            await respond(refusal, send)
            return
        await application(scope, receive, send)

    async def _make(self, seal: bytes) -> ASGIApp:
        from mcp.server.transport_security import RequestBodyLimitMiddleware

        from server.ui.application import make_console
        from server.ui.parts import ConsoleParts

        signs_in = self._policy.authenticator is not None
        parts = ConsoleParts(self._services, self._protocol.call, self._url, seal, signs_in, self._sources)
        self._close = parts.streams.close
        return RequestBodyLimitMiddleware(make_console(parts), BODY_LIMIT)
