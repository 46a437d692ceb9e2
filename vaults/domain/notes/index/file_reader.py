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
from vaults.domain.notes.index.extraction import TOO_LONG, Intake, LeftOut
from vaults.errors import NotFound, StrongroomError, TooLarge
from vaults.files.tree import Stamp, Tree
from vaults.markdown.encoding import NotText

LENGTH = struct.Struct("<Q")
"""What stands before every message between the processes."""


Wanted = tuple[str, str | None]
"""The path of a note, and the digest of the text that is known of it."""


def anew(path: str) -> Wanted:
    """A note to be read whatever is known of it."""
    return path, None


@dataclass(frozen=True, slots=True)
class Same:
    """A file that was written again as it was."""

    path: str
    stamp: Stamp
    read_ns: int


@dataclass(frozen=True, slots=True)
class Readings:
    """Notes as the indexes take them. ``same``: files whose bytes are as they were known; ``odd``: files that are no
    notes; ``unreadable``: unknown for now."""

    taken: list[Intake] = field(default_factory=list)
    same: list[Same] = field(default_factory=list)
    odd: list[LeftOut] = field(default_factory=list)
    unreadable: list[LeftOut] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Job:
    """What a process has to know before it can read."""

    root: str
    max_note: int
    passage_tokens: int


def packed(value: object) -> bytes:
    """One message."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(data)) + data


def read(tree: Tree, wanted: Sequence[Wanted], job: Job) -> Readings:
    """Read files for the index; what cannot be read is noted with the reason. Blocking."""
    found = Readings()
    for path, known in wanted:
        now = time.time_ns()
        try:
            content = tree.read(path, job.max_note)
            if known is not None and extraction.digest(content.data) == known:
                found.same.append(Same(path, content.stamp, now))
                continue
            taken = extraction.taken(path, content, now)
            # Of a long one the transaction cuts what changed, which is little: it grows by a line at a time.
            short = len(content.data) <= extraction.LONG
            found.taken.append(extraction.cut(taken, job.passage_tokens) if short else taken)
        except NotFound:
            continue  # gone since it was listed: that is noticed in its turn
        except TooLarge:
            found.odd.append(LeftOut(path, TOO_LONG))
        except NotText as failure:
            found.odd.append(LeftOut(path, failure.reason))
        except StrongroomError as failure:  # not allowed, or the disk fails: what is known of it stays
            found.unreadable.append(LeftOut(path, failure.message))
    return found


def serve(source: BinaryIO | None = None, target: BinaryIO | None = None) -> None:
    """What such a process does: read batches until its parent closes the pipe, or dies."""
    source, target = source or sys.stdin.buffer, target or sys.stdout.buffer
    job = _received(source)
    assert isinstance(job, Job)
    tree = Tree(Path(job.root))
    while (batch := _received(source)) is not None:
        target.write(packed(read(tree, list(batch), job)))  # type: ignore[call-overload]
        target.flush()


def _received(source: BinaryIO) -> object | None:
    head = source.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    return pickle.loads(source.read(length))  # type: ignore[no-any-return]  # noqa: S301  from our own parent
