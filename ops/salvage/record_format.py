"""Rows as SQLite stores them: variable-length numbers and records. Pure; whatever is read may be damaged.

The format is documented at https://www.sqlite.org/fileformat.html. What does not fit it exactly raises
``BrokenRecord``: a record that only nearly fits is one that was changed.
"""

from __future__ import annotations

import struct
from typing import TypeAlias

Value: TypeAlias = int | float | str | bytes | None
Record: TypeAlias = tuple[Value, ...]

_INT_SIZES = (0, 1, 2, 3, 4, 6, 8)
_FLOAT = struct.Struct(">d")


class BrokenRecord(Exception):
    """Bytes that are no record."""


def read_varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, signed, and where the next thing begins."""
    try:
        value = data[at]
        if value < 0x80:
            return value, at + 1
        value &= 0x7F
        for offset in range(1, 8):
            byte = data[at + offset]
            value = value << 7 | byte & 0x7F
            if byte < 0x80:
                return value, at + offset + 1
        value = value << 8 | data[at + 8]
    except IndexError:
        raise BrokenRecord("a number is cut off") from None
    return value - (1 << 64) if value >= 1 << 63 else value, at + 9


def decode_record(payload: bytes) -> Record:
    """The values of a record. Raises ``BrokenRecord`` unless header and values fill it to the last byte."""
    at, kinds = _read_header(payload)
    values: list[Value] = []
    for kind, size in kinds:
        values.append(_decode_value(kind, payload[at : at + size]))
        at += size
    return tuple(values)


def decode_last(payload: bytes) -> Value:
    """The last value of a record, which has one. Raises ``BrokenRecord``."""
    _, kinds = _read_header(payload)
    if not kinds:
        raise BrokenRecord("it holds nothing")
    kind, size = kinds[-1]
    return _decode_value(kind, payload[len(payload) - size :])


def _read_header(payload: bytes) -> tuple[int, list[tuple[int, int]]]:
    """Where the values begin, and the kind and length of each."""
    size, at = read_varint(payload, 0)
    if not at <= size <= len(payload):
        raise BrokenRecord("the header is longer than the record")
    kinds: list[tuple[int, int]] = []
    filled = size
    while at < size:
        kind = payload[at]
        if kind < 0x80:
            at += 1
        else:
            kind, at = read_varint(payload, at)
        length = _size_of(kind)
        filled += length
        kinds.append((kind, length))
    if at != size or filled != len(payload):
        raise BrokenRecord("header and values do not fill the record")
    return size, kinds


def _size_of(kind: int) -> int:
    if kind >= 12:
        return (kind - 12) // 2
    if 0 <= kind <= 6:
        return _INT_SIZES[kind]
    if kind == 7:
        return 8
    if kind in (8, 9):
        return 0
    raise BrokenRecord("a value has no known kind")


def _decode_value(kind: int, data: bytes) -> Value:
    if kind == 0:
        return None
    if kind <= 6:
        return int.from_bytes(data, "big", signed=True)
    if kind == 7:
        return float(_FLOAT.unpack(data)[0])
    if kind < 12:
        return kind - 8
    if kind % 2 == 0:
        return data
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise BrokenRecord("a text is not UTF-8") from None
