"""One commit as bytes: its number, its time, the size of the database after it, and the pages it changed.

A page is kept as the difference from what it was before (most of which is zeros, and packs to little), or whole where
that is not known.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ops.change_log.failures import broken_log
from vaults.db.page_changes import DIFFERENCE, WHOLE, PageChange
from vaults.db.page_digests import SIZE as DIGEST_BYTES

_HEAD = struct.Struct(f">QQII{DIGEST_BYTES}s")
_PAGE = struct.Struct(">IB")


MAX_COMMIT_BYTES = 32 * 1024 * 1024
"""Bytes of pages in a record at most: a commit that changed more (a database rewritten whole) is answered by a base."""


@dataclass(frozen=True, slots=True)
class LoggedCommit:
    """``time`` in milliseconds since 1970; ``size`` and ``digest`` are the database's after the commit."""

    sequence: int
    time: int
    size: int
    digest: bytes
    pages: tuple[PageChange, ...]


def encode(record: LoggedCommit) -> bytes:
    """A record as bytes. Heads of pages stand together: they are alike from commit to commit."""
    head = _HEAD.pack(record.sequence, record.time, record.size, len(record.pages), record.digest)
    return b"".join([head, *(_PAGE.pack(each.number, each.kind) for each in record.pages), *_data_of(record)])


def _data_of(record: LoggedCommit) -> Iterator[bytes | memoryview]:
    return (each.data for each in record.pages)


def decode(read: Callable[[int], bytes], page_size: int) -> Iterator[LoggedCommit]:
    """The records that ``read`` gives, which must return as much as asked for, or nothing at the end. Raises
    ``InvalidArgument``."""
    while head := read(_HEAD.size):
        if len(head) != _HEAD.size:
            raise broken_log("ends in the middle of a commit")
        sequence, time, size, count, digest = _HEAD.unpack(head)
        if count * page_size > MAX_COMMIT_BYTES:
            raise broken_log("holds a commit that cannot be")
        heads = list(_PAGE.iter_unpack(_exactly(read, count * _PAGE.size)))
        if any(kind not in (WHOLE, DIFFERENCE) or not 1 <= number <= size for number, kind in heads):
            raise broken_log("holds a page that cannot be")
        data = memoryview(_exactly(read, count * page_size))
        pages = tuple(
            PageChange(number, kind, data[at : at + page_size])
            for (number, kind), at in zip(heads, range(0, len(data), page_size), strict=True)
        )
        yield LoggedCommit(sequence, time, size, digest, pages)


def _exactly(read: Callable[[int], bytes], size: int) -> bytes:
    data = read(size)
    if len(data) != size:
        raise broken_log("ends in the middle of a commit")
    return data
