"""Reading notes for the index, in this process or in one that does nothing else. Knows no database."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from vaults.child_processes import answer_messages, receive_message
from vaults.domain.notes.index import extraction
from vaults.domain.notes.index.extraction import TOO_LONG, NoteExtract, SkippedFile
from vaults.errors import NotFound, StrongroomError, TooLarge
from vaults.files.tree import FileStamp, Tree
from vaults.markdown.encoding import NotText

FileToRead = tuple[str, str | None]
"""The path of a note, and the digest of its known text."""


def to_reread(path: str) -> FileToRead:
    """Request a note whether or not its text is known."""
    return path, None


@dataclass(frozen=True, slots=True)
class UnchangedFile:
    """A file that was saved again with the same content."""

    path: str
    stamp: FileStamp
    read_ns: int


@dataclass(frozen=True, slots=True)
class ReadBatch:
    """The files of one batch, by what became of them."""

    extracts: list[NoteExtract] = field(default_factory=list)
    same: list[UnchangedFile] = field(default_factory=list)  # with the known content
    skipped: list[SkippedFile] = field(default_factory=list)  # not notes: too long, or not text
    unreadable: list[SkippedFile] = field(default_factory=list)  # content unknown for now


@dataclass(frozen=True, slots=True)
class ReaderJob:
    """The parameters a reader process needs."""

    root: str
    max_note: int
    passage_tokens: int


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
            extract = extraction.extract_note(path, content, now)
            # A long note grows by a line at a time: the transaction cuts only the little that changed.
            short = len(content.data) <= extraction.LONG_BYTES
            found.extracts.append(extraction.cut_passages(extract, job.passage_tokens) if short else extract)
        except NotFound:
            continue  # gone since it was listed: reconciliation will notice
        except TooLarge:
            found.skipped.append(SkippedFile(path, TOO_LONG))
        except NotText as failure:
            found.skipped.append(SkippedFile(path, failure.reason))
        except StrongroomError as failure:  # no permission, or a disk error: its rows stay
            found.unreadable.append(SkippedFile(path, failure.message))
    return found


def serve_reader(source: BinaryIO | None = None, target: BinaryIO | None = None) -> None:
    """What a reader process does: it is told of a job, then reads batch after batch."""
    source = source or sys.stdin.buffer
    job = receive_message(source)
    assert isinstance(job, ReaderJob)
    tree = Tree(Path(job.root))
    answer_messages(lambda batch: read_files(tree, list(batch), job), source, target)  # type: ignore[call-overload]
