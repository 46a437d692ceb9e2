"""Numbers of pages and the like, for people."""

from __future__ import annotations

from collections.abc import Sequence

MAX_RANGES = 20
"""Ranges named at most."""


def describe_numbers(noun: str, numbers: Sequence[int]) -> str:
    """Ascending numbers as ranges: "pages 1–3, 7"."""
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    shown = [describe_range(first, last) for first, last in ranges[:MAX_RANGES]]
    rest = ["…"] if len(ranges) > MAX_RANGES else []
    return f"{noun}{'s' if len(numbers) != 1 else ''} {', '.join([*shown, *rest])}"


def describe_range(first: int, last: int) -> str:
    """Two numbers as a range, one as itself."""
    return str(first) if first == last else f"{first}–{last}"
