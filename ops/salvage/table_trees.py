"""Which leaves are a table's, which of its numbers they account for, and what lies where its pages are gone.

An interior page says which numbers each child holds; the pointer map says which page each child belongs to. Where both
are there, they must agree. A leaf reached one way only is taken; numbers that no leaf accounts for are lost.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter

from ops.salvage.database_image import DatabaseImage
from ops.salvage.page_map import FIRST_OVERFLOW, OVERFLOW, PageMap
from ops.salvage.tree_pages import Cell, TreePage

LEAST, MOST = -(1 << 63) - 1, (1 << 63) - 1

Span = tuple[int, int]
"""Numbers above the first, up to and with the second."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf of a table. ``is_sound``: it is whole and where it belongs, so that its rows need no further proof.
    ``is_stale``: a newer state of it was in the log and is damaged."""

    number: int
    first: int
    is_sound: bool
    is_stale: bool


@dataclass(slots=True)
class TableTree:
    """The leaves of one tree, and the numbers they say everything about."""

    leaves: list[Leaf] = field(default_factory=list)
    covered: list[Span] = field(default_factory=list)
    is_whole: bool = True

    def covers(self, number: int) -> bool:
        """Whether a row with this number would have been found."""
        if self.is_whole:
            return True
        at = bisect_left(self.covered, number, key=itemgetter(1))
        return at < len(self.covered) and self.covered[at][0] < number

    def settle(self) -> TableTree:
        """Put leaves and spans in order."""
        self.leaves.sort(key=attrgetter("first"))
        merged: list[Span] = []
        for low, high in sorted(self.covered):
            if merged and low <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], high))
            else:
                merged.append((low, high))
        self.covered = merged
        return self


def walk_table(image: DatabaseImage, page_map: PageMap, root: int) -> TableTree:
    """The tree of the table that begins on ``root``."""
    tree = TableTree()
    seen: set[int] = set()
    stack: list[tuple[int, Span, bool]] = [(root, (LEAST, MOST), False)]
    while stack:
        number, span, is_orphan = stack.pop()
        if number in seen:
            tree.is_whole = False
            continue
        seen.add(number)
        page = image.tree(number)
        if page is None or not page.kind.startswith("table"):
            tree.is_whole = False
            stack += [(child, span, True) for child in page_map.children.get(number, ())]
        elif page.is_interior:
            stack += _children(page_map, tree, number, page, span)
        else:
            # SQLite leaves no page empty but the only one of a table: it is another table's.
            is_strange = not page.cells and number != root
            _take_leaf(tree, number, page, span, is_orphan=is_orphan or is_strange, is_stale=number in image.log.stale)
            tree.is_whole = tree.is_whole and not is_strange
    return tree.settle()


def _children(
    page_map: PageMap, tree: TableTree, number: int, page: TreePage, span: Span
) -> Iterator[tuple[int, Span, bool]]:
    known = set()
    low, high = span
    whole = page.sound
    for child, key in [*((cell.child, cell.rowid) for cell in page.cells), (page.right, high)]:
        fits = low < key <= high
        if fits and child and page_map.is_child(child, number):
            known.add(child)
            yield child, (low, key), not whole
        else:
            tree.is_whole = False
        low = key if fits else low
    tree.is_whole = tree.is_whole and whole
    for child in page_map.children.get(number, ()):
        if child not in known:
            tree.is_whole = False
            yield child, span, True


def _take_leaf(tree: TableTree, number: int, page: TreePage, span: Span, *, is_orphan: bool, is_stale: bool) -> None:
    rows = [cell.rowid for cell in page.cells]
    is_sound = page.sound and all(span[0] < row <= span[1] for row in rows)
    tree.leaves.append(Leaf(number, rows[0] if rows else 0, is_sound, is_stale))
    if not is_sound or is_stale:
        tree.is_whole = False
    elif is_orphan:
        tree.covered += [(rows[0] - 1, rows[-1])] if rows else []
    else:
        tree.covered.append(span)


def read_payload(image: DatabaseImage, page_map: PageMap, leaf: int, cell: Cell) -> bytes | None:
    """All of a cell's payload, with what lies on further pages; None where one of them is not what it should be."""
    if not cell.overflow:
        return cell.local if len(cell.local) == cell.size else None
    if cell.size > image.count * image.size:  # and pages that lead in circles would never end
        return None
    parts, left, number, before = [cell.local], cell.size - len(cell.local), cell.overflow, leaf
    kind = FIRST_OVERFLOW
    while left > 0:
        data = image.page(number) if number > 1 else None
        if data is None or page_map.entries.get(number, (kind, before)) != (kind, before):
            return None
        if number in image.log.stale:
            return None
        parts.append(data[4 : 4 + min(left, image.size - 4)])
        left -= len(parts[-1])
        before, number, kind = number, int.from_bytes(data[:4]), OVERFLOW
    return b"".join(parts) if number == 0 else None
