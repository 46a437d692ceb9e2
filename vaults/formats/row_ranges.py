"""Rows of a sheet as parts: a range of rows each, the header repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from vaults.formats.number_ranges import describe_range
from vaults.formats.parsed_document import ParsedPart
from vaults.formats.part_cutting import PART_CHARACTERS
from vaults.formats.table_text import to_row

RANGE_CHARACTERS = 4_000
"""Characters after which a range ends: a hit names few rows, and the header costs little."""

MAX_HEADER = 1_000
"""Characters of a header above which it is not repeated."""

NumberedRows = Iterable[tuple[int, Sequence[str]]]


def cut_rows(rows: NumberedRows, describe: Callable[[str], str], heading: str | None = None) -> Iterator[ParsedPart]:
    """The parts of a sheet. ``describe`` makes a place of "rows 2–40". Rows without text are left out."""
    header = ""
    lines: list[str] = []
    first = last = size = 0
    for number, cells in rows:
        line = to_row(cells)[:PART_CHARACTERS]
        if not line:
            continue
        if lines and size + len(line) > RANGE_CHARACTERS:
            yield _to_part(lines, describe, heading, (first, last))
            lines, size = [header] if header else [], len(header)
            first = 0
        if not lines and not last and _is_header(cells) and len(line) <= MAX_HEADER:
            header = line
        first, last = first or number, number
        lines.append(line)
        size += len(line) + 1
    if lines and first:
        yield _to_part(lines, describe, heading, (first, last))


def _to_part(
    lines: list[str], describe: Callable[[str], str], heading: str | None, rows: tuple[int, int]
) -> ParsedPart:
    place = f"row{'s' if rows[0] != rows[1] else ''} {describe_range(*rows)}"
    return ParsedPart("\n".join(lines), heading=heading, locator=describe(place))


def _is_header(cells: Sequence[str]) -> bool:
    """Whether a first row names columns: words, none twice."""
    named = [cell.strip() for cell in cells if cell.strip()]
    return bool(named) and len(set(named)) == len(named) and not any(_is_number(cell) for cell in named)


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True
