"""CSV and TSV: ranges of rows under their header."""

from __future__ import annotations

import csv
import io

from vaults.formats.parsed_document import ParsedDocument, ParseLimits
from vaults.formats.part_limits import take_parts
from vaults.formats.row_ranges import NumberedRows, cut_rows
from vaults.formats.text_encoding import read_text

MAX_CELL = 100_000
"""Characters of a cell above which a quote is taken for one that nobody closed."""

_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE = 50


def parse(data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Parse rows; the delimiter is the one that cuts the first rows most evenly."""
    warnings: list[str] = []
    text = read_text(data, limits, warnings)
    delimiter = find_delimiter(text)
    before = csv.field_size_limit(MAX_CELL)
    try:
        parts = take_parts(cut_rows(_read_rows(text, delimiter, warnings), str), limits, warnings)
    finally:
        csv.field_size_limit(before)  # it is the whole process's
    mime = "text/tab-separated-values" if delimiter == "\t" else "text/csv"
    return ParsedDocument("csv", mime, parts, warnings=tuple(warnings))


def find_delimiter(text: str) -> str:
    """The delimiter that stands in most of the first lines, equally often."""
    lines = [line for line in text[:20_000].split("\n")[:_SAMPLE] if line.strip()]

    def evenness(delimiter: str) -> tuple[int, int]:
        counts = [line.count(delimiter) for line in lines]
        usual = max(set(counts), key=counts.count, default=0)
        return (counts.count(usual) if usual else 0, usual)

    return max(_DELIMITERS, key=evenness)


def _read_rows(text: str, delimiter: str, warnings: list[str]) -> NumberedRows:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    number = 0
    while True:
        try:
            row = next(rows, None)
        except csv.Error:
            if not warnings:
                warnings.append("some rows are no valid CSV, and were left out")
            continue
        if row is None:
            return
        number += 1
        yield number, row
