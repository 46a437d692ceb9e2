"""What a measurement says: one row of the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Sense = Literal["<=", "<", ">=", "="]


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure. ``value`` None: it was not measured, and ``raw`` says why. ``limit`` None: it is only told."""

    name: str
    value: float | None
    limit: float | None = None
    sense: Sense = "<="
    unit: str = ""
    raw: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def met(self) -> bool | None:
        """Whether the limit holds; None where there is no limit or no value."""
        if self.value is None or self.limit is None:
            return None
        return {
            "<=": self.value <= self.limit,
            "<": self.value < self.limit,
            ">=": self.value >= self.limit,
            "=": self.value == self.limit,
        }[self.sense]

    @property
    def verdict(self) -> str:
        """One word for the table."""
        if self.value is None:
            return "skipped"
        return {True: "met", False: "MISSED", None: ""}[self.met]

    def as_json(self) -> dict[str, Any]:
        """For ``bench.json``."""
        return {**asdict(self), "met": self.met}


def skipped_figure(name: str, why: str) -> Figure:
    """A figure that could not be measured here."""
    return Figure(name, None, raw=f"skipped: {why}")
