"""Files of lines of JSON that grow while they are read: what was added since the last time, and nothing twice.

An unfinished last line is left for the next time. One that is a whole JSON object is taken, whether or not its line has
ended: no beginning of an object is an object.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from vaults.errors import InvalidArgument
from vaults.transcripts.transcript import ReadPlace, TranscriptPart
from vaults.transcripts.turn_log import TurnLog

LINE_LIMIT = 32 << 20
"""Max bytes of a line; a longer one, an image or a log, is passed over. Twice as much is held at most."""

_MARK_BYTES = 4096
_BLANK = b" \t\r\n\0"
"""A line may begin with NULs where the machine lost power while the file grew."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where to go on. ``skipping``: in the middle of a line that is too long."""

    start: int = 0
    skipping: bool = False
    log: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class _SplitLines:
    records: Iterator[dict[str, Any]]
    used: int
    skipping: bool


@dataclass(frozen=True, slots=True)
class LineFormat:
    """What lines of a program mean. ``take`` tells a log what a record says; ``name_of`` names the conversation of a
    file."""

    program: str
    take: Callable[[dict[str, Any], TurnLog], None]
    name_of: Callable[[Path, TurnLog], str]


def read_grown(path: Path, place: ReadPlace, max_bytes: int, lines_of: LineFormat) -> TranscriptPart:
    """What is new in a file that holds one conversation."""
    with open_regular(path) as file:
        found = os.fstat(file.fileno())
        known = _find_place(file, place, found)
        log, lines, end = _read_on(file, known, max_bytes, lines_of)
        offset = known.start + lines.used
        state = {"inode": found.st_ino, "skipping": lines.skipping, "log": log.to_state()}
        new_place = ReadPlace(offset, mark_of(file, offset), json.dumps(state, ensure_ascii=True))
    conversation = log.to_conversation(lines_of.name_of(path, log), lines_of.program, whole=known.start == 0)
    return TranscriptPart((conversation,) if conversation else (), new_place, more=end < found.st_size)


def open_regular(path: Path) -> BinaryIO:
    """A file for reading; raises ``InvalidArgument`` for what is none, such as a pipe that would never end."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise InvalidArgument("PATH", f"{path} is no file")
    return file


def parse_record(line: bytes) -> dict[str, Any] | None:
    """The JSON object of a line; None for anything else."""
    line = line.strip(_BLANK).removeprefix(b"\xef\xbb\xbf")
    if not line.startswith(b"{"):
        return None
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def mark_of(file: BinaryIO, offset: int) -> str:
    """The digest of the last bytes before ``offset``."""
    start = max(0, offset - _MARK_BYTES)
    return hashlib.blake2b(os.pread(file.fileno(), offset - start, start), digest_size=12).hexdigest()


def _find_place(file: BinaryIO, place: ReadPlace, found: os.stat_result) -> _Place:
    """Where to go on; at the start if the file is another one, shorter, or no longer says what it said."""
    state = parse_record(place.state.encode()) or {}
    if not 0 < place.offset <= found.st_size or state.get("inode") != found.st_ino:
        return _Place()
    if mark_of(file, place.offset) != place.mark:
        return _Place()
    log = state.get("log")
    return _Place(place.offset, bool(state.get("skipping")), log) if isinstance(log, dict) else _Place()


def _read_on(file: BinaryIO, known: _Place, max_bytes: int, lines_of: LineFormat) -> tuple[TurnLog, _SplitLines, int]:
    """What the lines from a place on say, and how far they were looked at: beyond the last whole one."""
    file.seek(known.start)
    data = file.read(max_bytes)
    if data and not data.endswith(b"\n"):
        data += file.readline(LINE_LIMIT + 1)
    lines = _split(data, skipping=known.skipping)
    log = TurnLog(known.log or {})
    for record in lines.records:
        lines_of.take(record, log)
    return log, lines, known.start + len(data)


def _split(data: bytes, *, skipping: bool) -> _SplitLines:
    """The lines of ``data``; the last one is unfinished, too long, or whole."""
    complete, newline, last = data.rpartition(b"\n")
    if skipping and not newline:
        return _SplitLines(iter(()), len(data), skipping=True)
    lines = complete.split(b"\n")[skipping:]
    records = (record for line in lines if len(line) <= LINE_LIMIT and (record := parse_record(line)) is not None)
    if len(last) > LINE_LIMIT:
        return _SplitLines(records, len(data), skipping=True)
    final = parse_record(last)
    if final is None:
        return _SplitLines(records, len(data) - len(last), skipping=False)
    return _SplitLines(_then(records, final), len(data), skipping=False)


def _then(records: Iterator[dict[str, Any]], final: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from records
    yield final
