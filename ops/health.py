"""Liveness and readiness, built from pings that parts register.

*Live* says the process answers at all. *Ready* asks every part: a required one that is not well makes the server
unavailable, any other only degrades it (without the model keyword search still serves). An answer holds the parts'
names and one word each: no paths, versions, vault names or reasons.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

PING_S = 1.0  # a part that has not answered by then is "silent"
FRESH_S = 0.5  # answers are reused that long: the route needs no token and must cost nothing

WELL = frozenset({"ok", "off", "cold", "loading", "ready"})
WORDS = WELL | {"failed", "hung", "silent", "full", "stale"}
Ping = Callable[[], Awaitable[str]]
Details = Callable[[], Mapping[str, object]]
HealthStatus = Literal["ready", "degraded", "draining", "unavailable"]


@dataclass(frozen=True, slots=True)
class Readiness:
    status: HealthStatus
    parts: Mapping[str, str]
    details: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Numbers and words of parts that tell more than whether they are well."""

    @property
    def serving(self) -> bool:
        """Whether callers should be sent here."""
        return self.status in {"ready", "degraded"}


@dataclass(frozen=True, slots=True)
class _HealthPart:
    ping: Ping
    required: bool


class HealthRegistry:
    """The parts to ask. ``drain`` when a signal arrives, so that load balancers turn away before the port closes."""

    def __init__(self) -> None:
        self._parts: dict[str, _HealthPart] = {}
        self._details: dict[str, Details] = {}
        self._draining = False
        self._is_leaving: Callable[[], bool] = bool
        self._asking: asyncio.Task[dict[str, str]] | None = None
        self._last: tuple[float, dict[str, str]] | None = None

    def register(self, name: str, ping: Ping, *, required: bool) -> None:
        """``ping`` answers one of ``WORDS``; raising counts as ``failed``, silence for a second as ``silent``."""
        self._parts[name] = _HealthPart(ping, required)

    def register_details(self, name: str, details: Details) -> None:
        """``details`` is asked at once for each answer: it must be quick and must not raise, and holds nothing that a
        caller without a token may not know."""
        self._details[name] = details

    def drain_while(self, is_leaving: Callable[[], bool]) -> None:
        """Report not ready also while ``is_leaving`` says so; quick, and must not raise."""
        self._is_leaving = is_leaving

    def drain(self) -> None:
        """Report not ready from now on. Safe to call from a signal handler."""
        self._draining = True

    async def ready(self) -> Readiness:
        """Whether callers should be sent here. Takes at most ``PING_S`` seconds; never raises."""
        parts = await self._answers()
        details = {name: ask() for name, ask in self._details.items()}
        return Readiness(self._status(parts), parts, details)

    def _status(self, parts: Mapping[str, str]) -> HealthStatus:
        ill = {name for name, word in parts.items() if word not in WELL}
        if self._draining or self._is_leaving():
            return "draining"
        if any(self._parts[name].required for name in ill):
            return "unavailable"
        return "degraded" if ill else "ready"

    async def _answers(self) -> dict[str, str]:
        """Every part's word. Concurrent callers share one round of questions."""
        if self._last is not None and time.monotonic() - self._last[0] < FRESH_S:
            return self._last[1]
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask(), name="health")
        # Shielded: a caller that hangs up must not take the answer away from the others.
        return await asyncio.shield(self._asking)

    async def _ask(self) -> dict[str, str]:
        try:
            words = await asyncio.gather(
                *(_ask_word(part.ping) for part in self._parts.values()), return_exceptions=True
            )
        finally:
            self._asking = None
        answers = {name: _known_word(word) for name, word in zip(self._parts, words, strict=True)}
        self._last = (time.monotonic(), answers)
        return answers


async def _ask_word(ping: Ping) -> str:
    async with asyncio.timeout(PING_S):
        return await ping()


def _known_word(answer: str | BaseException) -> str:
    if isinstance(answer, TimeoutError):
        return "silent"
    return answer if isinstance(answer, str) and answer in WORDS else "failed"
