"""Which of two states of a row is newer, as far as its columns say. Pure.

The columns are told by their names, which mean the same in every table: numbers that count up with each change, and
times of a change. A number is believed; a time only where the clock's word is all there is, for clocks are set back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

NUMBERS = ("version", "revision", "edits", "times")
TIMES = (
    "updated_at", "modified_at", "seen_at", "saved_at", "accessed_at", "used_at", "claimed_at", "accepted_at",
    "resolved_at", "ended_at", "undone_at", "stored_at", "at",
)  # fmt: skip

Row = Sequence[Any]


def compare_numbers(names: Sequence[str], one: Row, other: Row) -> int:
    """Above 0: ``one`` is newer; below 0: ``other``; 0: the numbers do not say."""
    return _compare(NUMBERS, names, one, other)


def compare_times(names: Sequence[str], one: Row, other: Row) -> int:
    """The same by times."""
    return _compare(TIMES, names, one, other)


def has_number(names: Sequence[str]) -> bool:
    """Whether a table counts the changes of its rows."""
    return not set(NUMBERS).isdisjoint(names)


def _compare(columns: Sequence[str], names: Sequence[str], one: Row, other: Row) -> int:
    for column in columns:
        if column not in names:
            continue
        place = names.index(column)
        first, second = one[place], other[place]
        if first != second:
            return 1 if second is None or (first is not None and first > second) else -1
    return 0
