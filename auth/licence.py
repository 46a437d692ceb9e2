"""A licence as the rest of the server sees it: what it lifts, and whether it holds."""

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
    """A licence whose signature was checked."""

    id: str
    subject: str
    kind: Literal["plan", "admin"]  # admin: lifts every limit
    lifts: Mapping[str, Mapping[str, int | None]]  # plan → number → its new bound; None: no bound
    machine: str | None  # the installation it is for; None: any
    expires_at: float  # seconds since 1970


@dataclass(frozen=True, slots=True)
class LicenceVerdict:
    """Whether a licence holds. ``message`` says why or why not in one line, without paths."""

    state: State
    message: str
    licence: Licence | None = None  # present if it holds


def expired_verdict(expires_at: float) -> LicenceVerdict:
    """The verdict on a licence that has ended."""
    return LicenceVerdict("expired", f"the licence ended on {day_of(expires_at)}")


def day_of(seconds: float) -> str:
    """The date of a moment, for people."""
    return datetime.fromtimestamp(min(seconds, _LATEST_DATE), UTC).strftime("%Y-%m-%d")


_LATEST_DATE = 253_402_300_799.0  # the end of the year 9999, beyond which there are no dates
