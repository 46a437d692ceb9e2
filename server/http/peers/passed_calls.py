"""Tool calls and searches that begin in this process, of pages, commands and other vaults: made where the vault is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.call import Caller
from server.call_routes import ElsewhereVault
from server.cluster.parts import Cluster
from server.cluster.peer_identity import PeerServer
from server.dispatch import CallOutcome
from server.http.peer_marks import was_forwarded
from server.http.peers.call_messages import (
    PassedCall,
    PassedCaller,
    PassedSearch,
    load_answer,
    load_failure,
    load_outcome,
    load_vaults,
    to_failed_outcome,
)
from server.http.peers.forwarding import Forwarding, PassableRequest
from server.local_attempt import watching_attempt
from server.services import Services
from vaults.domain.retrieval.hybrid_search import SearchAnswer, SearchRequest
from vaults.errors import NotFound, StrongroomError

CALL_PATH = "/cluster/call"
SEARCH_PATH = "/cluster/search"
VAULTS_PATH = "/cluster/vaults"

LOOK_S = 2.0
"""Seconds that other servers have to say which vaults they have, until a page does without."""

_MADE_HERE = 204
"""No server answers so: it has something to say."""


class PassedCalls:
    """The routes of ``server.call_routes``."""

    def __init__(self, forwarding: Forwarding, cluster: Cluster, services: Services) -> None:
        self._forwarding = forwarding
        self._cluster = cluster
        self._services = services

    async def vaults(self) -> Mapping[str, ElsewhereVault]:
        """``VaultsRoute``."""
        membership = self._cluster.membership
        others = [each for each in membership.servers if each.certificate and each.id != membership.id]
        found = await asyncio.gather(*(self._ask_for_vaults(each) for each in others))
        return {vault: what for each in found for vault, what in each.items()}

    async def _ask_for_vaults(self, server: PeerServer) -> Mapping[str, ElsewhereVault]:
        with suppress(ConnectionError, TimeoutError, StrongroomError):
            async with asyncio.timeout(LOOK_S):
                return load_vaults(await self._forwarding.peers.fetch(server, VAULTS_PATH))
        return {}

    async def call(
        self, caller: Caller, tool: str, arguments: Mapping[str, Any], here: Callable[[], Awaitable[CallOutcome]]
    ) -> CallOutcome:
        """``CallRoute``."""
        try:
            entry = self._services.registry_cache.entry(caller.vault)
        except NotFound:  # which dispatch says in its own words
            return await here()
        if self._forwarding.whereabouts.is_here(entry.vault_id):
            with watching_attempt() as attempt:
                outcome = await here()
            if not attempt.did_nothing:
                return outcome
        spec = self._services.registry.get(tool)
        reads = spec is not None and not spec.action_of(arguments).writes
        passed = PassedCall(caller=PassedCaller.model_validate(caller), tool=tool, arguments=dict(arguments))
        exchange = _Exchange(CALL_PATH, passed, here, is_repeatable=reads)
        await self._forwarding.serve(entry, exchange.request, exchange.make_here)
        return _outcome_of(exchange)

    async def search(self, caller: Caller, vault: str, request: SearchRequest) -> SearchAnswer | None:
        """``SearchRoute``."""
        entry = self._services.registry_cache.entry(vault)
        if self._forwarding.whereabouts.is_here(entry.vault_id):
            return None
        passed = PassedSearch(caller=PassedCaller.model_validate(caller), vault=vault, request=request)
        exchange = _Exchange(SEARCH_PATH, passed, _say_here, is_repeatable=True)
        await self._forwarding.serve(entry, exchange.request, exchange.make_here)
        return None if exchange.was_made_here else load_answer(exchange.require_answer())

    async def stream(self, vault: str, scope: Scope) -> ASGIApp | None:
        """``StreamRoute``."""
        entry, whereabouts = self._services.registry_cache.entry(vault), self._forwarding.whereabouts
        try:
            if await whereabouts.locate(entry, forwarded=was_forwarded(scope)) is None:
                return None
        except StrongroomError:
            return _ask_again

        async def pass_on(scope: Scope, receive: Receive, send: Send) -> None:
            async def read() -> bytes:
                return b""

            async def fail(_failure: StrongroomError, _body: bytes) -> None:
                await _ask_again(scope, receive, send)

            request = PassableRequest(
                scope, receive, send, read, lambda: None, is_repeatable=lambda _: True, fail=fail, lasts=lambda _: True
            )
            await self._forwarding.serve(entry, request, _ask_again)

        return pass_on


def _outcome_of(exchange: _Exchange) -> CallOutcome:
    if exchange.was_made_here:
        made: CallOutcome = exchange.made
        return made
    try:
        return load_outcome(exchange.require_answer())
    except StrongroomError as failure:
        return to_failed_outcome(failure)


async def _ask_again(_scope: Scope, _receive: Receive, send: Send) -> None:
    """An empty stream: browsers give up on a failure, and come again after an end."""
    headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"retry: 1000\n\n"})


async def _say_here() -> bool:
    return True


@dataclass(slots=True)
class _Exchange:
    """A request of this server itself, and what came of it: made by ``here``, or answered, or failed."""

    path: str
    passed: BaseModel
    here: Callable[[], Awaitable[Any]]
    is_repeatable: bool
    made: Any = None
    failure: StrongroomError | None = None
    status: int = 0
    answer: bytearray = field(default_factory=bytearray)

    @property
    def request(self) -> PassableRequest:
        """It, as ``Forwarding`` takes it."""
        body = self.passed.model_dump_json().encode()

        async def read() -> bytes:
            return body

        async def fail(failure: StrongroomError, _body: bytes) -> None:
            self.failure = failure

        scope: Scope = {
            "type": "http", "method": "POST", "scheme": "http", "client": None, "state": {},
            "raw_path": self.path.encode(), "query_string": b"", "headers": [],
        }  # fmt: skip
        return PassableRequest(
            scope,
            _never,
            self._note,
            read_body=read,
            rewind=lambda: None,
            is_repeatable=lambda _: self.is_repeatable,
            fail=fail,
        )

    @property
    def was_made_here(self) -> bool:
        """Whether ``made`` is what came of it: what was tried here and dropped is not."""
        return self.status == _MADE_HERE

    def require_answer(self) -> bytes:
        """What the other server answered. Raises why there is none."""
        if self.failure is not None:
            raise self.failure
        if self.status != 200:
            raise load_failure(bytes(self.answer))
        return bytes(self.answer)

    async def make_here(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """ASGI, as far as ``Forwarding`` asks."""
        self.made = await self.here()
        await send({"type": "http.response.start", "status": _MADE_HERE, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def _note(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            self.answer += message.get("body", b"")


async def _never() -> Message:
    """Nobody hangs up here but by cancelling."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")
