"""Any server takes any request: one for a vault that another server has is passed on to it, byte for byte.

There is one hop. Whoever gets a request from another server serves it, or says that it did nothing, and then the first
server looks again where the vault is. So nothing can go round in circles, and callers see a pause where a vault moves.
A request that was sent and whose answer did not come may have been done: only what changes nothing is sent again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ops.cluster_metrics import ForwardOutcome
from server.cluster.peer_identity import PeerServer
from server.http.peer_marks import (
    FORWARDED,
    NOT_SERVED,
    OWN,
    TOOK,
    ForwardedFor,
    was_forwarded,
    without_own,
)
from server.http.peers.peer_connection import PeerConnection, PeerGone, PeerRequest
from server.http.peers.peer_pool import PeerPool, PeerUnreachable
from server.http.request_head import Headers
from server.local_attempt import LocalAttempt, watching_attempt
from vaults.errors import StrongroomError, VaultUnavailable
from vaults.registry import VaultEntry

FIRST_WAIT_S = 0.02
LONGEST_WAIT_S = 0.25
"""Seconds until a vault is looked for again, where no server comes or goes: the first time, and at most."""

SLACK_S = 5.0
"""Seconds after the deadline of a call that its answer may still take to come."""

_HOP_BY_HOP = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"expect"}
)
_REPLACED = _HOP_BY_HOP | OWN | {b"content-length"}


class Whereabouts(Protocol):
    """Which server has which vault. ``vaults.cluster.held_vaults``."""

    def is_here(self, vault_id: str) -> bool:
        """Whether this server has it, as far as it knows; quick."""

    async def locate(self, entry: VaultEntry, *, forwarded: bool) -> PeerServer | None:
        """The server that has it or will; None: this one. Raises ``StrongroomError`` where nobody can tell."""

    def forget_location(self, vault_id: str) -> None:
        """The server that ``locate`` named could not be reached, or does not have it."""

    async def wait_for_others(self, at_most_s: float) -> None:
        """Return once other servers serve than now, or after so many seconds."""


@dataclass(frozen=True, slots=True)
class PassableRequest:
    """A request that may be served here or elsewhere. ``read_body`` gives all of it as often as it is asked, None where
    the caller hung up; ``receive`` begins with the body anew after ``rewind``. ``is_repeatable``: doing it twice is
    doing it once, as far as the body says. ``fail`` answers with a failure."""

    scope: Scope
    receive: Receive
    send: Send
    read_body: Callable[[], Awaitable[bytes | None]]
    rewind: Callable[[], None]
    is_repeatable: Callable[[bytes], bool]
    fail: Callable[[StrongroomError, bytes], Awaitable[None]]
    lasts: Callable[[bytes], bool] = lambda _: False
    """Whether the answer goes on for as long as somebody listens."""


class ForwardingObserver(Protocol):
    """Who counts."""

    def on_forwarded(self, outcome: ForwardOutcome, seconds: float) -> None:
        """What became of a request on its way. ``seconds``: what the way took besides the work, of an answered one."""


@dataclass(frozen=True, slots=True)
class Forwarding:
    """``deadline_s``: how long a call may look for its vault, and how long its work may take."""

    whereabouts: Whereabouts
    peers: PeerPool
    deadline_s: float
    observer: ForwardingObserver | None = None
    _lasting: set[_Relay] = field(default_factory=set)

    def end_lasting(self) -> None:
        """End the streams that are passed on, as this server is about to end: who listens asks another one."""
        for relay in tuple(self._lasting):
            relay.end()

    async def serve(self, entry: VaultEntry, request: PassableRequest, here: ASGIApp) -> None:
        """Serve a request here by ``here``, or where the vault is."""
        if self.whereabouts.is_here(entry.vault_id) and await self._serve_here(request, here):
            return
        if was_forwarded(request.scope):
            await self._serve_passed_on(entry, request, here)
        else:
            await self._find_and_serve(entry, request, here)

    async def _serve_passed_on(self, entry: VaultEntry, request: PassableRequest, here: ASGIApp) -> None:
        """Serve what another server sent, or say that nothing was done."""
        try:
            server = await self.whereabouts.locate(entry, forwarded=True)
        except StrongroomError as failure:
            await request.fail(failure, await request.read_body() or b"")
            return
        if server is None and await self._serve_here(request, here):
            return
        headers = [(NOT_SERVED, b"1"), (b"content-length", b"0")]
        await request.send({"type": "http.response.start", "status": 503, "headers": headers})
        await request.send({"type": "http.response.body", "body": b""})

    async def _find_and_serve(self, entry: VaultEntry, request: PassableRequest, here: ASGIApp) -> None:
        until, wait = time.monotonic() + self.deadline_s, FIRST_WAIT_S
        body = await request.read_body()
        if body is None:
            return
        try:
            while True:
                server = await self.whereabouts.locate(entry, forwarded=False)
                if server is None:
                    if await self._serve_here(request, here):
                        return
                elif await self._pass_on(server, request, body):
                    return
                self.whereabouts.forget_location(entry.vault_id)
                if time.monotonic() + wait > until:
                    self._count("refused", None)
                    raise VaultUnavailable("the vault is moving between servers", hint="call again")
                await self.whereabouts.wait_for_others(wait)
                wait = min(2 * wait, LONGEST_WAIT_S)
        except StrongroomError as failure:
            await request.fail(failure, body)

    async def _serve_here(self, request: PassableRequest, here: ASGIApp) -> bool:
        """False: the vault is elsewhere after all, and nothing was done or said."""
        request.rewind()
        with watching_attempt() as attempt:
            answer = _HeldBack(request.send, attempt)
            await here(dict(request.scope), request.receive, answer.send)  # which may change what it was given
        return not answer.is_dropped

    async def _pass_on(self, server: PeerServer, request: PassableRequest, body: bytes) -> bool:
        """False: nothing was done there, or it may be done again. Raises ``VaultUnavailable`` where it may have been
        done and must not be done twice."""
        relay = _Relay(request, _to_peer_request(request.scope, body), self.deadline_s + SLACK_S)
        if request.lasts(body):
            self._lasting.add(relay)
        try:
            async with self.peers.connected(server) as connection:
                is_answered = await relay.run(connection)
        except PeerUnreachable:
            self._count("retried", relay)
            return False
        except (PeerGone, TimeoutError) as failure:
            is_lost = isinstance(failure, PeerGone) and failure.answered
            may_repeat = not is_lost and request.is_repeatable(body)
            self._count("retried" if may_repeat else "broken", relay)
            if is_lost:
                return True  # left without its end, so the caller's connection is closed as well
            if may_repeat:
                return False
            message = "the server that has the vault did not answer; whether the call was done is not known"
            raise VaultUnavailable(message, hint="look whether it was done, then call again") from None
        finally:
            self._lasting.discard(relay)
        self._count("answered" if is_answered else "retried", relay)
        return is_answered

    def _count(self, outcome: ForwardOutcome, relay: _Relay | None) -> None:
        if self.observer is not None:
            self.observer.on_forwarded(outcome, relay.added_s if relay else 0.0)


@dataclass(slots=True, eq=False)
class _Relay:
    """One request on its way to another server, and the answer on its way back."""

    request: PassableRequest
    sent: PeerRequest
    limit_s: float  # until the head of the answer has come
    added_s: float = 0.0
    is_over: bool = False
    is_ended: bool = False
    _connection: PeerConnection | None = None

    def end(self) -> None:
        """End the answer as if it were whole."""
        self.is_ended = True
        if self._connection is not None:
            self._connection.abort()

    async def run(self, connection: PeerConnection) -> bool:
        """False: the other server did nothing. A caller who hangs up ends it there as well. Raises ``PeerGone``,
        ``TimeoutError``."""
        self._connection = connection
        leaving = asyncio.ensure_future(wait_until_gone(self.request.receive))
        leaving.add_done_callback(lambda _: None if self.is_over else connection.abort())
        try:
            return await self._run(connection)
        except PeerGone as gone:
            if leaving.done():
                return True  # nobody is there to be told
            if self.is_ended and gone.answered:
                await self.request.send({"type": "http.response.body", "body": b""})
                return True
            raise
        finally:
            self.is_over = True  # the connection may be another request's before the task is told
            leaving.cancel()

    async def _run(self, connection: PeerConnection) -> bool:
        started = time.perf_counter()
        async with asyncio.timeout(self.limit_s):
            status, headers = await connection.ask(self.sent)
        if any(name == NOT_SERVED for name, _ in headers):
            async for _ in connection.chunks():
                pass
            return False
        took = next((float(value) for name, value in headers if name == TOOK), 0.0)
        self.added_s = max(0.0, time.perf_counter() - started - took)
        kept = [each for each in without_own(headers) if each[0] not in _HOP_BY_HOP]
        await self.request.send({"type": "http.response.start", "status": status, "headers": kept})
        async for chunk, more in connection.chunks():
            await self.request.send({"type": "http.response.body", "body": chunk, "more_body": more})
        return True


@dataclass(slots=True)
class _HeldBack:
    """Keeps the head of an answer until there is something after it: by then it is known whether the vault was here."""

    _send: Send
    _attempt: LocalAttempt
    _head: Message | None = field(default=None)
    is_dropped: bool = False

    async def send(self, message: Message) -> None:
        if self.is_dropped:
            return
        if message["type"] == "http.response.start":
            self._head = message
            return
        if self._head is not None:
            if self._attempt.did_nothing:
                self.is_dropped = True
                return
            head, self._head = self._head, None
            await self._send(head)
        await self._send(message)


async def wait_until_gone(receive: Receive) -> None:
    """Return when the caller has hung up."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _to_peer_request(scope: Scope, body: bytes) -> PeerRequest:
    target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
    headers: Headers = [each for each in scope["headers"] if each[0] not in _REPLACED]
    headers.append((FORWARDED, ForwardedFor.of(scope).encode()))
    headers.append((b"content-length", b"%d" % len(body)))
    lines = [scope["method"].encode("latin-1") + b" " + target + b" HTTP/1.1"]
    lines += [name + b": " + value for name, value in headers]
    return PeerRequest(b"\r\n".join([*lines, b"", b""]), body, has_answer_body=scope["method"] != "HEAD")
