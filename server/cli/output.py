"""What commands print: results on stdout, everything about the run on stderr."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

LINE_EVERY_S = 5.0
"""Min seconds between two lines of progress where there is no terminal."""

Advance = Callable[[int, int, str], None]
"""Shows progress: done, total, a message."""


def say(text: str = "") -> None:
    """Print a line of the result, in UTF-8 whatever the locale says."""
    _write(sys.stdout, text)


def say_on_stderr(text: str) -> None:
    """Print a line about the run."""
    _write(sys.stderr, text)


def say_json(value: Any) -> None:
    """Print a result for programs."""
    say(json.dumps(value, ensure_ascii=False, indent=2, default=_to_jsonable))


def say_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows in columns as wide as they need to be."""
    cells = [list(head), *[["" if cell is None else str(cell) for cell in row] for row in rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    for row in cells:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


class PaceEstimate:
    """How long something will still take at its pace so far."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun = self._last = clock()
        self._at = (0, 0)

    def left_s(self, done: int, total: int) -> float | None:
        """Seconds left; None if unknown, or nothing is left. Another total, or less done, begins another stretch."""
        now = self._clock()
        if total != self._at[1] or done < self._at[0]:
            self._begun = self._last
        self._at, self._last = (done, total), now
        return (now - self._begun) * (total - done) / done if 0 < done < total else None


def format_duration(seconds: float) -> str:
    """A duration in one unit, rounded up: nobody is glad to wait longer than was said."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds > 2 * size:
            return f"{math.ceil(seconds / size)} {unit}"
    return f"{math.ceil(seconds)} s"


def format_count(number: int, noun: str) -> str:
    """``1 vault``, ``2,000 vaults``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


@contextmanager
def progress(label: str) -> Iterator[Advance]:
    """A bar on a terminal, a plain line now and then elsewhere; on stderr."""
    if sys.stderr.isatty():
        with _bar(label) as advance:
            yield advance
        return
    pace, last = PaceEstimate(), time.monotonic()
    announced = False

    def lines(done: int, total: int, text: str) -> None:
        nonlocal last, announced
        left_s = pace.left_s(done, total)
        # At once if it will take long: whoever started it may want to do something else meanwhile.
        is_long = left_s is not None and left_s > LINE_EVERY_S and not announced
        if is_long or time.monotonic() - last >= LINE_EVERY_S:
            last, announced = time.monotonic(), True
            say_on_stderr(f"{label}: {_share(done, total)}{text}{_format_left(left_s)}")

    yield lines


@contextmanager
def _bar(label: str) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[text]}"),
    )
    # rich honours NO_COLOR by itself.
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task, pace = bars.add_task(label, total=None, text=""), PaceEstimate()

        def advance(done: int, total: int, text: str) -> None:
            message = f"{text}{_format_left(pace.left_s(done, total))}"
            bars.update(task, completed=done, total=max(total, 1), text=message)

        yield advance


def _share(done: int, total: int) -> str:
    return f"{100 * done // total} %, " if total else ""


def _format_left(seconds: float | None) -> str:
    return "" if seconds is None else f", about {format_duration(seconds)} left"


def _to_jsonable(value: Any) -> Any:
    label = getattr(value, "label", None)
    return label if label is not None else str(value)


def _write(stream: Any, text: str) -> None:
    raw = getattr(stream, "buffer", None)
    if raw is None:
        stream.write(text + "\n")
    else:
        raw.write(text.encode("utf-8", "replace") + b"\n")
    stream.flush()
