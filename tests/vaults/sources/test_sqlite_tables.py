"""Rows become records; what is none is said so, and the next one follows.

Of vaults/sources/sqlite_tables.py and vaults/sources/source.py.
"""

from __future__ import annotations

import os
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.vaults.sources.sqlite_fixtures import make_database
from vaults.sources.source import SourceRecord, UnreadableRecord
from vaults.sources.sqlite_file import Row, SqliteFile, open_sqlite
from vaults.sources.sqlite_tables import Fields, RowRefused, TableReading, count_left, open_tables, read_tables

SCHEMA = "CREATE TABLE boats (name TEXT, hull BLOB)"


def to_lines(rowid: int, row: Row) -> Iterator[Fields]:
    if row["name"] is None:
        raise RowRefused("has no name")
    yield {"external_id": f"{rowid}", "content": row["name"] + "!"}


READING = TableReading("boats", ("name",), to_lines)


def test_a_bad_row_is_reported_with_its_place_and_what_it_holds(tmp_path: Path) -> None:
    rows = {"boats": [{"name": "a"}, {"name": None}, {"name": 5}, {"name": "b"}]}
    with open_sqlite(make_database(tmp_path / "x.db", SCHEMA, rows)) as file:
        assert list(read_tables(file, [READING])) == [
            SourceRecord("boats 1", {"external_id": "1", "content": "a!"}, 1),
            UnreadableRecord("boats 2", "has no name", 2, '{"name": null}'),
            SourceRecord("boats 3", {"external_id": "3", "content": "5!"}, 3),
            SourceRecord("boats 4", {"external_id": "4", "content": "b!"}, 4),
        ]


def test_a_row_of_another_form_stops_nothing(tmp_path: Path) -> None:
    rows = {"boats": [{"name": b"\x00\x01"}, {"name": "b"}]}
    with open_sqlite(make_database(tmp_path / "x.db", SCHEMA, rows)) as file:
        bad, good = read_tables(file, [READING])
    assert bad == UnreadableRecord("boats 1", "does not have the form it should have", 1, '{"name": "bytes"}')
    assert isinstance(good, SourceRecord)


def test_a_file_that_was_written_to_meanwhile_is_said_to_be_so(tmp_path: Path) -> None:
    path = make_database(tmp_path / "x.db", SCHEMA, {"boats": [{"name": "a"}]})
    with open_tables([path], lambda *_: [READING]) as reading:
        os.utime(path, ns=(1, 1))
        *_, last = reading.items
    assert isinstance(last, UnreadableRecord)
    assert "written to while it was read" in last.reason


def test_what_is_left_is_counted_where_there_is_any(tmp_path: Path) -> None:
    rows = {"boats": [{"name": "a", "hull": b"x"}, {"name": "b"}]}
    left: Counter[str] = Counter()
    with open_sqlite(make_database(tmp_path / "x.db", SCHEMA, rows)) as file:
        count_left(left, file, {"boats": "boats", "boats.hull": "hulls", "boats.flag": "flags", "docks": "docks"})
    assert left == {"boats": 2, "hulls": 1}


def test_progress_over_several_files_grows_to_their_size(tmp_path: Path) -> None:
    paths = [
        make_database(tmp_path / f"{n}.db", SCHEMA, {"boats": [{"name": str(each)} for each in range(n)]})
        for n in (1, 0, 3)
    ]

    def readings(file: SqliteFile, _: Counter[str]) -> list[TableReading]:
        return [READING]

    with open_tables(paths, readings) as reading:
        done = [item.done for item in reading.items]
    assert done == sorted(done)
    assert done[-1] == reading.total == sum(path.stat().st_size for path in paths)


def test_rows_are_not_held(tmp_path: Path) -> None:
    rows = {"boats": [{"name": "x" * 10_000}] * 500}
    path = make_database(tmp_path / "x.db", SCHEMA, rows)
    with open_sqlite(path) as file:
        tracemalloc.start()
        assert sum(1 for _ in read_tables(file, [READING])) == 500
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 500_000
