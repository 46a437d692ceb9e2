"""What servers ask each other for, besides what they pass on: a tool call, and a search to be merged with others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.types import ASGIApp, Receive, Scope, Send

from server.federated_search import search_here
from server.http.peers.call_messages import (
    PassedCall,
    PassedSearch,
    dump_answer,
    dump_failure,
    dump_outcome,
    dump_vaults,
)
from server.http.peers.forwarding import Forwarding, PassableRequest, wait_until_gone
from server.http.peers.passed_calls import CALL_PATH, SEARCH_PATH, VAULTS_PATH
from server.local_attempt import tell_elsewhere
from server.protocol import Protocol
from server.services import Services
from vaults.errors import NotFound, StrongroomError, VaultUnavailable
from vaults.vault_hosting import VaultElsewhere

Answer = Callable[[bytes], Coroutine[Any, Any, bytes]]
P = TypeVar("P", bound=BaseModel)


class CallEndpoints:
    """For requests that the listener for other servers took: whoever sends them has let the caller in, and dispatch
    asks again."""

    def __init__(self, forwarding: Forwarding, services: Services, protocol: Protocol) -> None:
        self._forwarding = forwarding
        self._services = services
        self._protocol = protocol

    @property
    def by_path(self) -> Mapping[str, ASGIApp]:
        """The endpoints."""
        return {CALL_PATH: self._serve_call, SEARCH_PATH: self._serve_search, VAULTS_PATH: self._serve_vaults}

    async def _serve_call(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def answer(body: bytes) -> bytes:
            asked = _parse(PassedCall, body)
            return dump_outcome(await self._protocol.call(asked.caller.to_caller(), asked.tool, asked.arguments))

        await self._serve(scope, receive, send, lambda body: _parse(PassedCall, body).caller.vault, answer)

    async def _serve_search(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._serve(scope, receive, send, lambda body: _parse(PassedSearch, body).vault, self._search)

    async def _serve_vaults(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        from server.ui.vault_lines import look_at_held  # of the console, which is imported when it is first asked for

        await _send(send, 200, dump_vaults(await look_at_held(self._services)))

    async def _search(self, body: bytes) -> bytes:
        asked = _parse(PassedSearch, body)
        caller = asked.caller.to_caller()
        if self._services.role_in(caller.principal, asked.vault) is None:
            raise NotFound("no such vault, or no grant for it")
        only = replace(asked.request.only, viewer=caller.actor.identity)
        return dump_answer(await search_here(self._services, asked.vault, replace(asked.request, only=only)))

    async def _serve(
        self, scope: Scope, receive: Receive, send: Send, vault_of: Callable[[bytes], str], answer: Answer
    ) -> None:
        body = await _read(receive)
        if body is None:
            return

        async def read() -> bytes:
            return body

        async def fail(failure: StrongroomError, _body: bytes) -> None:
            await _send(send, 503, dump_failure(failure))

        async def here(_scope: Scope, receive: Receive, send: Send) -> None:
            with suppress(_CallerGone):
                try:
                    said, status = await _unless_gone(receive, answer(body)), 200
                except StrongroomError as failure:
                    if isinstance(failure, VaultElsewhere):
                        tell_elsewhere()
                    said, status = dump_failure(failure), 503
                await _send(send, status, said)

        scope["state"]["forwarded"] = None
        request = PassableRequest(
            scope, receive, send, read_body=read, rewind=_nothing, is_repeatable=lambda _: False, fail=fail
        )
        try:
            entry = self._services.registry_cache.entry(vault_of(body))
        except StrongroomError as failure:
            await fail(failure, body)
            return
        await self._forwarding.serve(entry, request, here)


class _CallerGone(Exception):
    """Nobody waits for the answer."""


async def _unless_gone(receive: Receive, answering: Coroutine[Any, Any, bytes]) -> bytes:
    """The answer. A server that hangs up ends what is under way: its caller did. Raises ``_CallerGone``."""
    work, gone = asyncio.ensure_future(answering), asyncio.ensure_future(wait_until_gone(receive))
    try:
        await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise _CallerGone
        return await work
    finally:
        for task in (work, gone):
            task.cancel()
        await asyncio.gather(work, gone, return_exceptions=True)


def _parse(kind: type[P], body: bytes) -> P:
    """Raises ``VaultUnavailable`` for what an other release may have sent."""
    try:
        return kind.model_validate_json(body)
    except ValidationError:
        raise VaultUnavailable("the server that has the vault does not understand this call") from None


async def _read(receive: Receive) -> bytes | None:
    data, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return None
        data += message.get("body", b"")
        more = message.get("more_body", False)
    return bytes(data)


async def _send(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _nothing() -> None:
    """The body was read, and is kept."""
