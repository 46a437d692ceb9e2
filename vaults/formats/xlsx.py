"""XLSX: each sheet as ranges of rows under their header, with the values that were last computed."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, time
from functools import partial
from itertools import islice
from typing import Any

from vaults.formats.office_package import read_core_properties
from vaults.formats.packed_file import HEAD_BYTES, PackedFile, refuse_late_entities
from vaults.formats.parsed_document import ParsedDocument, ParsedPart, ParseLimits
from vaults.formats.part_limits import take_parts
from vaults.formats.row_ranges import NumberedRows, cut_rows

MIME = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

MAX_COLUMNS = 256
"""Columns read of a sheet."""

MAX_ROWS = 1_048_576
"""Rows a sheet can have."""


def parse(data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Parse an XLSX. Rows are read one after the other, so that a large sheet takes no memory."""
    import openpyxl

    packed = PackedFile(data, limits)
    for name in packed.names:
        if name.endswith((".xml", ".rels")):
            refuse_late_entities(packed.find(name, HEAD_BYTES) or b"")
    about = read_core_properties(packed)
    warnings: list[str] = []
    with closing(openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)) as book:
        sheets = book.worksheets
        if len(sheets) > limits.pages:
            warnings.append(f"only the first {limits.pages} of {len(sheets)} sheets were read")
        parts = take_parts(_read_sheets(sheets[: limits.pages], warnings), limits, warnings)
    return ParsedDocument(
        format="xlsx",
        mime=MIME,
        parts=parts,
        title=about.title,
        author=about.author,
        created_at=about.created_at,
        modified_at=about.modified_at,
        warnings=tuple(warnings),
        metadata={"sheets": len(sheets)},
    )


def _read_sheets(sheets: list[Any], warnings: list[str]) -> Iterator[ParsedPart]:
    for sheet in sheets:
        name = " ".join(str(sheet.title).split())[:100]
        if (sheet.max_column or 0) > MAX_COLUMNS:
            warnings.append(f"sheet {name}: only the first {MAX_COLUMNS} columns were read")
        sheet.reset_dimensions()  # what a file says of its size need not be so
        yield from cut_rows(_read_rows(sheet), partial("sheet {}, {}".format, name), heading=name)


def _read_rows(sheet: Any) -> NumberedRows:
    rows = sheet.iter_rows(max_col=MAX_COLUMNS, values_only=True)
    for number, row in enumerate(islice(rows, MAX_ROWS), 1):  # a file may name a row beyond any, after a gap as long
        if row.count(None) < len(row):
            yield number, [_to_text(value) for value in row]


def _to_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "minutes")
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)
