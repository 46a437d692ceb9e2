"""Definitions of a file in order: what stands in what, and which of them a byte stands in. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 16
"""Symbols in symbols. What is deeper is no symbol of its own, so that names cannot grow with the file."""

MAX_SYMBOLS = 20_000
"""Of one file."""

_HOLDERS = frozenset({"class", "interface", "enum"})


@dataclass(slots=True)
class FoundDefinition:
    """A symbol, or a scope that only qualifies names, as found: bytes from ``start`` to ``end``."""

    start: int
    end: int
    node: Any
    top: int  # its first row, decorators counted in
    row: int  # where its name stands
    name: str
    of: str
    kind: str
    rank: int
    is_scope: bool
    number: int | None = None
    parent: int | None = None
    qualified: str = ""


def nest_definitions(definitions: Sequence[FoundDefinition]) -> list[FoundDefinition]:
    """Those that are not too deep, each with its qualified name, in order of place; symbols get numbers."""
    kept: list[FoundDefinition] = []
    open_: list[FoundDefinition] = []
    symbols = 0
    by_name: dict[str, int] = {}
    for each in definitions:
        while open_ and (open_[-1].end <= each.start or (open_[-1].start, open_[-1].end) == (each.start, each.end)):
            open_.pop()  # names that share a statement do not stand in each other
        if len(open_) >= MAX_DEPTH or symbols >= MAX_SYMBOLS:
            continue
        holder = open_[-1] if open_ else None
        above = ".".join(filter(None, (holder.qualified if holder else "", each.of)))
        each.qualified = f"{above}.{each.name}" if above else each.name
        each.parent = by_name.get(above) if above else None
        if each.kind == "function" and (each.of or (holder is not None and holder.kind in _HOLDERS)):
            each.kind = "method"
        if not each.is_scope:
            each.number, symbols = symbols, symbols + 1
            by_name.setdefault(each.qualified, each.number)
        kept.append(each)
        open_.append(each)
    return kept


class PlaceIndex:
    """Which symbol a byte stands in: the innermost one."""

    def __init__(self, kept: Sequence[FoundDefinition]) -> None:
        """From definitions in order of place, each inside the last one that is still open or after it."""
        edges: list[tuple[int, int | None]] = []
        open_: list[FoundDefinition] = []
        for each in (one for one in kept if one.number is not None):
            _close(open_, edges, each.start)
            edges.append((each.start, each.number))
            open_.append(each)
        _close(open_, edges, None)
        self._starts = [start for start, _ in edges]
        self._numbers = [number for _, number in edges]

    def find(self, byte: int) -> int | None:
        """The number of the symbol; None: it stands in none."""
        place = bisect_right(self._starts, byte) - 1
        return self._numbers[place] if place >= 0 else None


def _close(open_: list[FoundDefinition], edges: list[tuple[int, int | None]], before: int | None) -> None:
    """End those that end before a byte; what they stood in goes on."""
    while open_ and (before is None or open_[-1].end <= before):
        ended = open_.pop()
        edges.append((ended.end, open_[-1].number if open_ else None))
