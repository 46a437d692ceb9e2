"""How often a caller may call: calls per minute, its own and the vault's, and concurrent calls.

Counted here, on one server; where there are several, what the others counted is added as far as it is known.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from types import TracebackType

from auth.plans import PlanBound, Plans
from auth.principal import Principal
from auth.rate_windows import MonotonicWindows
from auth.settings import LimitSettings
from auth.shared_counts import UNSHARED, SharedCounts
from vaults.errors import Overloaded

MINUTE_S = 60.0

RUNNING_S = 10.0
"""Seconds for which other servers believe what is running here: no longer where this one dies."""


class CallSlot:
    """An admitted call; leaving the ``with`` block gives its place back, once."""

    __slots__ = ("_key", "_running")

    def __init__(self, running: Counter[str], key: str) -> None:
        self._running: Counter[str] | None = running
        self._key = key
        running[key] += 1

    def __enter__(self) -> CallSlot:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        running, self._running = self._running, None
        if running is None:
            return
        running[self._key] -= 1
        if running[self._key] <= 0:
            del running[self._key]


class Quotas:
    """One per process, used on its event loop. ``clock`` gives monotonic seconds."""

    def __init__(
        self,
        limits: LimitSettings,
        plans: Plans,
        *,
        clock: Callable[[], float] = time.monotonic,
        shared: SharedCounts = UNSHARED,
    ) -> None:
        self._limits = limits
        self._plans = plans
        self._clock = clock
        self._running: Counter[str] = Counter()
        self._windows = MonotonicWindows(clock)
        self._hits_elsewhere = shared.join("rates", self._windows.look)
        self._running_elsewhere = shared.join("running", lambda key: (self._running.get(str(key), 0), RUNNING_S))

    def admit(self, principal: Principal, vault: str) -> CallSlot:
        """Admit one call: ``with quotas.admit(principal, vault): …``.

        Raises ``RateLimited`` above a rate, ``Overloaded`` with too many concurrent calls; both say when to retry.
        """
        key, most = principal.key, self._limits.in_flight
        if self._running[key] + self._running_elsewhere.count(key, most) >= most:
            raise Overloaded(f"{most} calls of yours are still running", hint="wait for one to end")
        for bound, counted in self._bounds(principal, vault):
            self._hit(bound, counted)
        return CallSlot(self._running, key)

    @property
    def is_serving(self) -> bool:
        """Whether any call is under way."""
        return bool(self._running)

    def calls_in_window(self, bound: PlanBound, principal: Principal, vault: str) -> int:
        """Calls counted towards a plan's bound in the current minute."""
        key = (bound.limit, (principal.key,) if bound.scope == "principal" else ("vault", vault))
        return self._windows.count(key) + self._hits_elsewhere.count(key, bound.limit)

    def _bounds(self, principal: Principal, vault: str) -> Iterator[tuple[PlanBound, tuple[str, ...]]]:
        """The rates of a call, each with the key it is counted under. Those of the settings bound every plan."""
        key, limits = principal.key, self._limits
        own, of_vault = self._plans.of_caller(principal), self._plans.of_vault(vault)
        rate, shared = own.bound("calls_per_minute"), of_vault.bound("calls_per_minute")
        if rate is None or rate.limit > limits.calls_per_minute:
            rate = PlanBound("calls_per_minute", "principal", own.plan, limits.calls_per_minute)
        yield rate, (key,)
        yield PlanBound("calls_per_minute", "principal", own.plan, limits.vault_calls_per_minute), (key, vault)
        if shared is not None:
            yield shared, ("vault", vault)

    def _hit(self, bound: PlanBound, counted: tuple[str, ...]) -> None:
        key: Hashable = (bound.limit, counted)
        if not self._windows.hit_within(key, MINUTE_S, bound.limit, self._hits_elsewhere):
            raise bound.rate_exceeded(max(0.1, self._windows.end(key) - self._clock()))
