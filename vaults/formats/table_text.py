"""Tables as lines of text: a row per line, its cells between bars, the header first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MAX_CELL = 2_000
"""Max characters of a cell."""


def to_row(cells: Sequence[str]) -> str:
    """A row as a line; empty for one without text. Bars in cells are escaped, empty cells at the end left off."""
    texts = [" ".join(cell[:MAX_CELL].split()).replace("|", "\\|") for cell in cells]
    while texts and not texts[-1]:
        texts.pop()
    return f"| {' | '.join(texts)} |" if texts else ""


def to_table(rows: Iterable[Sequence[str]]) -> str:
    """The rows that hold text."""
    return "\n".join(line for row in rows if (line := to_row(row)))
