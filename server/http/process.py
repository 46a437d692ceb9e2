"""One serving process: uvicorn, with a shutdown that begins at the signal and ends in time.

uvicorn alone waits for open streams before it tells the application anything, dies *of* the signal it handled, and
may wait for ever. Here the application's ``drain`` hook runs at once, calls in flight get most of the grace period,
closing gets the rest, and then the process exits, whatever hangs. What was acknowledged is on disk by then.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, MutableMapping
from functools import partial
from types import FrameType
from typing import Any, cast

import structlog
import uvicorn

from server.http.certificate import certificate_end
from server.http.connection import CLOSE, Connection, ConnectionBounds
from server.http.connection_limiter import ConnectionLimiter
from server.http.interrupted_requests import InterruptedRequests
from server.http.options import AppFactory, ASGIApp, Instruments, ServeOptions
from server.http.reloading import SIGNAL, Terminal, let_through, reload_certificate
from server.listening_socket import BACKLOG
from vaults.errors import InvalidArgument, StrongroomError

EXIT_CLEAN, EXIT_UNCLEAN, EXIT_START_FAILED = 0, 1, 3
HAND_OVER_SHARE = 0.5  # of the grace period, in which a server of several has the others take its vaults over
CLOSING_SHARE = 0.2  # of the grace period, kept for the application to close in
MAX_OPEN_FILES = 65_536  # open at most besides connections: vaults, watched folders, TLS handshakes not done yet
FAREWELL_S = 0.5  # for the answers of cancelled calls to leave

log = structlog.get_logger("server.http")


class DrainingServer(uvicorn.Server):
    """uvicorn's server with an orderly end: ``drain`` stops accepting, ``hurry`` cancels the calls still in flight.
    ``hang_up`` reads certificate and keys again. One of several servers goes on accepting until the others have what
    it had: who calls it meanwhile is answered, here or there.

    All are safe in signal handlers. ``grace_s`` after ``drain`` the process exits with ``EXIT_UNCLEAN``, if it still
    runs.
    """

    def __init__(self, config: uvicorn.Config, options: ServeOptions) -> None:
        super().__init__(config)
        self._grace_s = options.ops.shutdown_grace_s
        self._options = options
        self._terminal = Terminal()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._certificate_end: float | None = None
        self._is_draining = False
        self._handing_over: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        if self._options.tls_cert is not None:
            self._certificate_end = certificate_end(self._options.tls_cert)
        await super().startup(sockets)
        self._tell_certificate()  # also that of a signal during the start
        if self.should_exit:
            self._tell_application()  # it had no hook when the signal came

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """First signal: drain. Second: hurry. Replaces uvicorn's, which re-raises the signal after a clean end."""
        del sig, frame
        if self._is_draining:
            self.hurry()
        else:
            self.drain()

    def drain(self) -> None:
        if self._is_draining:
            return
        self._is_draining = True
        self.should_exit = not self.started or "hand_over" not in self.lifespan.state
        last = threading.Timer(self._grace_s, _exit_now)
        last.daemon = True
        last.start()
        if self.started:
            self._on_loop(self._tell_application)

    def hang_up(self) -> None:
        if self._terminal.is_gone():
            self.drain()
        else:
            self._on_loop(self._reload)

    def hurry(self) -> None:
        self.should_exit = True
        self._on_loop(self._cancel_calls)

    def _on_loop(self, act: Callable[[], None]) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(act)

    def _reload(self) -> None:
        try:
            if self.config.ssl is not None:
                self._certificate_end = reload_certificate(self.config.ssl, self._options)
                self._tell_certificate()
                log.info("certificate_reloaded")
        except InvalidArgument as failure:  # the one that was read before goes on to hold
            log.warning("reload_failed", reason=failure.message)
        hook = self.lifespan.state.get("reload")
        if hook is not None:
            hook()

    def _tell_certificate(self) -> None:
        hook = self.lifespan.state.get("certificate")
        if hook is not None and self._certificate_end is not None:
            hook(self._certificate_end)

    def _tell_application(self) -> None:
        log.info("draining", calls=len(self.server_state.tasks))
        hook = self.lifespan.state.get("drain")
        if hook is not None:
            hook()
        if not self.should_exit:
            self._part_with_clients()
            self._handing_over = asyncio.create_task(self._hand_over(), name="hand-over-all")

    def _part_with_clients(self) -> None:
        """Have each connection end with its next answer, while new ones are still accepted: one that was kept would be
        closed in the end, perhaps when a request is on its way that nobody can tell then whether it was done."""
        self.config.encoded_headers.append(CLOSE)
        self.server_state.default_headers = [*self.server_state.default_headers, CLOSE]  # the next tick makes them anew

    async def _hand_over(self) -> None:
        try:
            await self.lifespan.state["hand_over"](self._grace_s * HAND_OVER_SHARE)
        except StrongroomError as failure:
            log.warning("not_handed_over", reason=failure.message)
        finally:
            self.should_exit = True

    def _cancel_calls(self) -> None:
        for task in tuple(self.server_state.tasks):
            task.cancel()
        # A task that had not begun answers nothing when cancelled, and a client may not read: both keep a connection.
        asyncio.get_running_loop().call_later(FAREWELL_S, self._abort_connections)

    def _abort_connections(self) -> None:
        for connection in tuple(self.server_state.connections):
            connection.transport.abort()


class WorkerServer(DrainingServer):
    """A worker's server: it obeys its supervisor's SIGTERM, not ^C, which a terminal sends to the whole group."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        del frame
        if sig == signal.SIGTERM:
            self.drain()


class _StartReport:
    """ASGI: keeps the exception that ended the lifespan, which uvicorn and Starlette only pass on as text."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        try:
            await self._app(scope, receive, send)
        except Exception:
            if scope["type"] == "lifespan":
                log.exception("lifespan_failed")
            raise


def _exit_now() -> None:
    log.error("drain_cut_off")
    os._exit(EXIT_UNCLEAN)


def uvicorn_config(app: ASGIApp, options: ServeOptions) -> uvicorn.Config:
    """Every option, explicitly: uvicorn's defaults fill in whatever is left out, some of them from the environment."""
    crowd = ConnectionLimiter(options.connections, options.share, options.trusted_proxies)
    http = partial(Connection, bounds=ConnectionBounds(crowd, options.head_timeout_s))
    grace = options.ops.shutdown_grace_s
    wrapped = _StartReport(InterruptedRequests(app, options.body_timeout_s))
    return uvicorn.Config(
        lambda: wrapped,
        factory=True,
        interface="asgi3",
        workers=1,
        loop=options.loop,
        http=cast("type[asyncio.Protocol]", http),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(options.trusted_proxies),
        forwarded_allow_ips=list(options.trusted_proxies),
        limit_concurrency=None,  # would refuse callers while other connections idle; ``ConnectionLimiter`` does not
        backlog=BACKLOG,
        timeout_keep_alive=options.keep_alive_s,
        timeout_graceful_shutdown=max(1, int(grace * (1 - CLOSING_SHARE))),
        ssl_certfile=options.tls_cert,
        ssl_keyfile=options.tls_key,
    )


def _raise_file_limit(connections: int) -> None:
    """Raise the soft limit of open files, as far as permitted, above what the connections need: at the limit not even
    an idle connection could be exchanged for a new one. (Windows has no such limit.)"""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + BACKLOG + MAX_OPEN_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def serve_in_process(
    make_app: AppFactory,
    instruments: Instruments,
    options: ServeOptions,
    listener: socket.socket,
    kind: type[DrainingServer] = DrainingServer,
) -> int:
    """Serve in this process until a signal; returns the exit code. The process is expected to end soon after."""
    _raise_file_limit(options.connections)
    server = kind(uvicorn_config(make_app(instruments), options), options)
    if kind is WorkerServer:
        signal.signal(signal.SIGUSR1, lambda *_: server.hurry())
    if SIGNAL is not None:
        signal.signal(SIGNAL, lambda *_: server.hang_up())
        let_through()
    try:
        server.run(sockets=[listener])
    except SystemExit:  # uvicorn's way to say that the lifespan failed
        return EXIT_START_FAILED
    return EXIT_UNCLEAN if server.lifespan.should_exit else EXIT_CLEAN  # set when the application could not close
