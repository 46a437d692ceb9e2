"""Pages of SQLite's trees: the cells of a leaf, the children of an interior page. Pure; a page may hold anything.

A leaf is ``sound`` when its cells, free blocks and gaps account for every byte of it, in order, as SQLite writes them.
Of one that is not, single cells may still be read; each row of it must prove itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from ops.salvage.record_format import BrokenRecord, read_varint

Kind = Literal["table leaf", "table interior", "index leaf", "index interior"]

_KINDS: dict[int, Kind] = {13: "table leaf", 5: "table interior", 10: "index leaf", 2: "index interior"}
_INTERIOR = ("table interior", "index interior")


@dataclass(frozen=True, slots=True)
class Cell:
    """One entry: its number (of a table), the part of its payload that lies here, how long all of it is, and the page
    the rest begins on (0: all of it is here)."""

    rowid: int
    local: bytes
    size: int
    overflow: int
    child: int = 0


@dataclass(frozen=True, slots=True)
class TreePage:
    """What a page holds. ``right``: the last child of an interior page."""

    kind: Kind
    cells: list[Cell] = field(default_factory=list)
    right: int = 0
    sound: bool = True

    @property
    def is_interior(self) -> bool:
        return self.kind in _INTERIOR


@dataclass(slots=True)
class _Layout:
    """Where the parts of a page are, to see whether they fit together."""

    content: int
    usable: int
    taken: list[tuple[int, int]] = field(default_factory=list)
    broken: bool = False


def parse_page(data: bytes, usable: int, *, first: bool = False) -> TreePage | None:
    """The page, or None where it is none of a tree. ``first``: it begins with the header of the file."""
    begin = 100 if first else 0
    kind = _KINDS.get(data[begin])
    if kind is None:
        return None
    interior = kind in _INTERIOR
    count = int.from_bytes(data[begin + 3 : begin + 5])
    pointers = begin + (12 if interior else 8)
    layout = _Layout(int.from_bytes(data[begin + 5 : begin + 7]) or 65536, usable)
    if layout.content > usable or pointers + 2 * count > layout.content:
        return None
    cells: list[Cell] = []
    for at in range(pointers, pointers + 2 * count, 2):
        cell = _parse_cell(data, int.from_bytes(data[at : at + 2]), kind, layout)
        if cell is None:
            layout.broken = True
        else:
            cells.append(cell)
    right = int.from_bytes(data[begin + 8 : begin + 12]) if interior else 0
    sound = not layout.broken and _fills_page(data, begin, layout) and _is_ordered(kind, cells)
    return TreePage(kind, cells, right, sound)


def _parse_cell(data: bytes, begin: int, kind: Kind, layout: _Layout) -> Cell | None:
    if not layout.content <= begin <= layout.usable - 4:
        return None
    at, child, rowid = begin, 0, 0
    try:
        if kind in _INTERIOR:
            child, at = int.from_bytes(data[at : at + 4]), at + 4
        if kind == "table interior":
            rowid, at = read_varint(data, at)
            layout.taken.append((begin, at))
            return Cell(rowid, b"", 0, 0, child) if at <= layout.usable else None
        size, at = read_varint(data, at)
        if kind == "table leaf":
            rowid, at = read_varint(data, at)
    except BrokenRecord:
        return None
    if size < 0:
        return None
    local = local_size(size, layout.usable, table=kind == "table leaf")
    end = at + local + (4 if local < size else 0)
    if end > layout.usable:
        return None
    layout.taken.append((begin, max(end, begin + 4)))
    overflow = int.from_bytes(data[at + local : at + local + 4]) if local < size else 0
    return Cell(rowid, bytes(data[at : at + local]), size, overflow, child)


def local_size(size: int, usable: int, *, table: bool) -> int:
    """How many bytes of a payload lie on the page itself."""
    most = usable - 35 if table else (usable - 12) * 64 // 255 - 23
    if size <= most:
        return size
    least = (usable - 12) * 32 // 255 - 23
    fitting = least + (size - least) % (usable - 4)
    return fitting if fitting <= most else least


def _fills_page(data: bytes, begin: int, layout: _Layout) -> bool:
    """Whether cells and free blocks lie side by side, and the bytes between them are as many as the page says."""
    taken, at, steps = list(layout.taken), int.from_bytes(data[begin + 1 : begin + 3]), 0
    while at:
        size = int.from_bytes(data[at + 2 : at + 4]) if at + 4 <= layout.usable else 0
        if size < 4 or at < layout.content or at + size > layout.usable or steps > layout.usable:
            return False
        taken.append((at, at + size))
        following = int.from_bytes(data[at : at + 2])
        if following and following <= at:
            return False
        at, steps = following, steps + 1
    gaps, last = 0, layout.content
    for start, end in sorted(taken):
        if start < last:
            return False
        gaps, last = gaps + start - last, end
    return gaps + layout.usable - last == data[begin + 7]


def _is_ordered(kind: Kind, cells: list[Cell]) -> bool:
    if not kind.startswith("table"):
        return True
    return all(one.rowid < other.rowid for one, other in pairwise(cells))
