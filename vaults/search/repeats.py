"""Deduplication: of results with the same text only the best stays. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class DroppedResult:
    """A result dropped for a better one, ``of``: it repeats that one's text, or their parent has its share already."""

    item: int
    score: float
    of: int
    why: Literal["repeats", "crowded"]


def drop_repeats(
    ranked: Sequence[tuple[int, float]],
    fingerprint: Callable[[int], str],
    parent: Callable[[int], str | None] = lambda _: None,
    share: int | None = None,
) -> tuple[list[tuple[int, float]], list[DroppedResult]]:
    """``ranked``, best first, without repeats; then what was dropped. The order stays.

    Items with equal fingerprints repeat each other; an empty one equals none. With ``share``, no parent keeps more
    than that many items; by default it may keep all, and ``parent`` is not called.
    """
    kept: list[tuple[int, float]] = []
    dropped: list[DroppedResult] = []
    first: dict[str, int] = {}
    families: dict[str, list[int]] = {}
    for item, score in ranked:
        text = fingerprint(item)
        if text and text in first:
            dropped.append(DroppedResult(item, score, first[text], "repeats"))
            continue
        family = parent(item) if share is not None else None
        siblings = families.setdefault(family, []) if family is not None else []
        if share is not None and family is not None and len(siblings) >= share:
            dropped.append(DroppedResult(item, score, siblings[0] if siblings else item, "crowded"))
            continue
        siblings.append(item)
        first[text] = item
        kept.append((item, score))
    return kept, dropped
