"""What is read of a request before anything is believed: path, headers, length; and refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.types import Scope, Send

from ops.refusals import RefusalLine, RefusalReason

Headers = list[tuple[bytes, bytes]]

_PORT = re.compile(r"[0-9]{1,5}")
_LABEL = re.compile(rb"[a-z0-9_-]+\.(?P<parent>[a-z0-9_.-]+)(?::(?P<port>[0-9]{1,5}))?")
_HOST = re.compile(rb"[A-Za-z0-9.:\[\]-]{1,253}")
"""A stranger's Host header may be logged if it has this form: one an operator would add to the settings."""

_HEADERS_READ = (b"authorization", b"host", b"origin", b"content-length")


class Refusal(Exception):
    """One answer of a door: status, stable code, a message without anything the caller may not know.

    ``reason`` is for metrics and logs, from a closed set.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        headers: tuple[tuple[bytes, bytes], ...] = (),
        *,
        reason: RefusalReason,
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.reason: RefusalReason = reason
        self.principal: str | None = None  # for the log, where known: ``Principal.key``,
        self.vault: str | None = None  # the name of a vault that exists,
        self.found: str | None = None  # and what a verified token says instead of what is expected
        self.headers = headers
        self.body = json.dumps({"error": {"code": code, "message": message}}, ensure_ascii=False).encode()


def headers_of(refusal: Refusal) -> Headers:
    """All headers of its answer."""
    return [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(refusal.body)).encode()),
        (b"cache-control", b"no-store"),
        *refusal.headers,
    ]


def line_of(refusal: Refusal, scope: Scope) -> RefusalLine:
    """The log line of a refused request."""
    client = scope.get("client")
    hosts = [value for name, value in scope["headers"] if name == b"host"] if refusal.reason == "host" else []
    return RefusalLine(
        reason=refusal.reason,
        status=refusal.status,
        address=client[0] if client else None,
        principal=refusal.principal,
        vault=refusal.vault,
        host=hosts[0].decode("latin-1") if len(hosts) == 1 and _HOST.fullmatch(hosts[0]) else None,
        found=refusal.found,
    )


async def respond(refusal: Refusal, send: Send) -> None:
    """Send a refusal. The same refusal is the same bytes."""
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers_of(refusal)})
    await send({"type": "http.response.body", "body": refusal.body})


@dataclass(frozen=True, slots=True)
class RequestHead:
    """``headers`` are the request's, with blanks after ``Mcp-*`` values stripped: httptools keeps them and the SDK
    then refuses the request. Repeated headers stay repeated."""

    path: str
    headers: Headers
    authorization: Sequence[bytes]
    hosts: Sequence[bytes]
    origins: Sequence[bytes]
    lengths: Sequence[bytes]

    @classmethod
    def of(cls, scope: Scope) -> RequestHead:
        """One pass over the headers (lower-case names, as ASGI gives them)."""
        found: dict[bytes, list[bytes]] = {name: [] for name in _HEADERS_READ}
        headers: Headers = scope["headers"]
        padded = False
        for name, value in headers:
            if name in found:
                found[name].append(value)
            elif name.startswith(b"mcp-") and value != value.strip(b" \t"):
                padded = True
        if padded:
            headers = [(n, v.strip(b" \t") if n.startswith(b"mcp-") else v) for n, v in headers]
        path: str = scope["path"]
        root = scope.get("root_path", "")
        if root and path.startswith(f"{root}/"):
            path = path[len(root) :]
        return cls(path, headers, *found.values())

    def check_origin(self, hosts: Sequence[str], origins: Sequence[str]) -> None:
        """The SDK's check of Host and Origin, done first: its own comes after vault and grant were looked up, and a
        page behind DNS rebinding would learn from the answers which vaults exist. Both are in lower case, exact or
        ``name:*`` for any port; a host may begin with ``*.`` for any one label. Raises 421 or 403."""
        if len(self.hosts) != 1 or not (_is_allowed(self.hosts[0], hosts) or _is_covered(self.hosts[0], hosts)):
            message = "this server does not go by that host name: server.allowed_hosts or auth.public_url must name it"
            raise Refusal(421, "invalid_argument", message, reason="host")
        if self.origins and not (len(self.origins) == 1 and _is_allowed(self.origins[0], origins)):
            message = "requests from this origin are not allowed: server.allowed_origins does not name it"
            raise Refusal(403, "forbidden", message, reason="origin")

    def check_length(self, limit: int) -> None:
        """Refuse an announced body above ``limit`` bytes. One that announces nothing is capped while it is read."""
        for length in self.lengths:
            if not re.fullmatch(rb"[0-9]{1,18}", length.strip()) or int(length) > limit:
                raise too_large(limit)

    def one(self, name: bytes) -> str | None:
        """The value of a header that occurs exactly once."""
        values = [value for each, value in self.headers if each == name]
        return values[0].decode("latin-1") if len(values) == 1 else None


def too_large(limit: int) -> Refusal:
    """The refusal of a body above ``limit`` bytes."""
    return Refusal(413, "too_large", f"the request body is larger than {limit} bytes", reason="body")


def _is_allowed(value: bytes, patterns: Sequence[str]) -> bool:
    text = value.decode("latin-1").lower()
    name, _, port = text.rpartition(":")
    return (text in patterns and "*" not in text) or (_PORT.fullmatch(port) is not None and f"{name}:*" in patterns)


def _is_covered(host: bytes, patterns: Sequence[str]) -> bool:
    """Whether a wildcard covers it: ``*.`` stands for one label, as in a certificate."""
    found = _LABEL.fullmatch(host.lower())
    if found is None:
        return False
    parent, port = found["parent"].decode(), found["port"]
    return f"*.{parent}:*" in patterns or (port is None and f"*.{parent}" in patterns)
