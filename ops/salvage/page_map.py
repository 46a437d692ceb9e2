"""The pointer map of a database: for each page, what it is and which page refers to it.

Vaults have one, because they give free pages back. It is the second witness of where a page belongs: a leaf whose
interior page is gone is still known to be of that table, and a page that was freed is never taken for rows.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from ops.salvage.database_image import DatabaseImage

ROOT: Final = 1
FREE: Final = 2
FIRST_OVERFLOW: Final = 3
OVERFLOW: Final = 4
BRANCH: Final = 5
_ENTRY = 5


@dataclass(slots=True)
class PageMap:
    """What each page is and its parent, as far as the map can be read."""

    entries: dict[int, tuple[int, int]] = field(default_factory=dict)
    maps: set[int] = field(default_factory=set)
    children: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def is_child(self, page: int, parent: int) -> bool:
        """Whether the map does not say otherwise."""
        return self.entries.get(page, (BRANCH, parent)) == (BRANCH, parent)

    @property
    def roots(self) -> list[int]:
        """Pages that begin a table or index."""
        return sorted(page for page, (kind, _) in self.entries.items() if kind == ROOT)


def read_page_map(image: DatabaseImage) -> PageMap:
    """The map. A page of it with an entry that cannot be is not believed at all."""
    found = PageMap()
    if not image.pointer_maps:
        return found
    span = image.size // _ENTRY
    for first in range(2, image.count + 1, span + 1):
        place = first + 1 if first == image.lock_page else first
        found.maps.add(place)
        data = image.page(place)
        if data is not None:
            found.entries.update(_read_entries(data, place, image))
    for page, (kind, parent) in found.entries.items():
        if kind == BRANCH:
            found.children[parent].append(page)
    return found


def _read_entries(data: bytes, place: int, image: DatabaseImage) -> dict[int, tuple[int, int]]:
    entries: dict[int, tuple[int, int]] = {}
    for at in range(min(image.size // _ENTRY, image.count - place)):
        kind, parent = data[at * _ENTRY], int.from_bytes(data[at * _ENTRY + 1 : (at + 1) * _ENTRY])
        number = place + 1 + at
        if number == image.lock_page:
            continue
        if not _is_possible(kind, parent, image.count):
            return {}
        entries[number] = (kind, parent)
    return entries


def _is_possible(kind: int, parent: int, count: int) -> bool:
    if kind in (ROOT, FREE):
        return parent == 0
    return kind in (FIRST_OVERFLOW, OVERFLOW, BRANCH) and 1 <= parent <= count
