"""The result of a check."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

CheckStatus = Literal["ok", "notice", "warning", "error"]

GRAVE = frozenset({"warning", "error"})
"""What somebody should act on; a notice is only worth knowing."""


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One thing that was looked at. ``todo`` says what helps, '' where nothing needs to; ``details`` is what it is
    about, a line each. ``vault`` None: it is about the whole installation."""

    name: str
    status: CheckStatus
    message: str
    todo: str = ""
    details: list[str] = field(default_factory=list)
    vault: str | None = None


def is_well(checks: Iterable[DoctorCheck]) -> bool:
    """Whether nobody has to do anything."""
    return not any(each.status in GRAVE for each in checks)
