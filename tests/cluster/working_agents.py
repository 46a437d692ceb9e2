"""Agents with the client of the SDK that work without pause: each remembers, recalls, keeps a log in a note and asks
for its context, calls again what failed in a way that is named retryable, and writes down what was answered."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from tests.server.http.serving import LATEST_HANDSHAKE, browser
from tests.work import PROGRAM_PATIENCE_S

NOTE = "log.md"
PAUSE_S = 0.1
ATTEMPT_S = 20.0

_ID = re.compile(r"\bid-[a-z]+-\d+\b")


@dataclass(frozen=True, slots=True)
class AnsweredWrite:
    """``at``: of ``time.monotonic``, when the answer was there."""

    kind: str
    id: str
    at: float


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """From its first try to its answer, in seconds of ``time.monotonic``. ``failures``: what became of tries before."""

    tool: str
    began: float
    ended: float
    failures: tuple[str, ...]

    @property
    def took(self) -> float:
        return self.ended - self.began


class CallAgain(Exception):
    """The call was refused for now, or nobody knows what became of it."""


class Connection:
    """A client of the SDK in a task of its own: where its transport fails it ends, and the call under way with it."""

    def __init__(self, url: str, token: str, era: str) -> None:
        self._url, self._token = url, token
        self._mode = "legacy" if era == LATEST_HANDSHAKE else era
        self._calls: asyncio.Queue[tuple[str, dict[str, Any], asyncio.Future[CallToolResult]]] = asyncio.Queue()
        self._task = asyncio.create_task(self._serve())

    async def call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        """Raises ``CallAgain``, after which the connection is not to be used."""
        answer: asyncio.Future[CallToolResult] = asyncio.get_running_loop().create_future()
        self._calls.put_nowait((tool, arguments, answer))
        await asyncio.wait((answer, self._task), timeout=ATTEMPT_S, return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            return answer.result()
        raise CallAgain(f"the connection failed: {_told(self._task)}" if self._task.done() else "no answer")

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _serve(self) -> None:
        async with browser(headers={"authorization": f"Bearer {self._token}"}) as http:
            transport = streamable_http_client(self._url, http_client=http)
            async with Client(transport, mode=self._mode, cache=None) as client:
                while True:
                    tool, arguments, answer = await self._calls.get()
                    try:
                        answer.set_result(await client.call_tool(tool, arguments))
                    except MCPError as failure:
                        answer.set_exception(CallAgain(f"{failure.error.message}"))


@dataclass
class WorkingAgent:
    """One caller, of one address. ``calls`` and ``writes`` were answered. ``wrong``: what was answered and should not
    have been."""

    name: str
    url: str
    token: str
    era: str
    writes: list[AnsweredWrite] = field(default_factory=list)
    calls: list[AnsweredCall] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    _connection: Connection | None = None

    async def work(self, done: asyncio.Event) -> None:
        number = 0
        while not done.is_set():
            number += 1
            await self._take_turn(f"id-{self.name}-{number}")
        await self._disconnect()

    async def _take_turn(self, id_: str) -> None:
        words = f"What {id_} stands for was written down by {self.name}."
        await self.ask("remember", {"content": words, "idempotency_key": id_})
        self._written("memory", id_)
        found = await self.ask("recall", {"query": id_, "mode": "keyword", "limit": 5})
        if id_ not in ids_in(found):
            self.wrong.append(f"{id_} was remembered, and is not recalled")
        await self.ask(
            "note_edit", {"path": NOTE, "section": "Log", "content": f"- {id_}"}, lambda: self._is_noted(id_)
        )
        self._written("line", id_)
        await self.ask("context", {"query": f"What did {self.name} write down?", "budget_tokens": 500})

    def _written(self, kind: str, id_: str) -> None:
        self.writes.append(AnsweredWrite(kind, id_, time.monotonic()))

    async def _is_noted(self, id_: str) -> bool:
        return id_ in ids_in(await self.ask("note_read", {"path": NOTE, "part": "full", "max_tokens": 100_000}))

    async def ask(
        self, tool: str, arguments: dict[str, Any], is_done: Callable[[], Awaitable[bool]] | None = None
    ) -> dict[str, Any]:
        """What is answered in the end. ``is_done``: looks whether a call that failed was made after all, as one that
        takes no key cannot tell by itself."""
        began, failures = time.monotonic(), []
        while True:
            try:
                answer = await self._try(tool, arguments)
                break
            except CallAgain as failure:
                failures.append(str(failure))
            assert time.monotonic() < began + PROGRAM_PATIENCE_S, f"{self.name}: {tool} is not answered: {failures}"
            await asyncio.sleep(PAUSE_S)
            if is_done is not None and await is_done():
                answer = {}
                break
        self.calls.append(AnsweredCall(tool, began, time.monotonic(), tuple(failures)))
        return answer

    async def _try(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Raises ``CallAgain``."""
        if self._connection is None:
            self._connection = Connection(self.url, self.token, self.era)
        try:
            answer = await self._connection.call(tool, arguments)
        except CallAgain:
            await self._disconnect()
            raise
        content: dict[str, Any] = answer.structured_content or {}
        if answer.is_error:
            error = content["error"]
            if error["retryable"] or error["code"] == "conflict":
                raise CallAgain(error["code"])
            if error.get("details", {}).get("done"):  # and only the audit could not take it
                return content
            self.wrong.append(f"{tool}: {error}")
        return content

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(Exception):
                await connection.close()


def _told(ended: asyncio.Task[None]) -> str:
    """The innermost failure that ended it, without the groups around it."""
    failure = None if ended.cancelled() else ended.exception()
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return repr(failure)


def ids_in(content: object) -> list[str]:
    """Each id as often as it stands there."""
    return _ID.findall(str(content))
