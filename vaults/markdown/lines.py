"""Line numbers of offsets that come in order."""

from __future__ import annotations


class LineCounter:
    r"""Counts on from one offset to the next, so that all of them together cost one pass.

    ``lines`` is a note with a ``\n`` in front, its line endings ``\n``; offsets are the note's.
    """

    __slots__ = ("_at", "_line", "_lines", "_start")

    def __init__(self, lines: str) -> None:
        self._lines = lines
        self._at = 0
        self._line = 0
        self._start = 0

    def line(self, offset: int) -> int:
        """The line of ``offset``, from 1. Offsets must not go back."""
        passed = self._lines.count("\n", self._at, offset + 1)
        if passed:
            self._line += passed
            self._start = self._lines.rindex("\n", self._at, offset + 1)
        self._at = offset + 1
        return self._line

    def line_start(self) -> int:
        """Where the line asked for last starts."""
        return self._start
