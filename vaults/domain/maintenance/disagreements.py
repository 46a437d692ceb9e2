"""What a comparison found: how much disagrees, and which items differ from the hash that was taken of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

MAX_NAMED = 20
"""Items whose ids are kept; the others are only counted."""

SOURCE_CHANGED = "source_changed"
"""The code of an item that differs from its own hash."""


@dataclass(frozen=True, slots=True)
class Disagreements:
    """``counts``: how much disagrees, by code; ``changed``: ids of the first items that differ from their hash."""

    counts: Counter[str] = field(default_factory=Counter)
    changed: list[str] = field(default_factory=list)

    def add(self, other: Disagreements) -> None:
        """Take in what another part found."""
        self.counts.update(other.counts)
        self.changed.extend(other.changed[: MAX_NAMED - len(self.changed)])

    def add_item(self, item_id: str, codes: Iterable[str]) -> None:
        """Take in what is wrong with one item."""
        found = list(codes)
        self.counts.update(found)
        if SOURCE_CHANGED in found and len(self.changed) < MAX_NAMED:
            self.changed.append(item_id)
