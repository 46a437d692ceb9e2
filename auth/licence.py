"""A licence as the rest of the server knows it: what it lifts, and whether it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TypeAlias

State: TypeAlias = Literal[
    "valid", "absent", "unreadable", "no_key", "bad_key", "signature", "malformed", "expired", "early", "machine"
]


@dataclass(frozen=True, slots=True)
class Licence:
    """A checked one. ``lifts``: plan → number → the new bound, None for none. ``expires_at``: seconds since 1970."""

    id: str
    subject: str
    kind: Literal["plan", "admin"]
    lifts: Mapping[str, Mapping[str, int | None]]
    machine: str | None
    expires_at: float


@dataclass(frozen=True, slots=True)
class LicenceVerdict:
    """What became of a licence: ``message`` says it in one line, without paths; ``licence`` is there if it holds."""

    state: State
    message: str
    licence: Licence | None = None


def expired_verdict(expires_at: float) -> LicenceVerdict:
    """The verdict once the time is over."""
    return LicenceVerdict("expired", f"the licence ended on {day_of(expires_at)}")


def day_of(seconds: float) -> str:
    """The date of a moment, for people."""
    return datetime.fromtimestamp(min(seconds, _LATEST_DATE), UTC).strftime("%Y-%m-%d")


_LATEST_DATE = 253_402_300_799.0  # the end of the year 9999, beyond which there are no dates
