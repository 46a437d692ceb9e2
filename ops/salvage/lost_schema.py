"""Which page each table begins on, from what is left of the schema; what the schema lost is told by the rows.

The schema is a table like any other and begins on the first page. Where a leaf of it is gone, the pointer map still
lists the pages that tables begin on, and the form of the rows there tells which table it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ops.salvage.database_image import DatabaseImage
from ops.salvage.page_map import ROOT, PageMap
from ops.salvage.record_format import BrokenRecord, Record, decode_record
from ops.salvage.table_shapes import TableShape, fit_row, read_shape
from ops.salvage.table_trees import MOST, Leaf, TableTree, read_payload, walk_table
from vaults.db.sql import Reader

SCHEMA_ROOT = 1
STEPS_TABLE = "schema_steps"
_SAMPLE = 200
_PARTIAL = re.compile(r"\bWHERE\b", re.IGNORECASE)
"""In the statement of an index: it leaves rows out."""


@dataclass(slots=True)
class FoundSchema:
    """Where tables and their indexes begin. ``is_whole``: nothing of the schema is missing."""

    tables: dict[str, int] = field(default_factory=dict)
    indexes: dict[str, dict[int, bool]] = field(default_factory=dict)
    """By table: where each begins, and whether it names every row."""
    is_whole: bool = True


def read_schema(image: DatabaseImage, page_map: PageMap) -> FoundSchema:
    """What is left of the schema."""
    tree = walk_table(image, page_map, SCHEMA_ROOT)
    return _collect(
        (record for _, _, record in read_records(image, page_map, tree)), image.count, is_whole=tree.is_whole
    )


def read_sound_schema(tx: Reader) -> FoundSchema:
    """The schema of a database that is sound."""
    return _collect(tx.all("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema"), MOST, is_whole=True)


def _collect(rows: Iterable[Record], last_page: int, *, is_whole: bool) -> FoundSchema:
    found = FoundSchema(is_whole=is_whole)
    for row in rows:
        if len(row) != 5:
            continue
        kind, name, table, root, sql = row
        if not isinstance(root, int) or not isinstance(name, str) or not 1 < root <= last_page:
            continue
        if kind == "table":
            found.tables[name] = root
        elif kind == "index" and isinstance(table, str):
            is_partial = isinstance(sql, str) and _PARTIAL.search(sql) is not None
            found.indexes.setdefault(table, {})[root] = not is_partial
    return found


def read_records(image: DatabaseImage, page_map: PageMap, tree: TableTree) -> Iterator[tuple[Leaf, int, Record]]:
    """Each row of a table that reads as one: its leaf, its number and its values."""
    for leaf in tree.leaves:
        page = image.tree(leaf.number)
        for cell in page.cells if page is not None else ():
            payload = read_payload(image, page_map, leaf.number, cell)
            if payload is None:
                continue
            try:
                yield leaf, cell.rowid, decode_record(payload)
            except BrokenRecord:
                continue


def complete_schema(image: DatabaseImage, page_map: PageMap, found: FoundSchema, tx: Reader) -> None:
    """Find the tables that the schema does not name any more. ``tx`` reads a new database that the same migrations
    made. SQLite gives a database with a pointer map the same first pages for the same steps, so where what is left of
    the schema agrees with the new one, the rest does; each must hold rows of its form. Else the form alone must tell:
    a table that several might be stays unknown, and so does one without rows."""
    if found.is_whole:
        return
    new = read_sound_schema(tx)
    shapes = {name: read_shape(tx, name) for name in new.tables if name not in found.tables}
    agree = all(new.tables.get(name) == root for name, root in found.tables.items())
    if agree and image.pointer_maps:
        for name, shape in shapes.items():
            rows = _sample(image, page_map, walk_table(image, page_map, new.tables[name]))
            if page_map.entries.get(new.tables[name], (ROOT, 0)) == (ROOT, 0) and _fits(shape, rows):
                found.tables[name] = new.tables[name]
        for table, roots in new.indexes.items():
            found.indexes.setdefault(table, {}).update(roots)
        return
    _guess_by_form(image, page_map, found, shapes)


def _guess_by_form(
    image: DatabaseImage, page_map: PageMap, found: FoundSchema, shapes: Mapping[str, TableShape]
) -> None:
    missing = dict(shapes)
    claimed = {*found.tables.values(), *(root for roots in found.indexes.values() for root in roots)}
    for root in page_map.roots:
        page = image.tree(root)
        if root in claimed or (page is not None and page.kind.startswith("index")):
            continue
        rows = _sample(image, page_map, walk_table(image, page_map, root))
        fitting = [shape for shape in missing.values() if rows and _fits(shape, rows)]
        if len(fitting) == 1:
            found.tables[fitting[0].name] = root
            del missing[fitting[0].name]


def _sample(image: DatabaseImage, page_map: PageMap, tree: TableTree) -> list[tuple[int, Record]]:
    rows: list[tuple[int, Record]] = []
    for leaf, number, record in read_records(image, page_map, tree):
        if leaf.is_sound:
            rows.append((number, record))
        if len(rows) == _SAMPLE:
            break
    return rows


def _fits(shape: TableShape, rows: Sequence[tuple[int, Record]]) -> bool:
    return all(not isinstance(fit_row(shape, number, record), str) for number, record in rows)
