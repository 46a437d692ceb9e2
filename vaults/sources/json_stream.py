"""Reads JSON that is too large to load: entry by entry, each built only while it stays within bounds."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import IO, Any

from vaults.sources.archive_member import UNREADABLE, ArchiveMember, explain
from vaults.sources.json_array import ArrayReader, BinaryReader, has_half_character, measure_value, to_finite

ENTRY_CHARACTERS = 64 << 20
"""Max characters of an entry. The longest conversations people have exported are a tenth of it."""

ENTRY_DEPTH = 100
"""Max levels of an entry: what cleans and checks it later walks it recursively."""

_BUFFER = 1 << 16
_BOM = b"\xef\xbb\xbf"
_QUICK = 4
"""The part of the bound that an entry has to keep to be built at once: values take more room than their text."""

_NODE = 16  # counted for each value besides its characters: a list of a million zeros is large too


@dataclass(frozen=True, slots=True)
class JsonEntry:
    """An element of an array at the top, or of an array under a ``key`` of the object at the top; what stands under
    a key and is no array is one entry. ``number`` counts entries from 1. ``problem``: why it has no value."""

    key: str
    number: int
    value: Any = None
    problem: str | None = None


def stream_entries(file: IO[bytes]) -> Iterator[JsonEntry]:
    """All entries in order. What is wrong with the text itself is the problem of the last one: nothing after it can be
    read. An entry that is too large or too deep is passed over, and the reading goes on."""
    yield from _number(_read_entries(file))


def _read_entries(file: IO[bytes]) -> Iterator[tuple[str, Any, str | None]]:
    """Key, value and problem of each entry: what is sound at the beginning quickly, and the rest event by event."""
    array = ArrayReader(file, ENTRY_CHARACTERS // _QUICK, 16 * _BUFFER)
    for value, text in array:
        count, depth = measure_value(value)
        if depth > ENTRY_DEPTH or len(text) + _NODE * count > ENTRY_CHARACTERS or has_half_character(value, text):
            yield from _assemble(_read_events(_TextFile(io.BytesIO(b"[%b]" % text.encode()))))
        else:
            yield "", value, None
    entries = _assemble(_read_events(_TextFile(array.rest())))
    if array.has_read:
        next(entries)  # stands for those before
    yield from entries


def stream_members(members: Iterable[ArchiveMember]) -> Iterator[tuple[ArchiveMember, JsonEntry, int]]:
    """The entries of several files, each with its file and how many bytes of all of them are read by then. A file that
    cannot be read is an entry with a problem."""
    done = 0
    for member in members:
        try:
            with member.open() as file:
                for entry in stream_entries(file):
                    yield member, entry, done + min(file.tell(), member.size)
        except UNREADABLE as failure:
            yield member, JsonEntry("", 0, problem=explain(failure)), done
        done += member.size


def stream_objects(members: Iterable[ArchiveMember]) -> Iterator[tuple[ArchiveMember, JsonEntry, int]]:
    """As ``stream_members``, for files that hold a list of objects or one object alone: that is a single entry."""
    done = 0
    for member in members:
        entries = stream_members([member])
        try:
            with member.open() as file:
                if file.read(_BUFFER).removeprefix(_BOM).lstrip()[:1] == b"{":
                    entries = ((member, entry, member.size) for entry in _read_whole(member))
        except UNREADABLE:
            pass  # said by what reads the entries
        for _, entry, inside in entries:
            yield member, entry, done + inside
        done += member.size


def _read_whole(member: ArchiveMember) -> Iterator[JsonEntry]:
    def build(events: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any, str | None]]:
        for event, value in events:
            yield "", *_build(event, value, events)

    with member.open() as file:
        yield from _number(build(_read_events(_TextFile(file))))


def _number(entries: Iterator[tuple[str, Any, str | None]]) -> Iterator[JsonEntry]:
    """Entries with their numbers, and what ends them too early as the problem of a last one."""
    import ijson

    number = 0
    try:
        for key, value, problem in entries:
            number += 1
            yield JsonEntry(key, number, value, problem)
    except (ijson.JSONError, UnicodeDecodeError) as failure:
        ended = "premature EOF" in str(failure) or "Incomplete" in str(failure)
        yield JsonEntry("", number + 1, problem="it ends in the middle" if ended else "from here on it is not JSON")
    except _EndlessText:
        limit = f"{ENTRY_CHARACTERS >> 20} MB"
        yield JsonEntry("", number + 1, problem=f"holds a text larger than {limit}; nothing after it is read")


def _read_events(file: _TextFile) -> Iterator[tuple[str, Any]]:
    import ijson

    for event in ijson.basic_parse(file, buf_size=_BUFFER):
        file.silent = 0
        yield event


def _assemble(events: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any, str | None]]:
    """Key, value and problem of each entry."""
    opening, _ = next(events)
    key = ""
    for event, value in events:
        if event == "map_key":
            key = value
        elif event == "start_array" and opening == "start_map":
            for inner, first in events:
                if inner == "end_array":
                    break
                yield key, *_build(inner, first, events)
        elif not event.startswith("end_"):
            yield key, *_build(event, value, events)


def _build(event: str, value: Any, events: Iterator[tuple[str, Any]]) -> tuple[Any, str | None]:
    """The value that begins with an event, and why it could not be kept. Reads to its end in any case."""
    if event not in ("start_map", "start_array"):
        return _to_plain(value), None
    builder: _Builder | None = _Builder(event)
    problem = None
    depth = 1
    for inner, scalar in events:
        if inner in ("start_map", "start_array"):
            depth += 1
        elif inner in ("end_map", "end_array"):
            depth -= 1
        if builder is not None:
            builder.add(inner, scalar)
            problem = _problem(builder, depth)
            builder = None if problem else builder
        if not depth:
            break
    return (builder.root if builder else None), problem


def _problem(builder: _Builder, depth: int) -> str | None:
    if depth > ENTRY_DEPTH:
        return f"nested deeper than {ENTRY_DEPTH} levels"
    return f"larger than {ENTRY_CHARACTERS >> 20} MB" if builder.size > ENTRY_CHARACTERS else None


class _Builder:
    """A value as it grows, and about how large it is."""

    __slots__ = ("_keys", "_open", "root", "size")

    def __init__(self, event: str) -> None:
        self.root: Any = {} if event == "start_map" else []
        self.size = 0
        self._open: list[Any] = [self.root]
        self._keys: list[str] = [""]

    def add(self, event: str, value: Any) -> None:
        if event == "map_key":
            self._keys[-1] = value
            self.size += len(value)
        elif event in ("end_map", "end_array"):
            self._open.pop()
            self._keys.pop()
        else:
            self._put(event, value)

    def _put(self, event: str, value: Any) -> None:
        self.size += _NODE + (len(value) if isinstance(value, str) else 0)
        if event == "start_map":
            value = {}
        elif event == "start_array":
            value = []
        else:
            value = _to_plain(value)
        inside = self._open[-1]
        if isinstance(inside, list):
            inside.append(value)
        else:
            inside[self._keys[-1]] = value
        if event in ("start_map", "start_array"):
            self._open.append(value)
            self._keys.append("")


def _to_plain(value: Any) -> Any:
    """A scalar with floats as floats. They are parsed exactly, because a parser of floats ends at the first that is
    too large for one."""
    return to_finite(value) if isinstance(value, Decimal) else value


class _EndlessText(Exception):
    """A text that does not end within bounds."""


class _TextFile:
    """A file from behind its byte order mark, read until too much of it was a single text. ``silent``: bytes read
    since the last event."""

    def __init__(self, file: BinaryReader) -> None:
        self._file = file
        self._first = True
        self.silent = 0

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.silent += len(data)
        if self.silent > ENTRY_CHARACTERS + _BUFFER:
            raise _EndlessText
        if self._first and data:
            self._first = False
            data = data.removeprefix(_BOM) or self._file.read(size)
        return data
