"""How much of a request may be anything but its body: head, chunk sizes with their extensions, trailers.

httptools gathers an unfinished field in memory and copies it with every read, so a head of 40 MB holds the event loop
for seconds; chunk extensions and trailers have no end at all.
"""

from __future__ import annotations

FRAMING_LIMIT = 64 * 1024
"""Bytes. Proxies in front usually allow 8 to 32 KB."""

_PUNCTUATION = 4  # of a field: colon, blank, line end


class FramingTooLarge(Exception):
    """More than ``FRAMING_LIMIT``."""


class Framing:
    """Counts for one connection: exactly what the parser handed over, and by the bytes read what it still keeps."""

    def __init__(self) -> None:
        self._fields = 0
        self._kept = 0
        self._moved = False

    def begin(self) -> None:
        """A new request."""
        self._fields = 0

    def field(self, size: int) -> None:
        """Count a part of the request line, the head or the trailers. Raises ``FramingTooLarge``."""
        self._fields += size + _PUNCTUATION
        if self._fields > FRAMING_LIMIT:
            raise FramingTooLarge

    def move(self) -> None:
        """The parser handed over the head, some body or the whole request."""
        self._moved = True

    def is_exceeded_by(self, read: int) -> bool:
        """Whether the limit is exceeded once the parser was fed ``read`` more bytes."""
        self._kept = 0 if self._moved else self._kept + read
        self._moved = False
        return self._kept > FRAMING_LIMIT or self._fields > FRAMING_LIMIT
