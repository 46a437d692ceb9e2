"""Records and numbers are read as SQLite writes them; whatever else the bytes are, they are no record."""

from __future__ import annotations

import tempfile
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ops.salvage.database_image import DatabaseImage
from ops.salvage.page_map import read_page_map
from ops.salvage.record_format import BrokenRecord, decode_record, read_varint
from ops.salvage.table_trees import read_payload, walk_table
from tests.work import examples
from vaults.db.engine import sqlite
from vaults.db.trusted_frames import TrustedFrames

VALUES = st.one_of(
    st.none(),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.floats(allow_nan=False).filter(lambda value: value != 0 and not value.is_integer()),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=9000),
    st.binary(max_size=9000),
)
ROWS = st.lists(
    st.tuples(st.integers(-(1 << 63), (1 << 63) - 1), VALUES, VALUES), max_size=12, unique_by=lambda r: r[0]
)


@settings(max_examples=examples(40))
@given(ROWS)
def test_rows_that_sqlite_wrote_are_read_the_same(rows: list[tuple[int, object, object]]) -> None:
    with closing(sqlite.connect(":memory:", isolation_level=None)) as raw:
        raw.execute("PRAGMA auto_vacuum=INCREMENTAL")
        raw.execute("CREATE TABLE boats (number INTEGER PRIMARY KEY, one, other)")
        raw.executemany("INSERT INTO boats VALUES (?, ?, ?)", rows)
        root = raw.execute("SELECT rootpage FROM sqlite_schema").fetchone()[0]
        image = _image_of(raw)
    tree = walk_table(image, page_map := read_page_map(image), root)
    read = []
    for leaf in tree.leaves:
        assert leaf.is_sound
        for cell in image.tree(leaf.number).cells:  # type: ignore[union-attr]
            payload = read_payload(image, page_map, leaf.number, cell)
            assert payload is not None
            read.append((cell.rowid, *decode_record(payload)[1:]))
    assert tree.is_whole
    assert read == sorted(rows)


def _image_of(raw: sqlite.Connection) -> DatabaseImage:
    data = _serialise(raw)
    return DatabaseImage(4096, len(data) // 4096, data, TrustedFrames(), True, True, 0)


def _serialise(raw: sqlite.Connection) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        raw.execute("VACUUM INTO ?", (f"{folder}/copy.db",))
        return Path(folder, "copy.db").read_bytes()


@given(st.binary(max_size=200))
def test_any_bytes_are_a_record_or_none(data: bytes) -> None:
    with suppress(BrokenRecord):
        assert isinstance(decode_record(data), tuple)


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_numbers_are_read_back(number: int) -> None:
    assert read_varint(_to_varint(number), 0) == (number, len(_to_varint(number)))


def _to_varint(number: int) -> bytes:
    value = number % (1 << 64)
    if value >= 1 << 56:
        head = [(value >> shift) & 0x7F | 0x80 for shift in range(57, 7, -7)]
        return bytes([*head, value & 0xFF])
    digits = [value & 0x7F]
    while value := value >> 7:
        digits.append(value & 0x7F | 0x80)
    return bytes(reversed(digits))


@pytest.mark.parametrize("data", [b"", b"\xff", b"\x02\x0a", b"\x02\x01", b"\x02\x09\x00", b"\x03\x0f"])
def test_a_record_fills_its_bytes_exactly(data: bytes) -> None:
    with pytest.raises(BrokenRecord):
        decode_record(data)
