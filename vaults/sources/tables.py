"""Tables with a header, as CSV or TSV: a row is a memory, and columns are named as the fields of our lines.

A caller may say otherwise which column is which field; the rest becomes metadata under its own name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO

from vaults.errors import InvalidArgument
from vaults.sources.record_fields import clean_text, to_label, to_memories
from vaults.sources.record_ids import digest, to_external_id
from vaults.sources.source import Source, SourceItem, SourceReading, SourceRecord, UnreadableRecord
from vaults.sources.table_cells import FIELDS, CellRefused, to_value
from vaults.sources.table_rows import TableRow, find_delimiter, find_encoding, read_rows

SYSTEM = "csv"


@contextmanager
def open_table(path: Path, columns: Mapping[str, str] | None = None) -> Iterator[SourceReading]:
    """The rows of a table. ``columns``: fields by the names of columns, for those that are named otherwise; '' for one
    to leave out. Raises ``InvalidArgument`` also for a table whose columns have no content."""
    try:
        size = path.stat().st_size
        file = path.open("rb")
    except OSError as failure:
        raise InvalidArgument("PATH", f"{path} cannot be read: {failure.strerror}") from failure
    with file:
        text = TextIOWrapper(file, find_encoding(file), errors="surrogateescape", newline="")
        rows = read_rows(text, find_delimiter(text, FIELDS | set(columns or ())))
        header = next(rows, None)
        if header is None or header.problem:
            raise InvalidArgument("PATH", f"{path} has no header that can be read")
        yield SourceReading(size, _read(file, rows, _name_columns(header.cells, columns or {})))


def _name_columns(header: list[str], columns: Mapping[str, str]) -> list[tuple[str, str | None]]:
    """For each column its name, and the field it is; None for one that becomes metadata, '' for one left out."""
    named: list[tuple[str, str | None]] = []
    for position, cell in enumerate(header, 1):
        name = to_label(cell) or f"column {position}"
        usual = "_".join(name.lower().replace("-", " ").split())
        field = columns.get(name, usual if usual in FIELDS.difference(columns.values()) else None)
        if field and (field not in FIELDS or field in [known for _, known in named]):
            reason = "has another column already" if field in FIELDS else "is no field"
            raise InvalidArgument("PATH", f"has a column '{name}' for {field}, which {reason}")
        named.append((name, field))
    if "content" not in [field for _, field in named]:
        known = ", ".join(name if len(name) <= 40 else f"{name[:40]}…" for name, _ in named[:20])
        raise InvalidArgument(
            "PATH", f"has no column content; its columns are: {known}", hint="say which column is the content"
        )
    return named


def _read(file: BinaryIO, rows: Iterator[TableRow], columns: list[tuple[str, str | None]]) -> Iterator[SourceItem]:
    for row in rows:
        place, done = f"line {row.line}", file.tell()
        if not row.problem and not any(cell.strip() for cell in row.cells):
            continue
        try:
            lines = list(to_memories(_to_fields(row, columns)))
        except CellRefused as refused:
            yield UnreadableRecord(place, str(refused), done, row.raw)
        else:
            yield from (SourceRecord(place, line, done) for line in lines)


def _to_fields(row: TableRow, columns: list[tuple[str, str | None]]) -> dict[str, Any]:
    """The fields of a row. Raises ``CellRefused``."""
    if row.problem:
        raise CellRefused(row.problem)
    if any(cell.strip() for cell in row.cells[len(columns) :]):
        raise CellRefused(f"has {len(row.cells)} cells, and the header {len(columns)}")
    said = [(*column, clean_text(cell).strip()) for column, cell in zip(columns, row.cells, strict=False)]
    fields = {field: to_value(field, text) for _, field, text in said if field and text}
    others = {name: text for name, field, text in said if field is None and text}
    if "content" not in fields:
        raise CellRefused("has no content")
    if others:
        fields["metadata"] = others | fields.get("metadata", {})
    return {"external_id": _make_id(row, columns)} | fields


def _make_id(row: TableRow, columns: list[tuple[str, str | None]]) -> str:
    """The id of a row that has none, from what it says. It stays when columns are moved, or empty ones added."""
    said = [(name, cell.strip()) for (name, _), cell in zip(columns, row.cells, strict=False)]
    return to_external_id(SYSTEM, digest(*sorted(f"{name}={cell}" for name, cell in said if cell)))


def to_source(columns: Mapping[str, str]) -> Source:
    """The source of tables whose columns are named otherwise. ``columns``: as for ``open_table``."""
    return Source(
        SYSTEM,
        "CSV and TSV",
        "a table with a header, one memory in a row",
        find=lambda _: (),
        open=partial(open_table, columns=columns),
        with_columns=to_source,
    )


SOURCE = to_source({})
