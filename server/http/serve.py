"""Run the HTTP server: bind first, then serve here or under a supervisor, then drain.

::

    listener, metrics = bind(host, port), bind(metrics_host, metrics_port)
    print(address(listener))
    sys.exit(run_server(make_app, options, listener, metrics))

Exit codes: 0 drained and closed; 1 cut off at the end of the grace period, or not closed cleanly; 3 the application
did not start (the reason is the last log line).
"""

from __future__ import annotations

import shutil
import socket
import sys
import tempfile
from pathlib import Path

import structlog
from prometheus_client import CollectorRegistry, ProcessCollector

from ops import worker_metrics
from ops.exposition import MetricsServer
from ops.logs import CallLog, configure
from ops.metrics import RESTARTS
from server.http.options import AppFactory, Instruments, ServeOptions, address
from server.http.process import serve_in_process
from server.http.workers import Supervisor, WorkerConfig
from server.listening_socket import bind
from vaults.errors import InvalidArgument

__all__ = ["AppFactory", "Instruments", "ServeOptions", "address", "bind", "run_server"]

log = structlog.get_logger("server.http")


def run_server(
    make_app: AppFactory, options: ServeOptions, listener: socket.socket, metrics: socket.socket | None = None
) -> int:
    """Serve until a signal, and return the exit code. Takes over both sockets.

    Main thread only. The process should end after it: a watchdog may still end it when the grace period is over.
    Raises ``InvalidArgument`` for options that do not fit, and what ``make_app`` raises (with workers: exit code 3).
    """
    options.check()
    calls = configure(options.ops)
    host, port = address(listener)
    log.info("serving", host=host, port=port, workers=options.workers, tls=options.tls_cert is not None)
    code = _serve(make_app, options, listener, metrics, calls)
    log.info("stopped", code=code)
    return code


def _serve(
    make_app: AppFactory,
    options: ServeOptions,
    listener: socket.socket,
    metrics: socket.socket | None,
    calls: CallLog,
) -> int:
    if options.workers > 1:
        return _serve_with_workers(make_app, options, listener, metrics)
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    exposed = MetricsServer(registry, metrics) if metrics is not None else None
    try:
        return serve_in_process(make_app, Instruments(registry, calls), options, listener)
    finally:
        if exposed is not None:
            exposed.close()


def _serve_with_workers(
    make_app: AppFactory, options: ServeOptions, listener: socket.socket, metrics: socket.socket | None
) -> int:
    if sys.platform == "win32":
        raise InvalidArgument("workers", "must be 1 on Windows")
    folder = Path(tempfile.mkdtemp(prefix="strongroom-metrics-"))
    restarts = RESTARTS.register(None)
    supervisor = Supervisor(WorkerConfig(make_app, options, folder), listener, restarts)
    registry = worker_metrics.merged_registry(folder, supervisor.pids)
    registry.register(restarts)
    exposed = MetricsServer(registry, metrics) if metrics is not None else None
    try:
        return supervisor.run()
    finally:
        if exposed is not None:
            exposed.close()
        shutil.rmtree(folder, ignore_errors=True)
