"""What the indexes of a table tell of its rows: their numbers. So what is lost can be counted, and what was deleted is
told from what is lost."""

from __future__ import annotations

from dataclasses import dataclass, field

from ops.salvage.database_image import DatabaseImage
from ops.salvage.page_map import PageMap
from ops.salvage.record_format import BrokenRecord, decode_last
from ops.salvage.table_trees import read_payload
from ops.salvage.tree_pages import TreePage


@dataclass(slots=True)
class NamedRows:
    """Numbers of rows that were there. ``is_whole``: the index was read to the end, so there were no others."""

    numbers: set[int] = field(default_factory=set)
    is_whole: bool = True


def read_index(image: DatabaseImage, page_map: PageMap, root: int) -> NamedRows:
    """The rows that the index which begins on ``root`` names."""
    found = NamedRows()
    stack, seen = [root], set[int]()
    while stack:
        number = stack.pop()
        if number in seen:  # a damaged map may lead in circles
            found.is_whole = False
            continue
        seen.add(number)
        page, known = image.tree(number), page_map.children.get(number, ())
        if page is None or not page.kind.startswith("index") or not page.sound or number in image.log.stale:
            found.is_whole = False
            stack += known
            continue
        children = [*(cell.child for cell in page.cells), page.right] if page.is_interior else []
        fitting = [child for child in children if page_map.is_child(child, number)]
        missed = [child for child in known if child not in children]
        found.is_whole = found.is_whole and not missed and len(fitting) == len(children)
        stack += [*fitting, *missed]
        _read_entries(image, page_map, number, page, found)
    return found


def _read_entries(image: DatabaseImage, page_map: PageMap, number: int, page: TreePage, found: NamedRows) -> None:
    for cell in page.cells:
        payload = read_payload(image, page_map, number, cell)
        try:
            last = decode_last(payload) if payload is not None else None
        except BrokenRecord:
            last = None
        if isinstance(last, int):
            found.numbers.add(last)
        else:
            found.is_whole = False
