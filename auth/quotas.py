"""How much one caller may do: calls per minute, calls at once, stores per day, and how much a vault may hold."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

from auth.principal import Principal
from auth.settings import LimitSettings
from vaults.durations import parse_size
from vaults.errors import Overloaded, QuotaExceeded, RateLimited

if TYPE_CHECKING:
    from limits import RateLimitItem
    from limits.strategies import FixedWindowRateLimiter

    from auth.windows import MonotonicWindows


@dataclass(frozen=True, slots=True)
class _Rates:
    """The limiter and its two rates, built on the first call: importing ``limits`` takes 0.1 s of a cold start."""

    windows: MonotonicWindows
    limiter: FixedWindowRateLimiter
    caller: RateLimitItem
    caller_vault: RateLimitItem


class Ticket:
    """A call let in; leaving the ``with`` block gives its place back, once."""

    __slots__ = ("_key", "_running")

    def __init__(self, running: Counter[str], key: str) -> None:
        self._running: Counter[str] | None = running
        self._key = key
        running[key] += 1

    def __enter__(self) -> Ticket:
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

    def __init__(self, limits: LimitSettings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._running: Counter[str] = Counter()
        self._rates: _Rates | None = None
        self._vault_bytes = None if limits.vault_size is None else parse_size(limits.vault_size)

    def admit(self, principal: Principal, vault: str) -> Ticket:
        """Let one call in: ``with quotas.admit(principal, vault): …``.

        Raises ``RateLimited`` above a rate, ``Overloaded`` above the calls at once; both say when to come back.
        """
        key = principal.key
        if self._running[key] >= self._limits.in_flight:
            raise Overloaded(f"{self._limits.in_flight} calls of yours are still running", hint="wait for one to end")
        rates = self._rates or self._load()
        self._hit(rates, rates.caller, (key,))
        self._hit(rates, rates.caller_vault, (key, vault))
        return Ticket(self._running, key)

    def check_room(self, *, memories: int, size: int) -> None:
        """Refuse a store into a vault that holds ``memories`` in ``size`` bytes already. Raises ``QuotaExceeded``."""
        if self._limits.memories is not None and memories >= self._limits.memories:
            raise QuotaExceeded(
                f"the vault holds {memories} memories, {self._limits.memories} are allowed",
                hint="forget some with purge, or ask the operator for more",
                limit=self._limits.memories,
            )
        if self._vault_bytes is not None and size >= self._vault_bytes:
            raise QuotaExceeded(
                f"the vault takes {size} bytes, {self._vault_bytes} are allowed",
                hint="forget some with purge, or ask the operator for more",
                limit=self._vault_bytes,
            )

    def _hit(self, rates: _Rates, item: RateLimitItem, identifiers: tuple[str, ...]) -> None:
        if rates.limiter.hit(item, *identifiers):
            return
        wait = max(0.1, rates.windows.get_expiry(item.key_for(*identifiers)) - self._clock())
        raise RateLimited(f"more than {item.amount} calls in a minute", retry_after_s=round(wait, 1))

    def _load(self) -> _Rates:
        from limits import RateLimitItemPerMinute
        from limits.strategies import FixedWindowRateLimiter

        from auth.windows import MonotonicWindows

        windows = MonotonicWindows(self._clock)
        self._rates = _Rates(
            windows,
            FixedWindowRateLimiter(windows),
            RateLimitItemPerMinute(self._limits.calls_per_minute),
            RateLimitItemPerMinute(self._limits.vault_calls_per_minute),
        )
        return self._rates
