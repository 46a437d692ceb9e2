"""Logs refused requests: what was wrong and where to look, in a bounded number of lines.

A stranger decides how often this is called. So each address gets a few lines per reason and window, all together a
few more, and lines held back are reported as a count when the window ends. Metrics count every refusal.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from auth.errors import TokenFault
from ops.logs import CallLog

RefusalReason: TypeAlias = Literal[
    TokenFault,  # what was wrong with the token
    "missing",  # no token at all
    "scope",
    "grant",
    "which_vault",
    "vault_unavailable",  # grants cannot be read
    "host",
    "origin",
    "path",  # nothing is at this address, or it is written with percent signs
    "method",
    "header",  # one of our headers or query parameters does not fit
    "body",  # too large, or too many values in it
    "body_late",
    "json",  # a body that is no JSON object, or of another type
    "head",  # request line and headers too large
    "request",  # not HTTP/1.1
    "connections",  # all connections in use
    "crowded",  # an idle connection, closed to make room for another
]

REASONS: tuple[RefusalReason, ...] = get_args(RefusalReason)

HINTS: Mapping[RefusalReason, str] = {
    "issuer": "auth.issuers: no entry has this issuer, compared byte for byte",
    "key": "auth.issuers: jwks_url has no such key, or algorithms leaves its algorithm out",
    "keys_unavailable": "auth.issuers: jwks_url cannot be fetched",
    "signature": "auth.issuers: jwks_url belongs to another issuer, or the token was changed",
    "audience": "auth.issuers: audiences",
    "not_yet_valid": "auth.leeway_s, or the clocks differ",
    "scope": "auth.issuers: require_scope, or have the issuer send the scope",
    "grant": "strongroom grant set",
    "host": "server.allowed_hosts or auth.public_url",
    "origin": "server.allowed_origins",
    "body": "server.max_body",
    "connections": "server.connections, server.connections_per_address, server.trusted_proxies",
    "crowded": "server.connections, server.connections_per_address, server.trusted_proxies",
}
"""Where an operator should look: a setting or a command. Reasons without a hint are for the caller to fix."""

WINDOW_S = 10.0
LINES_EACH = 5
LINES_ALL = 50


@dataclass(frozen=True, slots=True)
class RefusalLine:
    """The canonical line of one refusal. ``None`` leaves a key out."""

    reason: RefusalReason
    status: int | None  # None: nothing was answered
    address: str | None = None  # the peer's, or the one a trusted proxy names
    principal: str | None = None  # ``Principal.key``
    vault: str | None = None  # only the name of one that exists
    host: str | None = None  # the request's Host header
    found: str | None = None  # what a verified token says instead of what is expected


class RefusalLog:
    """Writes the lines of one process, on its event loop; ``count`` is called with every reason."""

    def __init__(
        self,
        calls: CallLog,
        count: Callable[[RefusalReason], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._calls = calls
        self._count = count
        self._clock = clock
        self._ends = float("-inf")
        self._written: Counter[tuple[RefusalReason, str | None]] = Counter()
        self._held: Counter[RefusalReason] = Counter()

    def write(self, line: RefusalLine) -> None:
        """Count one refusal, and write its line unless there were too many like it."""
        self._count(line.reason)
        now = self._clock()
        if now >= self._ends:
            self.flush()
            self._written.clear()
            self._ends = now + WINDOW_S
        kind = (line.reason, line.address)
        if self._written[kind] >= LINES_EACH or self._written.total() >= LINES_ALL:
            if not self._held:
                asyncio.get_running_loop().call_later(self._ends - now, self.flush)
            self._held[line.reason] += 1
            return
        self._written[kind] += 1
        self._calls.warn(
            "refused",
            status=line.status,
            reason=line.reason,
            principal=line.principal,
            vault=line.vault,
            address=line.address,
            host=line.host,
            found=line.found,
            hint=HINTS.get(line.reason),
        )

    def flush(self) -> None:
        """Log how many lines were held back, by reason."""
        counts, self._held = self._held, Counter()
        for reason, count in sorted(counts.items()):
            self._calls.warn("refusals_held_back", reason=reason, count=count)
