"""Reads files of lines without ever holding more than one of bounded length."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

_SHOWN = 4_096  # characters of a line that is reported


class LineUnreadable(Exception):
    """A line that holds no JSON object; ``reason`` is for the owner of the file."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class RawLine:
    """A line of a file; ``raw`` is None when it was too long to keep. Numbers start at 1."""

    number: int
    raw: bytes | None


class LineReader:
    """The lines of a file, one by one. Blank ones are left out, but numbered."""

    def __init__(self, file: IO[bytes], limit: int) -> None:
        self._file = file
        self._number = 0
        self.limit = limit
        """Max bytes of a line."""
        self.position = 0
        """Bytes read so far; counted, because a pipe cannot tell."""

    def __iter__(self) -> Iterator[RawLine]:
        while (line := self.next_line()) is not None:
            yield line

    def next_line(self) -> RawLine | None:
        """The next line that is not blank; None at the end of the file."""
        while raw := self._readline(self.limit + 1):
            self._number += 1
            if len(raw) > self.limit and not raw.endswith(b"\n"):
                self._skip_line()
                return RawLine(self._number, None)
            if raw.strip():
                return RawLine(self._number, raw)
        return None

    def _skip_line(self) -> None:
        while (part := self._readline(1 << 16)) and not part.endswith(b"\n"):
            continue

    def _readline(self, limit: int) -> bytes:
        raw = self._file.readline(limit)
        self.position += len(raw)
        return raw


def parse_object(line: RawLine, limit: int) -> dict[str, Any]:
    """The JSON object of a line. Raises ``LineUnreadable``."""
    if line.raw is None:
        raise LineUnreadable(f"the line is longer than {limit} bytes")
    try:
        text = line.raw.decode("utf-8-sig" if line.number == 1 else "utf-8")
        value = _DECODER.decode(text)
    except UnicodeDecodeError:
        raise LineUnreadable("the line is not UTF-8") from None
    except (ValueError, RecursionError):
        raise LineUnreadable("the line is not JSON") from None
    if not isinstance(value, dict):
        raise LineUnreadable("the line is not a JSON object")
    return value


def show_line(line: RawLine) -> str | None:
    """The beginning of a line that cannot be read, for the report."""
    return line.raw[:_SHOWN].decode("utf-8", "replace").rstrip("\r\n") if line.raw is not None else None


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
