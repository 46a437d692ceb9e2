"""Rows and values: ``vaults.formats.delimited``, ``vaults.formats.row_ranges``, ``vaults.formats.table_text``,
``vaults.formats.json_values``, ``vaults.formats.yaml_text``."""

from __future__ import annotations

import pytest

from tests.vaults.formats.made_files import read
from vaults.formats.delimited import find_delimiter
from vaults.formats.parsed_document import ParseFailed, ParseLimits
from vaults.formats.table_text import to_row, to_table


def test_rows_come_in_ranges_under_their_header() -> None:
    data = "Item;Cost\n" + "".join(f'"thing; {number}";{number}\n' for number in range(500))
    parts = read(data.encode(), "a.csv").parts
    assert parts[0].text.startswith("| Item | Cost |\n| thing; 0 | 0 |\n")
    assert all(part.text.startswith("| Item | Cost |\n") for part in parts)
    assert (parts[0].locator, parts[-1].locator) == ("rows 1–201", "rows 391–501")


def test_a_first_row_of_numbers_is_no_header() -> None:
    parts = read("".join(f"{number},2.5\n" for number in range(2_000)).encode(), "a.csv").parts
    assert len(parts) > 1
    assert not parts[1].text.startswith("| 0 |")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter: str) -> None:
    text = "\n".join(delimiter.join(("name, first", "a", "b")) for _ in range(5)).replace("name, first", "name")
    assert find_delimiter(f"{text}\n") == delimiter
    assert read(f"{text}\n".encode(), "a.csv").parts[0].text.startswith("| name | a | b |")


def test_fifty_megabytes_are_read_up_to_the_limit() -> None:
    row = b"a name of something,1234,a remark about it\n"
    parsed = read(row * (50_000_000 // len(row)), "a.csv", ParseLimits(characters=200_000))
    assert sum(len(part.text) for part in parsed.parts) <= 200_000
    assert parsed.warnings[0] == "only the first 200,000 characters were read: too long"


def test_a_quote_nobody_closed_costs_its_row() -> None:
    parsed = read(b'a,b\n"open,' + b"x" * 150_000 + b"\nc,d\n", "a.csv")
    assert "some rows are no valid CSV, and were left out" in parsed.warnings


def test_rows_become_lines() -> None:
    assert to_row(["a", " b\nc ", "d|e", "", ""]) == "| a | b c | d\\|e |"
    assert to_table([["a"], ["", ""], ["b"]]) == "| a |\n| b |"


def test_json_becomes_keys_and_values() -> None:
    data = (
        b'{"name": "x", "price": 1.10, "big": 12345678901234567890, "on": true, "tags": ["a", {"b": null}], "none": {}}'
    )
    (part,) = read(data, "a.json").parts
    assert part.text == "name: x\nprice: 1.10\nbig: 12345678901234567890\non: true\ntags:\n  - a\n  -\n    b:\nnone:"


def test_long_members_are_parts_of_their_own_by_items() -> None:
    items = ",".join(f'{{"id": {number}, "what": "thing number {number}"}}' for number in range(400))
    parts = read(f'{{"version": 1, "items": [{items}]}}'.encode(), "a.json").parts
    assert [(part.heading, part.locator) for part in parts[:2]] == [(None, None), ("items", "items, items 1–114")]


def test_a_value_per_line_is_read_and_bad_lines_are_counted() -> None:
    parsed = read(b'{"a": 1}\nnot json\n{"a": 2}\n', "a.jsonl")
    assert [(part.text, part.locator) for part in parsed.parts] == [("-\n  a: 1\n-\n  a: 2", "lines 1–3")]
    assert parsed.warnings == ("1 lines are no valid JSON, and were left out",)


def test_json_with_comments_is_text() -> None:
    parsed = read(b'{\n  // why\n  "a": 1,\n}\n', "a.json")
    assert "// why" in parsed.parts[0].text
    assert parsed.warnings == ("no valid JSON: read as text",)


@pytest.mark.parametrize("data", [b"[" * 100_000, b"[" * 500 + b"1" + b"]" * 500])
def test_json_that_is_nested_too_deep_is_refused(data: bytes) -> None:
    with pytest.raises(ParseFailed) as refused:
        read(data, "a.json")
    assert refused.value.problem == "too_deep"


def test_yaml_is_cut_at_its_keys_as_it_is_written() -> None:
    lines = [f"key{number}:  # {'why ' * 300}\n  - &a [*a, *a]" for number in range(3)]
    parts = read("\n".join(["---", *lines]).encode(), "a.yaml").parts
    assert [(part.heading, part.locator) for part in parts] == [
        (None, "lines 2–5"),
        ("key2", "lines 6–7"),
    ]
    assert "- &a [*a, *a]" in parts[0].text
