"""What commands print: results on stdout, everything about the run on stderr."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

LINE_EVERY_S = 5.0
"""Seconds between two lines of progress where there is no terminal."""

Advance = Callable[[int, int, str], None]
"""Show progress: done, of how much, a word about it."""


def say(text: str = "") -> None:
    """A line of the result, in UTF-8 whatever the locale says."""
    _write(sys.stdout, text)


def note(text: str) -> None:
    """A line about the run."""
    _write(sys.stderr, text)


def say_json(value: Any) -> None:
    """A result for programs."""
    say(json.dumps(value, ensure_ascii=False, indent=2, default=_plain))


def say_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns as wide as they need to be."""
    cells = [list(head), *[["" if cell is None else str(cell) for cell in row] for row in rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    for row in cells:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


@contextmanager
def progress(label: str) -> Iterator[Advance]:
    """A bar on a terminal, a plain line now and then elsewhere; on stderr."""
    if sys.stderr.isatty():
        with _bar(label) as advance:
            yield advance
        return
    last = time.monotonic()

    def lines(done: int, total: int, text: str) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_EVERY_S:
            last = time.monotonic()
            note(f"{label}: {_share(done, total)}{text}")

    yield lines


@contextmanager
def _bar(label: str) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[text]}"),
    )
    # rich honours NO_COLOR by itself.
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(label, total=None, text="")

        def advance(done: int, total: int, text: str) -> None:
            bars.update(task, completed=done, total=max(total, 1), text=text)

        yield advance


def _share(done: int, total: int) -> str:
    return f"{100 * done // total} %, " if total else ""


def _plain(value: Any) -> Any:
    label = getattr(value, "label", None)
    return label if label is not None else str(value)


def _write(stream: Any, text: str) -> None:
    raw = getattr(stream, "buffer", None)
    if raw is None:
        stream.write(text + "\n")
    else:
        raw.write(text.encode("utf-8", "replace") + b"\n")
    stream.flush()
