"""Searching a note in chunks, and counting its lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

CHUNK_SIZE = 128 * 1024
"""Characters searched at once: no other thread runs while a regular expression works, nor does the event loop."""

CHUNK_OVERLAP = 32 * 1024
"""Characters read beyond a chunk: a match that begins in it is found for sure up to this length."""


class ChunkedSearch:
    """Searches a long text in chunks. Finds what a search of the whole text would, except matches longer than
    ``CHUNK_OVERLAP`` that could not have ended earlier."""

    __slots__ = ("_end", "_pattern", "_text", "_turn")

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self._pattern = pattern
        self._text = text
        self._turn = 0  # where the next chunk starts
        self._end = 0

    def search(self, at: int) -> re.Match[str] | None:
        """The first match from ``at`` on. ``at`` must not decrease from call to call."""
        while True:
            if at >= self._turn:
                self._go_on(at)
            found = self._pattern.search(self._text, at, self._end)
            if found is not None and found.start() < self._turn:
                return self._whole(found)
            if self._end == len(self._text):
                return None
            at = max(at, self._turn)

    def _go_on(self, at: int) -> None:
        last, most = len(self._text), at + CHUNK_SIZE + CHUNK_OVERLAP
        if most >= last:
            self._turn, self._end = last + 1, last
        else:
            self._turn = at + CHUNK_SIZE
            self._end = self._text.rfind("\n", self._turn, most) + 1 or most

    def _whole(self, found: re.Match[str]) -> re.Match[str]:
        """The match, matched again if the end of the chunk may have cut it off."""
        if found.end() < self._end or self._end == len(self._text):
            return found
        return self._pattern.match(self._text, found.start()) or found


def iter_matches(pattern: re.Pattern[str], text: str, start: int = 0) -> Iterator[re.Match[str]]:
    """As ``pattern.finditer``, in chunks. No match may be empty."""
    if len(text) - start <= CHUNK_SIZE + CHUNK_OVERLAP:
        yield from pattern.finditer(text, start)
        return
    pieces = ChunkedSearch(pattern, text)
    found = pieces.search(start)
    while found is not None:
        yield found
        found = pieces.search(found.end())


class LineCounter:
    r"""Counts lines from one offset to the next, so that all lookups together cost one pass.

    ``lines`` is a note with a ``\n`` in front, its line endings ``\n``; offsets are the note's.
    """

    __slots__ = ("_at", "_line", "_lines", "_searched", "_start")

    def __init__(self, lines: str) -> None:
        self._lines = lines
        self._at = 0
        self._line = 0
        self._start = self._searched = 0

    def line(self, offset: int) -> int:
        """The line of ``offset``, from 1. Offsets must not decrease."""
        self._line += self._lines.count("\n", self._at, offset + 1)
        self._at = offset + 1
        return self._line

    def line_start(self) -> int:
        """Where the line asked about last starts."""
        # Back to where it was looked for before, no further: a line may be a megabyte, and be asked about at each link.
        found = self._lines.rfind("\n", self._searched, self._at)
        self._start, self._searched = (found if found >= 0 else self._start), self._at
        return self._start
