"""Rows of tables become memories (vaults.sources.tables, vaults.sources.table_cells, vaults.sources.table_rows)."""

from __future__ import annotations

import codecs
import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vaults.sources.sqlite_fixtures import ReadSource, read_source
from vaults.errors import InvalidArgument
from vaults.sources import table_rows
from vaults.sources.source import SourceRecord
from vaults.sources.table_rows import read_rows
from vaults.sources.tables import SOURCE, open_table


def read(tmp_path: Path, data: str | bytes) -> ReadSource:
    path = tmp_path / "table.csv"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_source(SOURCE, path)


def test_columns_are_fields_by_their_name(tmp_path: Path) -> None:
    header = "External ID,Content,Type,Tags,created-at,confidence,position,metadata,Room"
    row = 'x:1,"The harbour, they say, opens at nine",fact,"boats; harbour",2026-01-02,0.5,3,"{""a"": 1}",B12'
    (line,) = read(tmp_path, f"{header}\n{row}\n").lines
    assert line == {
        "external_id": "x:1",
        "content": "The harbour, they say, opens at nine",
        "type": "fact",
        "tags": ["boats", "harbour"],
        "created_at": "2026-01-02T00:00:00.000Z",
        "confidence": 0.5,
        "position": 3,
        "metadata": {"Room": "B12", "a": 1},
    }


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_delimiters_and_line_ends_are_found_out(tmp_path: Path, delimiter: str, newline: str) -> None:
    rows = [["content", "title"], ["a; b, c | d\te", "t"], ["two\nlines", ""], [], ["c", "d"]]
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, lineterminator=newline, quoting=csv.QUOTE_ALL).writerows(rows)
    found = read(tmp_path, file.getvalue())
    assert [line["content"] for line in found.lines] == ["a; b, c | d\te", "two\nlines", "c"]
    assert found.unreadable == []


def test_what_excel_writes_before_the_header_is_no_row(tmp_path: Path) -> None:
    found = read(tmp_path, "sep=|\r\ncontent|title\r\na|b\r\n")
    assert [(line["content"], line["title"]) for line in found.lines] == [("a", "b")]


@pytest.mark.parametrize(
    "data",
    [
        "content\nGröße\n".encode(),
        "content\nGröße\n".encode("utf-8-sig"),
        "content\nGröße\n".encode("utf-16"),
        codecs.BOM_UTF16_BE + "content\nGröße\n".encode("utf-16-be"),
        "content\nGröße\n".encode("utf-16-le"),
        "content\nGröße\n".encode("utf-16-be"),
    ],
)
def test_each_unicode_encoding_is_read(tmp_path: Path, data: bytes) -> None:
    assert [line["content"] for line in read(tmp_path, data).lines] == ["Größe"]


def test_other_encodings_are_refused_and_a_row_in_one_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="neither UTF-8 nor UTF-16"):
        read(tmp_path, "content\nGröße\n".encode("cp1252"))
    rows = b"".join(b"x:%d,fine\n" % number for number in range(10_000))
    found = read(tmp_path, b"external_id,content\n" + rows + b"y,Gr\xf6\xdfe\nz,fine too\n")
    assert len(found.lines) == 10_001
    assert [(each.place, each.reason, each.raw) for each in found.unreadable] == [
        ("line 10002", "is not UTF-8", "y,Gr\ufffd\ufffde")
    ]


def test_ids_come_from_what_a_row_says(tmp_path: Path) -> None:
    first = read(tmp_path, "content,title\na,b\nc,d\n").lines
    moved = read(tmp_path, "title,content,new\nz,z,\nb,a,\n").lines
    assert first[0]["external_id"] == moved[1]["external_id"]
    assert first[0]["external_id"].startswith("csv:")
    assert len({line["external_id"] for line in first + moved}) == 3


def test_a_quote_that_nobody_closed_costs_one_row(tmp_path: Path) -> None:
    found = read(tmp_path, 'content,title\na,b\n"open,c\nd,e\nf,g\n')
    assert [line["content"] for line in found.lines] == ["a", "d", "f"]
    assert [(each.place, each.reason, each.raw) for each in found.unreadable] == [
        ("line 3", "has a quote that is not closed", '"open,c')
    ]


def test_a_row_too_long_costs_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_rows, "ROW_CHARACTERS", 1000)
    lines = "".join(f"row {number}\n" for number in range(300))
    found = read(tmp_path, f'content\n{"x" * 5000}\nfine\n"open\n{lines}')
    assert len(found.lines) == 301
    assert [each.place for each in found.unreadable] == ["line 2", "line 4"]
    assert found.lines[-1]["content"] == "row 299"


def test_rows_that_do_not_fit_are_said(tmp_path: Path) -> None:
    rows = ["a,b,c", ",title only", "a,b,,", "x" * 200_000 + ",t", '"a"b,c', ",", "fine,t"]
    found = read(tmp_path, "content,confidence\n" + "\n".join(rows).replace("title only", "0.5").replace(",t", ","))
    assert [(each.place, each.reason) for each in found.unreadable] == [
        ("line 2", "has 3 cells, and the header 2"),
        ("line 3", "has no content"),
        ("line 4", "has a confidence that cannot be read: b"),
        ("line 5", "has a cell of more than 131,072 characters"),
        ("line 6", "has quotes that do not fit"),
    ]
    assert [line["content"] for line in found.lines] == ["fine"]


def test_columns_can_be_named_by_the_caller(tmp_path: Path) -> None:
    path = tmp_path / "table.tsv"
    path.write_text("Note\tWhen\tcontent\nhello\t2026-01-02\tother\n")
    with open_table(path, {"Note": "content", "When": "occurred_at"}) as reading:
        (item,) = reading.items
    assert isinstance(item, SourceRecord)
    assert {name: item.fields[name] for name in ("content", "occurred_at", "metadata")} == {
        "content": "hello",
        "occurred_at": "2026-01-02T00:00:00.000Z",
        "metadata": {"content": "other"},
    }
    with open_table(path, {"Note": "content", "When": "", "content": ""}) as reading:
        (item,) = reading.items
    assert isinstance(item, SourceRecord)
    assert item.fields.keys() == {"external_id", "content", "type"}


@pytest.mark.parametrize(
    ("header", "columns", "reason"),
    [
        ("Note,When", {}, "no column content; its columns are: Note, When"),
        ("Note,When", {"Note": "contents"}, "is no field"),
        ("content,Content", {}, "has another column already"),
        ("", {}, "no header"),
    ],
)
def test_a_header_that_does_not_fit_is_refused(
    tmp_path: Path, header: str, columns: dict[str, str], reason: str
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(header + "\n")
    with pytest.raises(InvalidArgument, match=reason), open_table(path, columns):
        pass


def test_what_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="cannot be read"), open_table(tmp_path):
        pass


_CELLS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=12)


@given(st.lists(st.lists(_CELLS, min_size=2, max_size=4), min_size=1, max_size=5), st.sampled_from(",;\t|"))
def test_it_reads_what_a_writer_wrote(rows: list[list[str]], delimiter: str) -> None:
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows(rows)
    text = io.StringIO(file.getvalue(), newline="")
    assert [row.cells for row in read_rows(text, delimiter)] == rows


@given(st.text(st.sampled_from('a",;\n\r\t |sep='), max_size=60))
def test_nothing_in_a_file_raises_and_each_line_counts(text: str) -> None:
    rows = list(read_rows(io.StringIO(text, newline=""), ","))
    lines = [row.line for row in rows]
    assert lines == sorted(set(lines))
