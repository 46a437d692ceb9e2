"""What the schema says of indexes, and pages that lead in circles.

Covers ops.salvage.index_trees, ops.salvage.table_trees.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from ops.salvage.database_image import DatabaseImage
from ops.salvage.index_trees import read_index
from ops.salvage.lost_schema import read_sound_schema
from ops.salvage.page_map import PageMap
from ops.salvage.table_trees import read_payload
from ops.salvage.tree_pages import Cell
from tests.blanks import blank_database
from vaults.db.engine import sqlite
from vaults.db.sql import Reader
from vaults.db.table_tags import canonical_tables
from vaults.db.trusted_frames import TrustedFrames

PAGE = 4096


def test_an_index_that_leaves_rows_out_is_known_as_one(tmp_path: Path) -> None:
    """Whoever took it for a whole one would take the rows it lacks for deleted."""
    (tmp_path / "blank.db").write_bytes(blank_database("vault"))
    with closing(sqlite.connect(tmp_path / "blank.db")) as raw:
        found = read_sound_schema(Reader(raw)).indexes
        names = dict(raw.execute("SELECT name, rootpage FROM sqlite_schema WHERE type = 'index'"))
        for table in canonical_tables("vault"):
            listed = raw.execute(f"SELECT name, partial FROM pragma_index_list('{table}')").fetchall()
            assert found.get(table, {}) == {names[name]: not partial for name, partial in listed}, table


def _image(*pages: bytes) -> DatabaseImage:
    data = b"".join(page.ljust(PAGE, b"\0") for page in pages)
    return DatabaseImage(PAGE, len(pages), data, TrustedFrames(), has_header=True, pointer_maps=True, change=0)


def test_a_map_that_leads_in_circles_comes_to_an_end() -> None:
    found = read_index(_image(*[b""] * 4), PageMap(children={2: [3], 3: [4], 4: [2]}), 2)
    assert not found.is_whole


def test_pages_of_a_long_row_that_lead_in_circles_come_to_an_end() -> None:
    pages = [b"", b"", (4).to_bytes(4), (3).to_bytes(4)]
    for size in (3 * PAGE, 1 << 40):
        assert read_payload(_image(*pages), PageMap(), 1, Cell(1, b"begins", size, 3)) is None
