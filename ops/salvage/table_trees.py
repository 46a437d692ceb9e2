"""Which leaves are a table's, which of its numbers they account for, and what lies where its pages are gone.

An interior page says which numbers each child holds; the pointer map says which page each child belongs to. Where both
are there, they must agree. A leaf reached one way only is taken; numbers that no leaf accounts for are lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ops.salvage.database_image import DatabaseImage
from ops.salvage.page_map import FIRST_OVERFLOW, OVERFLOW, PageMap
from ops.salvage.tree_pages import Cell, TreePage

LEAST, MOST = -(1 << 63) - 1, (1 << 63) - 1

Span = tuple[int, int]
"""Numbers above the first, up to and with the second."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf of a table. ``is_stale``: a newer state of it was in the log and is damaged."""

    number: int
    page: TreePage
    is_stale: bool = False


@dataclass(slots=True)
class TableTree:
    """The leaves of one tree, and the numbers they say everything about."""

    leaves: list[Leaf] = field(default_factory=list)
    covered: list[Span] = field(default_factory=list)
    is_whole: bool = True

    def covers(self, number: int) -> bool:
        """Whether a row with this number would have been found."""
        return self.is_whole or any(low < number <= high for low, high in self.covered)


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
            _take_leaf(image, tree, Leaf(number, page, number in image.log.stale), span, is_orphan=is_orphan)
    tree.leaves.sort(key=lambda leaf: leaf.page.cells[0].rowid if leaf.page.cells else 0)
    return tree


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


def _take_leaf(image: DatabaseImage, tree: TableTree, leaf: Leaf, span: Span, *, is_orphan: bool) -> None:
    numbers = [cell.rowid for cell in leaf.page.cells]
    inside = all(span[0] < number <= span[1] for number in numbers)
    if not inside:
        tree.is_whole = False
        leaf = Leaf(leaf.number, TreePage(leaf.page.kind, leaf.page.cells, 0, sound=False), leaf.is_stale)
    elif not leaf.page.sound or leaf.is_stale:
        tree.is_whole = False
    elif is_orphan:
        tree.covered += [(numbers[0] - 1, numbers[-1])] if numbers else []
    else:
        tree.covered.append(span)
    tree.leaves.append(leaf)


def read_payload(image: DatabaseImage, page_map: PageMap, leaf: int, cell: Cell) -> bytes | None:
    """All of a cell's payload, with what lies on further pages; None where one of them is not what it should be."""
    if not cell.overflow:
        return cell.local if len(cell.local) == cell.size else None
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


def read_index(image: DatabaseImage, page_map: PageMap, root: int) -> tuple[set[int], bool]:
    """The numbers of the rows an index names, and whether all of it could be read."""
    from ops.salvage.record_format import BrokenRecord, decode_record

    numbers: set[int] = set()
    stack, seen, is_whole = [root], set(), True
    while stack:
        number = stack.pop()
        page = image.tree(number) if number not in seen else None
        seen.add(number)
        if page is None or not page.kind.startswith("index") or not page.sound or number in image.log.stale:
            is_whole = False
            stack += page_map.children.get(number, ())
            continue
        if page.is_interior:
            children = [*(cell.child for cell in page.cells), page.right]
            stack += [child for child in children if page_map.is_child(child, number)]
            missed = [child for child in page_map.children.get(number, ()) if child not in children]
            stack += missed
            is_whole = is_whole and not missed and all(page_map.is_child(child, number) for child in children)
        for cell in page.cells:
            payload = read_payload(image, page_map, number, cell)
            try:
                last = decode_record(payload)[-1] if payload is not None else None
            except BrokenRecord:
                last = None
            if isinstance(last, int):
                numbers.add(last)
            else:
                is_whole = False
    return numbers, is_whole
