"""MCP over stdin and stdout: the same server object, for one caller, in one vault.

Stdout is the wire. While serving, descriptor 1 points at stderr, so that a stray print, even from a C library or a
child process, cannot land between two messages; descriptor 0 points at nothing, so that no child reads requests.

The SDK's own reader is not used: its thread cannot be cancelled, so a server whose parent died while another process
still holds the pipe's other end would wait for ever. Here both threads are daemons, and whatever ends first ends all.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import queue
import signal
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import IO, Any, cast

import anyio
import structlog
from mcp.server.stdio import stdio_server
from uuid_utils import uuid7

from auth.principal import Principal
from server.activity_recorder import resolve_session
from server.call import Caller
from server.caller_views import first_preset, strictest_mode
from server.mcp_bridge.pending_requests import Message, PendingRequests, not_unicode_error, parse_message
from server.protocol import Context, make_protocol
from server.services import Services
from server.tool_registry import load_gradually
from vaults.errors import NotFound, StrongroomError

PARENT_POLL_S = 1.0
_WAITING_LINES = 64
_LAST_WORDS_S = 2.0
"""Seconds the last answers have to leave: their reader may be gone."""

_ARRIVE_S = 1.0
"""Seconds until a session begins without a call: opening the vault sooner would slow the first answers."""

_PR_SET_PDEATHSIG = 1

log = structlog.get_logger("server.stdio")

Serve = Callable[[Any, Any], Awaitable[None]]
"""Reads messages from the first stream and answers on the second."""


async def run_stdio(
    services: Services,
    principal: Principal,
    vault: str,
    preset: str | None = None,
    write_mode: str = "auto",
    workspace: str | None = None,
) -> None:
    """Serve until stdin ends, the parent dies or a signal asks to stop. ``preset`` None: the vault's own;
    ``workspace``: the folder the client works in.

    Main thread, once per process. Close ``services`` afterwards: that finishes a write under way.
    """
    identity = _CallerIdentity(
        services=services, principal=principal, vault=vault, preset=preset, write_mode=write_mode, workspace=workspace
    )
    protocol = make_protocol(services, identity.of)
    server = protocol.server

    async def serve(incoming: Any, outgoing: Any) -> None:
        await server.run(incoming, outgoing, server.create_initialization_options())

    session_task = asyncio.create_task(_keep_session(identity), name="session")
    try:
        await converse(serve, protocol.subscriptions.close, services.settings.body_limit)
    finally:
        session_task.cancel()


async def converse(serve: Serve, at_end: Callable[[], None], max_line: int) -> None:
    """Exchange messages over stdin and stdout until stdin ends, the parent dies or a signal asks to stop. ``serve``
    gets the incoming and the outgoing stream, ``at_end`` ends what would never end by itself; lines longer than
    ``max_line`` bytes are dropped."""
    loop = asyncio.get_running_loop()
    with _take_over_stdio() as (source, target), anyio.CancelScope() as scope, _stop_on_signals(loop, scope.cancel):
        pending = PendingRequests(at_end=at_end)
        answers = _Answers(target, pending, scope.cancel)
        lines = _Lines(source, pending, max_line, answers.write)
        parent_watch = asyncio.create_task(_watch_parent(os.getppid(), scope.cancel), name="parent")
        try:
            # The SDK uses no more of either than the methods they have.
            async with stdio_server(cast("Any", lines), cast("Any", answers)) as (incoming, outgoing):
                await serve(incoming, outgoing)
        finally:
            parent_watch.cancel()
            at_end()
            answers.close()


@dataclass(frozen=True, slots=True)
class _CallerIdentity:
    """Who calls: always the same caller, but its role and modes are looked up for each request."""

    services: Services
    principal: Principal
    vault: str
    preset: str | None
    write_mode: str
    workspace: str | None
    connection: str = field(default_factory=lambda: str(uuid7()))

    def of(self, ctx: Context) -> Caller:
        """The caller of a request."""
        return self.caller(ctx.protocol_version)

    def caller(self, era: str) -> Caller:
        """Raises ``NotFound`` when the vault is gone."""
        entry = self.services.registry_cache.entry(self.vault)
        role = self.services.role_in(self.principal, self.vault)
        if role is None:
            raise NotFound("no such vault, or no grant for it")
        return Caller(
            principal=self.principal,
            vault=self.vault,
            role=role,
            transport="stdio",
            preset=first_preset(self.preset, self.principal.preset, entry.preset),
            write_mode=strictest_mode(self.services.settings.server.write_mode, entry.write_mode, self.write_mode),
            era=era,
            request_id=str(uuid7()),
            workspace=self.workspace,
            connection=self.connection,
        )


@contextmanager
def _take_over_stdio() -> Iterator[tuple[IO[bytes], int]]:
    """The real stdin and stdout, under descriptors of their own that no child inherits."""
    reading, writing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        os.dup2(nothing, 0)
        try:
            os.dup2(2, 1)
        except OSError:  # started without stderr
            os.dup2(nothing, 1)
        sys.stdout.flush()  # what was printed before does not belong on the wire either
        # Never closed: a thread may still be reading it when the process ends.
        yield os.fdopen(reading, "rb", closefd=False), writing
    finally:
        sys.stdout.flush()
        os.dup2(writing, 1)
        os.dup2(reading, 0)
        os.close(nothing)


SendAnswer = Callable[[str], Awaitable[None]]
"""Sends one line."""


class _Lines:
    """Lines of ``source`` until it ends and every request is answered. One above ``limit`` bytes is dropped, like any
    that is not JSON."""

    def __init__(self, source: IO[bytes], pending: PendingRequests, limit: int, answer: SendAnswer) -> None:
        self._source = source
        self._answer = answer
        self._pending = pending
        self._limit = limit
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Queue[tuple[bytes, Message]] = asyncio.Queue(_WAITING_LINES)
        threading.Thread(target=self._pump, name="stdin", daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[str]:
        while True:
            line, message = await self._waiting.get()
            if not line:
                await self._pending.wait_until_answered()
                return
            if "refused" in message:
                await self._answer(not_unicode_error(message["id"]) + "\n")
                continue
            self._pending.received(message)
            yield line.decode("utf-8", "replace")

    def _pump(self) -> None:
        with suppress(RuntimeError):  # the loop is gone: nobody is left to read for
            while line := self._line():
                self._put(line)
            self._put(b"")

    def _put(self, line: bytes) -> None:
        item = line, parse_message(line)
        asyncio.run_coroutine_threadsafe(self._waiting.put(item), self._loop).result()

    def _line(self) -> bytes:
        line = self._source.readline(self._limit)
        while len(line) == self._limit and not line.endswith(b"\n"):
            line = self._source.readline(self._limit)
            if len(line) < self._limit or line.endswith(b"\n"):
                log.warning("line_too_long", limit=self._limit)
                return b"\n"
        return line


class _Answers:
    """Writes text to ``target``, in order, on a thread: a client that does not read holds up only its own answers."""

    def __init__(self, target: int, pending: PendingRequests, stop: Callable[[], None]) -> None:
        self._target = target
        self._pending = pending
        self._stop = stop
        self._loop = asyncio.get_running_loop()
        self._texts: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._pump, name="stdout", daemon=True)
        self._thread.start()

    async def write(self, text: str) -> None:
        done: asyncio.Future[None] = self._loop.create_future()
        self._texts.put((text.encode("utf-8", "replace"), done))
        await done
        self._pending.sent(text)

    async def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        self._texts.put(None)
        self._thread.join(_LAST_WORDS_S)

    def _pump(self) -> None:
        with suppress(RuntimeError):  # the loop is gone
            while (item := self._texts.get()) is not None:
                self._write(*item)

    def _write(self, text: bytes, done: asyncio.Future[None]) -> None:
        try:
            rest = memoryview(text)
            while rest:
                rest = rest[os.write(self._target, rest) :]
        except OSError:  # nobody reads any more
            self._loop.call_soon_threadsafe(self._stop)
        self._loop.call_soon_threadsafe(partial(_resolve, done))


def _resolve(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)


@contextmanager
def _stop_on_signals(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> Iterator[None]:
    """SIGTERM and SIGINT stop cleanly; on Linux the parent's death sends SIGTERM."""
    added = []
    for each in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError, ValueError, RuntimeError):  # Windows, or not the main thread
            loop.add_signal_handler(each, stop)
            added.append(each)
    if sys.platform == "linux" and signal.SIGTERM in added:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    try:
        yield
    finally:
        for each in added:
            loop.remove_signal_handler(each)


async def _keep_session(identity: _CallerIdentity) -> None:
    """Open a session at the start, and show from time to time that this process is alive."""
    services = identity.services
    await asyncio.sleep(_ARRIVE_S)
    loading = asyncio.create_task(load_gradually(services.registry), name="tools")
    try:
        while True:
            with suppress(StrongroomError):  # the vault is gone or closed: calls report it, and it may come back
                caller = identity.caller("")
                async with services.pool.lease(services.registry_cache.entry(caller.vault)) as vault:
                    await resolve_session(vault, caller, {})
            await asyncio.sleep(services.settings.sessions.heartbeat_s)
    finally:
        loading.cancel()


async def _watch_parent(parent: int, stop: Callable[[], None]) -> None:
    """Stop when orphaned, should the signal be missed: an orphan gets a new parent. Off POSIX the id never changes."""
    while True:
        await asyncio.sleep(PARENT_POLL_S)
        if os.getppid() != parent:
            stop()
