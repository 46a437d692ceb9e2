"""Tool calls and searches that begin in this process, of pages, commands and other vaults: made where the vault is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel
from starlette.types import Message, Receive, Scope, Send

from server.call import Caller
from server.dispatch import CallOutcome
from server.http.peers.call_messages import (
    PassedCall,
    PassedCaller,
    PassedSearch,
    load_answer,
    load_failure,
    load_outcome,
    to_failed_outcome,
)
from server.http.peers.forwarding import Forwarding, PassableRequest
from server.local_attempt import watching_attempt
from server.services import Services
from vaults.domain.retrieval.hybrid_search import SearchAnswer, SearchRequest
from vaults.errors import NotFound, StrongroomError

CALL_PATH = "/cluster/call"
SEARCH_PATH = "/cluster/search"

_MADE_HERE = 204
"""No server answers so: it has something to say."""


class PassedCalls:
    """The routes of ``server.call_routes``."""

    def __init__(self, forwarding: Forwarding, services: Services) -> None:
        self._forwarding = forwarding
        self._services = services

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


def _outcome_of(exchange: _Exchange) -> CallOutcome:
    if exchange.was_made_here:
        made: CallOutcome = exchange.made
        return made
    try:
        return load_outcome(exchange.require_answer())
    except StrongroomError as failure:
        return to_failed_outcome(failure)


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
