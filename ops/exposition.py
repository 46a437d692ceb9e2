"""``GET /metrics`` on its own port: a thread with a listening socket, apart from the public application."""

from __future__ import annotations

import socket
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import structlog
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest

POLL_S = 0.1  # how soon close() is noticed

READS, AGAIN_S = 5, 0.02
"""Times the figures are read, and seconds between two: beside a worker that starts or ends, one of its files may be
half made or just gone."""

_HALF_READ = (OSError, ValueError, RuntimeError, struct.error)

log = structlog.get_logger("ops.metrics")


class MetricsServer:
    """Serves ``registry`` on ``listener``, a bound socket it takes over; ``close`` frees the port."""

    def __init__(self, registry: CollectorRegistry, listener: socket.socket) -> None:
        self._server = _MetricsHttpServer(registry, listener)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(POLL_S,), name="metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _MetricsHttpServer(ThreadingHTTPServer):
    def __init__(self, registry: CollectorRegistry, listener: socket.socket) -> None:
        super().__init__(listener.getsockname()[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.registry = registry
        self.server_activate()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002  the overridden method's own
        """In place of a traceback among lines of JSON. A scraper that went away is no news."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            log.exception("scrape_failed")


class _Handler(BaseHTTPRequestHandler):
    timeout = 5  # seconds for a whole request: a slow one must not hold its thread
    server: _MetricsHttpServer

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != "/metrics":
            self._answer(404, "text/plain", b"only GET /metrics\n")
            return
        self._answer(200, CONTENT_TYPE_PLAIN_0_0_4, read_figures(self.server.registry))

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        return "strongroom"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the overridden method's own name
        """Log nothing: a scrape every few seconds is no news."""


def read_figures(registry: CollectorRegistry) -> bytes:
    """All figures as Prometheus reads them."""
    for _ in range(READS - 1):
        try:
            return generate_latest(registry)
        except _HALF_READ:
            time.sleep(AGAIN_S)
    return generate_latest(registry)
