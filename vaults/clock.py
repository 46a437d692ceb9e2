"""Wall time for people, as RFC 3339 UTC text. Nothing here orders events or expires leases."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from vaults.errors import InvalidArgument


def now() -> str:
    """The present, with milliseconds: ``2026-11-21T22:43:48.123Z``."""
    return to_text(datetime.now(UTC))


def to_text(moment: datetime) -> str:
    """``moment`` in the stored form; a moment without a zone counts as UTC."""
    if moment.tzinfo is not UTC:
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    return f"{moment.isoformat(timespec='milliseconds')[:-6]}Z"


def to_whole_seconds(stored: str) -> str:
    """A stored moment without its fraction."""
    return f"{stored[:19]}Z"


def parse(value: str, field: str) -> str:
    """A caller's time (a date, or date and time, any zone) in the stored form. Raises ``InvalidArgument``."""
    try:
        return to_text(datetime.fromisoformat(value.strip()))
    except (ValueError, OverflowError) as failure:
        raise InvalidArgument(
            field, "must be an RFC 3339 time, such as 2026-11-21T09:30:00Z or 2026-11-21"
        ) from failure


def days_from_now(days: float) -> str:
    """The moment ``days`` from now."""
    return to_text(datetime.now(UTC) + timedelta(days=days))


def ago(seconds: float) -> str:
    """The moment ``seconds`` before now."""
    return to_text(datetime.now(UTC) - timedelta(seconds=seconds))


def age_s(moment: str) -> float:
    """Seconds since a stored moment; 0 for one in the future, which exists if somebody set the clock back."""
    return max(0.0, (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds())


def seconds_since_1970(moment: str) -> float:
    """A stored moment as a number, for indexes and comparisons."""
    return datetime.fromisoformat(moment).timestamp()


SLACK_S = 60.0
"""Seconds a clock may gain between two readings without being doubted."""

TRUSTED_AFTER_S = 86_400.0
"""Seconds after which a clock that was set ahead is believed."""


def _uptime_s() -> float:
    """Seconds by a clock nobody sets; on Linux it goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


@dataclass(slots=True)
class GuardedClock:
    """The present, for decisions that cannot be undone: if somebody sets the clock ahead, only elapsed time counts
    until it has been ahead for ``TRUSTED_AFTER_S``."""

    _said: datetime = field(default_factory=lambda: datetime.now(UTC))
    _at: float = field(default_factory=_uptime_s)
    _doubted: float | None = None

    def ago(self, seconds: float) -> str:
        """The moment ``seconds`` before now; after now if they are negative."""
        return to_text(self._now() - timedelta(seconds=seconds))

    def _now(self) -> datetime:
        wall, at = datetime.now(UTC), _uptime_s()
        elapsed = self._said + timedelta(seconds=at - self._at)
        if wall <= elapsed + timedelta(seconds=SLACK_S) or self._lasting(at):
            self._said, self._at, self._doubted = wall, at, None
            return wall
        return elapsed

    def _lasting(self, at: float) -> bool:
        if self._doubted is None:
            self._doubted = at
        return at - self._doubted >= TRUSTED_AFTER_S
