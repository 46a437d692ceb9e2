"""The quick way through an array of JSON: entries that are complete and in order are built by the standard decoder.

It is for the many that are sound. Whatever is not, it leaves unread, for a parser that reads byte by byte, knows what
is wrong and needs ten times as long.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Protocol

_SPACE = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_BOM = b"\xef\xbb\xbf"
_LARGEST = Decimal("1e308")


class BinaryReader(Protocol):
    """What can be read."""

    def read(self, size: int = -1, /) -> bytes: ...


def to_finite(number: Decimal) -> float | None:
    """A number as a float; None for one that is too large for any."""
    return float(number) if abs(number) < _LARGEST else None


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


_DECODER = json.JSONDecoder(
    parse_float=lambda text: to_finite(Decimal(text)) if "e" in text or "E" in text else float(text),
    parse_constant=_refuse_constant,
)


class ArrayReader:
    """The first entries of the array that a file holds, as value and text. ``rest`` is what comes after those that
    were asked for. ``limit``: characters of an entry at most; ``buffer``: bytes read at once at least."""

    def __init__(self, file: BinaryReader, limit: int, buffer: int) -> None:
        self._file, self._limit, self._buffer = file, limit, buffer
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._text = ""
        self._at = 0  # where the rest begins: at the comma or bracket after the last entry
        self._broken = b""  # bytes that are no text
        self.has_read = False
        """Whether there was an entry. ``rest`` begins with one that stands for them."""

    def __iter__(self) -> Iterator[tuple[Any, str]]:
        if not self._fill() or self._text[self._skip_space(0) :][:1] != "[":
            return
        start = self._skip_space(0) + 1
        while (found := self._decode(start)) is not None:
            value, first, end, after = found
            text = self._text[first:end]
            self._at, self.has_read = after, True
            yield value, text
            if self._text[self._at] == "]":
                return
            start = self._at + 1

    def rest(self) -> BinaryReader:
        """What was not read, an array again."""
        pending, _ = self._decoder.getstate()
        head = (b"[0" if self.has_read else b"") + self._text[self._at :].encode() + (self._broken or pending)
        return _ReplayedReader(head, self._file)

    def _decode(self, start: int) -> tuple[Any, int, int, int] | None:
        """The entry behind ``start``: value, where it begins and ends, and where the next comma or bracket is."""
        while True:
            first = self._skip_space(start)
            try:
                value, end = _DECODER.raw_decode(self._text, first)
                after = self._skip_space(end)
                if after < len(self._text):
                    return (value, first, end, after) if self._text[after] in ",]" else None
            except (ValueError, RecursionError):
                pass  # most likely it goes on
            if len(self._text) - first > self._limit:
                return None
            start -= self._at
            if not self._fill():
                return None

    def _skip_space(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return found.end() if found else at

    def _fill(self) -> bool:
        """Read on, so much that an entry is looked at few times; what was read of comes off the text."""
        self._text, self._at = self._text[self._at :], 0
        data = self._file.read(max(self._buffer, len(self._text)))
        if not self.has_read and not self._text:
            data = data.removeprefix(_BOM)
        pending, _ = self._decoder.getstate()
        try:
            self._text += self._decoder.decode(data)
        except UnicodeDecodeError:
            self._broken = pending + data
            return False
        return bool(data)


class _ReplayedReader:
    """Bytes that were read already, and the file they are of."""

    def __init__(self, head: bytes, file: BinaryReader) -> None:
        self._head, self._file = head, file

    def read(self, size: int = -1) -> bytes:
        if not self._head:
            return self._file.read(size)
        size = len(self._head) if size < 0 else size
        data, self._head = self._head[:size], self._head[size:]
        return data


def has_half_character(value: Any, text: str) -> bool:
    """Whether a value holds a surrogate without its other half, which decoders take for different things."""
    if "\\u" not in text or _SURROGATE.search(text) is None:
        return False
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def measure_value(value: Any) -> tuple[int, int]:
    """Values in a value, itself included, and their levels."""
    count, depth, level = 1, 0, [value]
    while level := [each for each in level if type(each) is dict or type(each) is list]:
        depth += 1
        level = [inner for each in level for inner in (each.values() if type(each) is dict else each)]
        count += len(level)
    return count, depth
