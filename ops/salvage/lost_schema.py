"""Which page each table begins on, from what is left of the schema; what the schema lost is told by the rows.

The schema is a table like any other and begins on the first page. Where a leaf of it is gone, the pointer map still
lists the pages that tables begin on, and the form of the rows there tells which table it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ops.salvage.database_image import DatabaseImage
from ops.salvage.page_map import PageMap
from ops.salvage.record_format import BrokenRecord, Record, decode_record
from ops.salvage.table_shapes import TableShape, fit_row
from ops.salvage.table_trees import Leaf, TableTree, read_payload, walk_table

SCHEMA_ROOT = 1
STEPS_TABLE = "schema_steps"
_KINDS = ("table", "index", "view", "trigger")
_SAMPLE = 200


@dataclass(slots=True)
class FoundSchema:
    """Where tables and their indexes begin. ``guessed``: tables known by their rows only. ``is_whole``: nothing of the
    schema is missing."""

    tables: dict[str, int] = field(default_factory=dict)
    indexes: dict[str, list[int]] = field(default_factory=dict)
    guessed: set[str] = field(default_factory=set)
    is_whole: bool = True


def read_schema(image: DatabaseImage, page_map: PageMap) -> FoundSchema:
    """What is left of the schema."""
    found = FoundSchema()
    tree = walk_table(image, page_map, SCHEMA_ROOT)
    found.is_whole = tree.is_whole
    for _, _, record in read_records(image, page_map, tree):
        if len(record) != 5 or record[0] not in _KINDS:
            continue
        kind, name, table, root, sql = record
        if not isinstance(root, int) or not isinstance(name, str) or not 1 < root <= image.count:
            continue
        if kind == "table":
            found.tables[name] = root
        elif kind == "index" and isinstance(table, str) and not (isinstance(sql, str) and " WHERE " in sql):
            found.indexes.setdefault(table, []).append(root)
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


def guess_tables(image: DatabaseImage, page_map: PageMap, found: FoundSchema, shapes: Mapping[str, TableShape]) -> None:
    """Find the tables that the schema does not name any more by the form of their rows. One that several tables might
    be stays unknown, and so does one without rows."""
    missing = [shape for name, shape in shapes.items() if name not in found.tables]
    claimed = {*found.tables.values(), *(root for roots in found.indexes.values() for root in roots)}
    if not missing or found.is_whole:
        return
    for root in page_map.roots:
        page = image.tree(root)
        if root in claimed or (page is not None and page.kind.startswith("index")):
            continue
        rows = _sample(image, page_map, walk_table(image, page_map, root))
        fitting = [shape for shape in missing if rows and _fits(shape, rows)]
        if len(fitting) == 1:
            found.tables[fitting[0].name] = root
            found.guessed.add(fitting[0].name)
            missing.remove(fitting[0])


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
