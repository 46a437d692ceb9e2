"""What it takes to listen: options, and the sockets bound before anything else starts."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Any, Literal, TypeAlias

from prometheus_client import CollectorRegistry

from ops.logs import CallLog
from ops.settings import OpsSettings
from vaults.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class Instruments:
    """What one serving process records with: the registry its metrics go into, and the log of its calls."""

    registry: CollectorRegistry
    calls: CallLog


ASGIApp: TypeAlias = Callable[..., Any]
AppFactory: TypeAlias = Callable[[Instruments], ASGIApp]
"""Builds the application of one process. Called in the process that serves, with logs configured and no loop running;
a top-level function or a frozen dataclass with ``__call__``, because workers get it pickled. The application's lifespan
state may carry ``"drain"``, a function of no arguments called on the loop as soon as shutdown begins (to end long
streams and report draining), ``"certificate"``, called with the end of the certificate that new connections see, in
seconds since 1970, and ``"refused"``, called with the ``RefusalLine`` of each request that does not reach
the application."""


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How to serve. Times in seconds."""

    ops: OpsSettings = field(default_factory=OpsSettings)
    workers: int = 1
    tls_cert: str | None = None
    tls_key: str | None = None
    trusted_proxies: tuple[str, ...] = ()  # addresses or networks whose X-Forwarded-* count
    loop: Literal["auto", "uvloop", "asyncio"] = "auto"
    connections: int = 1024  # per worker
    connections_per_address: int | None = None  # None: half of ``connections``
    keep_alive_s: int = 30
    head_timeout_s: float = 10.0
    body_timeout_s: float = 30.0

    @property
    def share(self) -> int:
        """Connections one address may hold of one worker; trusted proxies may hold all."""
        return self.connections_per_address or max(1, self.connections // 2)

    def check(self) -> None:
        """Raise ``InvalidArgument`` for what would otherwise fail late, or be ignored in silence."""
        for peer in self.trusted_proxies:
            try:
                ip_network(peer)
            except ValueError:
                raise InvalidArgument("trusted_proxies", f"has {peer!r}, not an address or a network") from None
        if (self.tls_cert is None) != (self.tls_key is None):
            raise InvalidArgument("tls_key" if self.tls_cert else "tls_cert", "is missing: TLS needs both files")
        if self.tls_cert is not None:
            _check_pair(self.tls_cert, self.tls_key)
        if self.workers < 1:
            raise InvalidArgument("workers", "must be at least 1")


def _check_pair(cert: str, key: str | None) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password=_no_password)
    except (OSError, ValueError) as error:
        raise InvalidArgument("tls_cert", "and tls_key are not a readable, matching PEM pair") from error


def _no_password() -> str:
    """Instead of OpenSSL's prompt on the terminal."""
    raise ValueError("the key is encrypted")


def address(listener: socket.socket) -> tuple[str, int]:
    """Host and port a socket really listens on."""
    host, port = listener.getsockname()[:2]
    return str(host), int(port)
