"""Reading notes for the index, here or in a process that does nothing else. Knows no database."""

from __future__ import annotations

import pickle
import struct
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from vaults.domain.notes.index import extraction
from vaults.domain.notes.index.extraction import TOO_LONG, NoteExtract, SkippedFile
from vaults.errors import NotFound, StrongroomError, TooLarge
from vaults.files.tree import FileStamp, Tree
from vaults.markdown.encoding import NotText

LENGTH_PREFIX = struct.Struct("<Q")
"""What stands before every message between the processes."""


FileToRead = tuple[str, str | None]
"""The path of a note, and the digest of the text that is known of it."""


def to_reread(path: str) -> FileToRead:
    """A note to be read whatever is known of it."""
    return path, None


@dataclass(frozen=True, slots=True)
class UnchangedFile:
    """A file that was written again as it was."""

    path: str
    stamp: FileStamp
    read_ns: int


@dataclass(frozen=True, slots=True)
class ReadBatch:
    """Notes as the indexes take them. ``same``: files whose bytes are as they were known; ``odd``: files that are no
    notes; ``unreadable``: unknown for now."""

    taken: list[NoteExtract] = field(default_factory=list)
    same: list[UnchangedFile] = field(default_factory=list)
    odd: list[SkippedFile] = field(default_factory=list)
    unreadable: list[SkippedFile] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ReaderJob:
    """What a process has to know before it can read."""

    root: str
    max_note: int
    passage_tokens: int


def encode_message(value: object) -> bytes:
    """One message."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return LENGTH_PREFIX.pack(len(data)) + data


def read_files(tree: Tree, wanted: Sequence[FileToRead], job: ReaderJob) -> ReadBatch:
    """Read files for the index; what cannot be read is noted with the reason. Blocking."""
    found = ReadBatch()
    for path, known in wanted:
        now = time.time_ns()
        try:
            content = tree.read(path, job.max_note)
            if known is not None and extraction.compute_digest(content.data) == known:
                found.same.append(UnchangedFile(path, content.stamp, now))
                continue
            taken = extraction.extract_note(path, content, now)
            # Of a long one the transaction cuts what changed, which is little: it grows by a line at a time.
            short = len(content.data) <= extraction.LONG_BYTES
            found.taken.append(extraction.cut_passages(taken, job.passage_tokens) if short else taken)
        except NotFound:
            continue  # gone since it was listed: that is noticed in its turn
        except TooLarge:
            found.odd.append(SkippedFile(path, TOO_LONG))
        except NotText as failure:
            found.odd.append(SkippedFile(path, failure.reason))
        except StrongroomError as failure:  # not allowed, or the disk fails: what is known of it stays
            found.unreadable.append(SkippedFile(path, failure.message))
    return found


def serve_reader(source: BinaryIO | None = None, target: BinaryIO | None = None) -> None:
    """What such a process does: read batches until its parent closes the pipe, or dies."""
    source, target = source or sys.stdin.buffer, target or sys.stdout.buffer
    job = _receive_message(source)
    assert isinstance(job, ReaderJob)
    tree = Tree(Path(job.root))
    while (batch := _receive_message(source)) is not None:
        target.write(encode_message(read_files(tree, list(batch), job)))  # type: ignore[call-overload]
        target.flush()


def _receive_message(source: BinaryIO) -> object | None:
    head = source.read(LENGTH_PREFIX.size)
    if len(head) < LENGTH_PREFIX.size:
        return None
    (length,) = LENGTH_PREFIX.unpack(head)
    return pickle.loads(source.read(length))  # type: ignore[no-any-return]  # noqa: S301  from our own parent
