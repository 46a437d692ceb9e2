"""The rows of one table as a damaged database still has them, each with how far it can be believed.

A row on a leaf that is whole, where it belongs, and of which every row reads and fits the table, is *sound*. Any other
row is in *doubt*: it counts only if a hash over its content says so. A memory carries such a hash, and must match it
wherever it was found; documents and versions of notes are proven once all of them are together (``content_proof``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from ops.salvage.content_proof import PROOFS, proves_memory, tells_times
from ops.salvage.database_image import DatabaseImage
from ops.salvage.index_trees import NamedRows, read_index
from ops.salvage.lost_schema import FoundSchema
from ops.salvage.page_map import PageMap
from ops.salvage.record_format import BrokenRecord, Record, decode_record
from ops.salvage.table_shapes import TableShape, fit_row
from ops.salvage.table_trees import Leaf, TableTree, read_payload, walk_table
from ops.salvage.tree_pages import Cell

Origin = Literal["file", "log"]


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A row. ``problem``: why it is not believed; its values, if any, are for people to look at. ``is_older``: what it
    holds is right, but a newer state of its page is damaged, which may have held another version, or no such row.
    ``is_partly_proven``: its page is damaged, and its hash is not over all of its fields."""

    number: int
    values: Record
    origin: Origin
    problem: str | None = None
    is_older: bool = False
    is_partly_proven: bool = False


@dataclass(slots=True)
class TableRemains:
    """What is left of a table, and what is known of rows by their numbers. ``named``: those its indexes speak of; None
    where it has none. ``doubted``: found, not believed. Of those in the new database: ``logged`` are from the log,
    ``restored`` from a backup; ``older`` may have been changed or deleted since; ``unproven`` have fields that nothing
    proves."""

    shape: TableShape
    tree: TableTree | None
    named: NamedRows | None = None
    doubted: set[int] = field(default_factory=set)
    logged: set[int] = field(default_factory=set)
    restored: set[int] = field(default_factory=set)
    older: set[int] = field(default_factory=set)
    unproven: set[int] = field(default_factory=set)

    @property
    def is_whole(self) -> bool:
        return self.tree is not None and self.tree.is_whole and not self.doubted

    def may_have_held(self, number: int) -> bool:
        """Whether a row with this number may have been there and is not known any more. One that an index speaks of
        and its page does not hold was there: the page is of an earlier time."""
        if number in self.doubted or (self.named is not None and number in self.named.numbers):
            return True
        if self.tree is not None and self.tree.covers(number):
            return False
        return self.named is None or not self.named.is_whole


def find_remains(image: DatabaseImage, page_map: PageMap, schema: FoundSchema, shape: TableShape) -> TableRemains:
    """Where the rows of a table are to be found."""
    root = schema.tables.get(shape.name)
    remains = TableRemains(shape, walk_table(image, page_map, root) if root else None)
    for index, names_all in schema.indexes.get(shape.name, {}).items():
        found = read_index(image, page_map, index)
        before = remains.named or NamedRows(is_whole=False)
        remains.named = NamedRows(before.numbers | found.numbers, before.is_whole or (found.is_whole and names_all))
    return remains


def read_rows(image: DatabaseImage, page_map: PageMap, remains: TableRemains) -> Iterator[FoundRow]:
    """Every row that can be read in part or whole, in order of leaves. A number may come twice."""
    for leaf in remains.tree.leaves if remains.tree is not None else ():
        page = image.tree(leaf.number)
        if page is not None:
            yield from _read_leaf(image, page_map, remains.shape, leaf, page.cells)


def _read_leaf(
    image: DatabaseImage, page_map: PageMap, shape: TableShape, leaf: Leaf, cells: list[Cell]
) -> Iterator[FoundRow]:
    origin: Origin = "log" if leaf.number in image.log.images else "file"
    read = [(cell.rowid, _read_row(image, page_map, shape, leaf, cell)) for cell in cells]
    sound = leaf.is_sound and not leaf.is_stale
    # What harmed one row may have harmed its neighbours where nobody can tell. A page that continues a row elsewhere
    # tells nothing of them.
    harmed = any(isinstance(row, str) and not cell.overflow for (_, row), cell in zip(read, cells, strict=True))
    for number, row in read:
        if isinstance(row, str):
            yield FoundRow(number, (), origin, row)
        elif shape.name == "memories" and not proves_memory(shape, row):
            yield FoundRow(number, row, origin, "its content does not match its hash")
        elif sound and not harmed:
            yield FoundRow(number, row, origin)
        elif PROOFS.get(shape.name) is not None:
            partly = (not leaf.is_sound or harmed) and PROOFS[shape.name] == "content"
            if partly and not tells_times(shape, row):  # no hash is over them, and harm may end within the last of them
                yield FoundRow(number, row, origin, "a time in it is none")
            else:
                yield FoundRow(number, row, origin, is_older=leaf.is_stale, is_partly_proven=partly)
        else:
            reason = "a newer state of its page is damaged" if leaf.is_stale else "its page is damaged"
            yield FoundRow(number, row, origin, reason)


def _read_row(image: DatabaseImage, page_map: PageMap, shape: TableShape, leaf: Leaf, cell: Cell) -> Record | str:
    payload = read_payload(image, page_map, leaf.number, cell)
    if payload is None:
        return "a page it goes on is damaged"
    try:
        return fit_row(shape, cell.rowid, decode_record(payload))
    except BrokenRecord as failure:
        return str(failure)
