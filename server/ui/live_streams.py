"""Streams to open pages of a vault: they say that something there changed, and nothing of what it was.

Calls are heard as they end, in this process: nothing is asked of a database while nothing happens. With several
serving processes a page hears of the calls that its own process served.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from server.call_listeners import CallListeners, HeardCall

GAP_S = 1.0
"""Seconds between two events of a stream, at least."""

HEARTBEAT_S = 15.0
"""Seconds of silence after which a comment is sent: proxies close what is silent, and a closed page is noticed."""

PER_PERSON = 4
IN_ALL = 200
"""Streams at most: each holds a connection."""

RETRY_S = 3
"""After which a browser asks again, where its stream has ended."""

QUIET_S = 60.0
"""A session that is heard again after so many seconds is news; until then its calls change nothing one sees."""

SESSIONS = 2_000
"""Sessions of a vault that are remembered, those heard last."""

TOLD = frozenset({"session_save", "handoff_create", "handoff_load", "claims"})
"""Tools that change who is at work, what waits or what is claimed, where a call of theirs writes."""

OWN_CLIENT = "console"
"""The client of pages: what they read to show the change is no change."""


@dataclass(eq=False, slots=True)
class LiveStream:
    """One open page. ``person``: whose it is."""

    vault_id: str
    person: str
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self) -> bool:
        """Whether something changed, within the time of a heartbeat."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(HEARTBEAT_S):
                await self.changed.wait()
        happened = self.changed.is_set()
        self.changed.clear()
        return happened

    def end(self) -> None:
        """Have whoever serves it stop."""
        self.ended.set()
        self.changed.set()


class LiveStreams:
    """All of a process. Once closed it opens none."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._open: set[LiveStream] = set()
        self._heard: dict[str, dict[str, float]] = {}
        self._listening: CallListeners | None = None
        self._closed = False

    def has_room(self, person: str) -> bool:
        """Whether one more may be opened."""
        theirs = sum(each.person == person for each in self._open)
        return not self._closed and len(self._open) < IN_ALL and theirs < PER_PERSON

    def close(self) -> None:
        """End them all: a shutdown waits for none."""
        self._closed = True
        for each in tuple(self._open):
            each.end()

    async def serve(
        self,
        stream: LiveStream,
        listeners: CallListeners,
        may_stay: Callable[[], Awaitable[bool]],
        state: Callable[[], object],
    ) -> AsyncIterator[str]:
        """The lines of a stream. ``may_stay`` is asked before each: of what somebody may no longer see they do not even
        hear that it changed. ``state``: of the vault, looked at before each as well: another is a change."""
        if not self.has_room(stream.person):
            return
        self._enter(stream, listeners)
        try:
            known = state()
            yield f"retry: {RETRY_S * 1000}\n\n"
            while True:
                happened = await stream.wait()
                if stream.ended.is_set() or not await may_stay():
                    return
                before, known = known, state()
                happened = happened or known != before
                yield "event: change\ndata: 1\n\n" if happened else ":\n\n"
                if happened:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(GAP_S):
                            await stream.ended.wait()
        finally:
            self._leave(stream)

    def hear(self, call: HeardCall) -> None:
        """Tell the pages of a vault, if a call changed what they show."""
        if call.vault_id not in self._heard or not self._is_news(call):
            return
        for each in self._open:
            if each.vault_id == call.vault_id:
                each.changed.set()

    def _is_news(self, call: HeardCall) -> bool:
        if call.client == OWN_CLIENT:
            return call.writes and call.tool in TOLD
        heard, now = self._heard[call.vault_id], self._now()
        told_at = heard.pop(call.session, None)
        is_news = told_at is None or now - told_at >= QUIET_S
        heard[call.session] = now if told_at is None or is_news else told_at
        if len(heard) > SESSIONS:
            del heard[next(iter(heard))]
        return is_news or (call.writes and call.tool in TOLD)

    def _enter(self, stream: LiveStream, listeners: CallListeners) -> None:
        if self._listening is None:
            self._listening = listeners
            listeners.add(self.hear)
        self._open.add(stream)
        self._heard.setdefault(stream.vault_id, {})

    def _leave(self, stream: LiveStream) -> None:
        self._open.discard(stream)
        if all(each.vault_id != stream.vault_id for each in self._open):
            self._heard.pop(stream.vault_id, None)
        if not self._open and self._listening is not None:
            self._listening.remove(self.hear)
            self._listening = None
