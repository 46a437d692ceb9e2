"""Reports over a whole vault, kept until it changes or time changes them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

MAX_REPORTS = 16
"""Reports per open vault: 5 KB for most, and whoever keeps a long one bounds it. A vault at rest keeps none."""


@dataclass(frozen=True, slots=True)
class KeptReport:
    """What was found at a ``Reader.version``. It is the same at any time, in stored form, from ``since`` to before
    ``until``; None: at any later one."""

    version: int
    since: str
    until: str | None
    found: Any

    def holds(self, version: int, at: str) -> bool:
        """Whether it would be found now."""
        return self.version == version and self.since <= at and (self.until is None or at < self.until)


class ReportCache:
    """Drops the least recently used first. One per open vault, on the event loop."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, KeptReport] = OrderedDict()

    def get(self, key: Hashable) -> KeptReport | None:
        """The report for a question, whether or not it still holds."""
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
        return kept

    def keep(self, key: Hashable, kept: KeptReport) -> None:
        """Remember a report."""
        self._kept[key] = kept
        while len(self._kept) > MAX_REPORTS:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()
