"""Rows of a CSV or TSV file, whatever programs make of it, each within bounds."""

from __future__ import annotations

import codecs
import csv
import re
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, TextIO

from vaults.errors import InvalidArgument

ROW_CHARACTERS = 1 << 20

_DELIMITERS = ",;\t|"
_SAMPLE = 1 << 16
_SHOWN = 4_096  # characters of a row that is reported
_HINT = re.compile(r"sep=(.)\s*")  # what Excel writes before the header
_SURROGATES = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row and the line it begins in. ``problem``: why it has no cells; ``raw`` is what can be shown of it then."""

    line: int
    cells: list[str] = field(default_factory=list)
    problem: str | None = None
    raw: str | None = None


def find_encoding(file: BinaryIO) -> str:
    """UTF-8 or UTF-16, with or without a mark; stands at the beginning again. Raises ``InvalidArgument`` for others."""
    sample = file.read(_SAMPLE)
    file.seek(0)
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if sample[1::2].count(0) > len(sample) // 4:
        return "utf-16-le"
    if sample[::2].count(0) > len(sample) // 4:
        return "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        raise InvalidArgument("PATH", "is neither UTF-8 nor UTF-16", hint="save it as CSV UTF-8") from None
    return "utf-8-sig"


def find_delimiter(text: TextIO, known: Collection[str]) -> str:
    """What separates the cells, judged by the header: where most columns have a known name, then where there are most.
    Stands before the header."""
    first = text.readline(ROW_CHARACTERS)
    text.seek(0)
    if hint := _HINT.fullmatch(first):
        return hint[1]

    def rate(delimiter: str) -> tuple[int, int]:
        cells = next(csv.reader([first], delimiter=delimiter), [])
        names = {cell.strip().lower().replace(" ", "_") for cell in cells} | set(cells)
        return len(names.intersection(known)), len(cells)

    return max(_DELIMITERS, key=rate)


def read_rows(text: TextIO, delimiter: str) -> Iterator[TableRow]:
    """All rows. One that cannot be read costs one line: the next begins in the line after it, so that a quote which
    nobody closed does not swallow the file."""
    lines = _TextLines(text)
    while True:
        start = lines.begin_row()
        try:
            cells = next(csv.reader(lines, delimiter=delimiter, strict=True), None)
        except (csv.Error, _RowTooLong) as failure:
            yield TableRow(start, problem=_explain(failure), raw=lines.give_back())
            continue
        if cells is None:
            return
        if any(_SURROGATES.search(cell) for cell in cells):
            yield TableRow(start, problem="is not UTF-8", raw=lines.show())
        elif cells and not (start == 1 and _HINT.fullmatch(lines.show())):
            yield TableRow(start, cells)


class _RowTooLong(Exception):
    """A row that does not end within bounds."""


def _explain(failure: Exception) -> str:
    said = str(failure)
    if "field larger" in said:
        return f"has a cell of more than {csv.field_size_limit():,} characters"
    if "unexpected end" in said:
        return "has a quote that is not closed"
    return "has quotes that do not fit" if isinstance(failure, csv.Error) else "is too long, or a quote is not closed"


class _TextLines:
    """Lines of a file, of which those of a row can be given back."""

    def __init__(self, text: TextIO) -> None:
        self._text = text
        self._taken: list[str] = []
        self._back: deque[str] = deque()
        self._next = 1
        self._size = 0

    def begin_row(self) -> int:
        """Forget the lines taken so far; returns the number of the next."""
        self._taken, self._size = [], 0
        return self._next

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._back.popleft() if self._back else self._text.readline(ROW_CHARACTERS)
        if not line:
            raise StopIteration
        self._taken.append(line)
        self._size += len(line)
        self._next += 1
        if self._size >= ROW_CHARACTERS:
            while not line.endswith(("\n", "\r")) and (line := self._text.readline(ROW_CHARACTERS)):
                continue
            raise _RowTooLong
        return line

    def give_back(self) -> str:
        """Have all lines of the row but its first come again; returns what can be shown of the first."""
        shown = self.show()
        self._back.extendleft(reversed(self._taken[1:]))
        self._next -= len(self._taken) - 1
        return shown

    def show(self) -> str:
        """The beginning of the row."""
        return _SURROGATES.sub("\ufffd", "".join(self._taken[:1])[:_SHOWN]).rstrip("\r\n")
