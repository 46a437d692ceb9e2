"""How much of a request may be anything but its body: head, chunk sizes with their extensions, trailers.

httptools gathers an unfinished field in memory and copies it with every read, so a head of 40 MB holds the event loop
for seconds; chunk extensions and trailers have no end at all.
"""

from __future__ import annotations

FRAMING_LIMIT = 64 * 1024
"""Bytes. What proxies in front allow is 8 to 32 KB."""

_PUNCTUATION = 4  # of a field: colon, blank, line end


class FramingTooLarge(Exception):
    """More than ``FRAMING_LIMIT``."""


class Framing:
    """Counts for one connection. What the parser handed over is counted exactly, what it still keeps by the reads that
    brought nothing new."""

    def __init__(self) -> None:
        self._fields = 0
        self._kept = 0
        self._moved = False

    def begin(self) -> None:
        """A new request."""
        self._fields = 0

    def field(self, size: int) -> None:
        """A part of the request line, of the head or of the trailers. Raises ``FramingTooLarge``."""
        self._fields += size + _PUNCTUATION
        if self._fields > FRAMING_LIMIT:
            raise FramingTooLarge

    def move(self) -> None:
        """The head, some body or the whole request came through."""
        self._moved = True

    def is_exceeded_by(self, read: int) -> bool:
        """After the parser was fed ``read`` bytes."""
        self._kept = 0 if self._moved else self._kept + read
        self._moved = False
        return self._kept > FRAMING_LIMIT or self._fields > FRAMING_LIMIT
