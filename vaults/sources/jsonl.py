"""Lines of JSON as ``strongroom export`` writes them: a file, or the folder of an export."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from vaults.errors import InvalidArgument
from vaults.sources.lines import LineReader, LineUnreadable, parse_object
from vaults.sources.source import SearchPlaces, Source, SourceItem, SourceReading, SourceRecord, UnreadableRecord

LINE_LIMIT = 8 << 20
"""Max bytes of a line. The longest memory, with every character escaped, takes 0.7 MB; a document may be longer."""

EXPORT_FILES = ("memories.jsonl", "documents.jsonl", "records.jsonl")
"""The files of an export, in the order in which they have to be read: what the last holds names memories."""


def _find(_: SearchPlaces) -> tuple[Path, ...]:
    return ()


@contextmanager
def _open(path: Path) -> Iterator[SourceReading]:
    files = [path / name for name in EXPORT_FILES if (path / name).is_file()] if path.is_dir() else [path]
    if not files:
        raise InvalidArgument("PATH", f"{path} holds no {EXPORT_FILES[0]}")
    try:
        total = sum(file.stat().st_size for file in files)
    except OSError as failure:
        raise InvalidArgument("PATH", f"{path} cannot be read: {failure.strerror}") from failure
    with ExitStack() as opened:
        readers = [opened.enter_context(_open_file(file)) for file in files]
        yield SourceReading(total, _read(readers))


def _open_file(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as failure:
        raise InvalidArgument("PATH", f"{path} cannot be read: {failure.strerror}") from failure


def _read(files: list[BinaryIO]) -> Iterator[SourceItem]:
    before = 0
    for file in files:
        reader = LineReader(file, LINE_LIMIT)
        for line in reader:
            place = line.number if len(files) == 1 else f"{Path(file.name).name} line {line.number}"
            done = before + reader.position
            try:
                yield SourceRecord(place, parse_object(line, LINE_LIMIT), done)
            except LineUnreadable as verdict:
                yield UnreadableRecord(place, verdict.reason, done, line.raw)
        before += reader.position


SOURCE = Source("jsonl", "strongroom", "a file of lines of JSON, or the folder of an export", _find, _open)
