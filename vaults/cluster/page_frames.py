"""One entry of a vault's log as bytes: the pages a commit changed, packed, behind a head that chains it. Pure.

::

    head: format, sequence number, epoch, page size, pages before and after, how many changed, digest of the whole
          database after it, checksum of the entry before
    checksum over the vault's name, the head and what follows
    zstd: of each changed page its number, whether it is whole or a difference, and the bytes

So an entry that is lost, doubled, exchanged or changed by a bit does not fit, and is named. Nothing a head says is
allocated before the bytes are there: pages come one at a time.
"""

from __future__ import annotations

import io
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b

from vaults.cluster.failures import LogDamaged
from vaults.cluster.vault_log import LogEntry
from vaults.db.page_changes import DIFFERENCE, WHOLE, PageChange
from vaults.errors import TooLarge

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FORMAT = 1
MAGIC = b"SRPL"
LEVEL = 1
CHECKSUM_BYTES = 16
MAX_PAGES = 2**32 - 2
MAX_WINDOW_LOG = 23
"""Memory that unpacking may take for what it looks back at: 8 MB."""

BATCH_BYTES = 1024 * 1024
"""Bytes of pages that are packed at once: a rewritten database does not stand in memory unpacked."""

MAX_PAYLOAD_BYTES = 256 * 1024 * 1024
"""Packed bytes of an entry at most: PostgreSQL takes a gigabyte in one value, and asks for it several times over."""

_HEAD = struct.Struct(f">4sB3xQQIIII16s{CHECKSUM_BYTES}s")
_PAGE = struct.Struct(">IB")


@dataclass(frozen=True, slots=True)
class EntryHead:
    """``before`` and ``after``: pages of the database. ``count``: of those that changed. ``digest``: of the whole
    database afterwards. ``previous``: the checksum of the entry before."""

    seq: int
    epoch: int
    page_size: int
    before: int
    after: int
    count: int
    digest: bytes
    previous: bytes


@dataclass(frozen=True, slots=True)
class LogHead:
    """Where a log stands: its last entry, or the base it begins with. ``digest``, ``size`` and ``page_size``: of the
    whole database there, the second in pages."""

    seq: int
    epoch: int
    checksum: bytes
    digest: bytes
    size: int
    page_size: int

    def after(self, head: EntryHead, checksum: bytes) -> LogHead:
        """Where it stands after an entry."""
        return LogHead(head.seq, head.epoch, checksum, head.digest, head.after, head.page_size)


def first_checksum(vault: str, digest: bytes) -> bytes:
    """What the first entry of a log chains to: the database it begins with."""
    return checksum_of(vault, b"a log begins with", digest)


def checksum_of(vault: str, *parts: bytes | memoryview) -> bytes:
    """A checksum that another vault's bytes do not have."""
    name = vault.encode()
    found = blake2b(len(name).to_bytes(4, "big") + name, digest_size=CHECKSUM_BYTES)
    for each in parts:
        found.update(each)
    return found.digest()


class PagePacker:
    """Packs changed pages as entries hold them, with one zstd context for all of them: making one takes longer."""

    def __init__(self) -> None:
        self._packer = zstd.ZstdCompressor(level=LEVEL)

    def pack(self, pages: Iterable[PageChange]) -> tuple[bytes, int]:
        """The packed pages, and how many they are. Raises ``TooLarge``, and what ``pages`` raises: then the packer is
        of no use any more."""
        packed: list[bytes] = []
        batch: list[bytes | memoryview] = []
        waiting = size = count = 0
        for number, kind, data in pages:
            count += 1
            batch += (_PAGE.pack(number, kind), data)
            waiting += len(data)
            if waiting >= BATCH_BYTES:
                packed.append(self._packer.compress(b"".join(batch)))
                size += len(packed[-1])
                batch, waiting = [], 0
                if size > MAX_PAYLOAD_BYTES:
                    raise TooLarge("the change is too large for the cluster's log", hint="make it in smaller parts")
        packed.append(self._packer.compress(b"".join(batch), self._packer.FLUSH_FRAME))
        return b"".join(packed), count


def encode(vault: str, head: EntryHead, pages: bytes) -> tuple[bytes, bytes]:
    """The payload of an entry, and its checksum; ``pages`` as a ``PagePacker`` made them."""
    front = _HEAD.pack(
        MAGIC,
        FORMAT,
        head.seq,
        head.epoch,
        head.page_size,
        head.before,
        head.after,
        head.count,
        head.digest,
        head.previous,
    )
    checksum = checksum_of(vault, front, pages)
    return b"".join((front, checksum, pages)), checksum


@dataclass(frozen=True, slots=True)
class OpenedEntry:
    """An entry whose every byte was compared with its checksum, and that follows what came before."""

    head: EntryHead
    checksum: bytes
    pages: Iterator[PageChange]
    """In order, one at a time. Raises ``LogDamaged``: only at the end it is known that none is missing."""


def decode(vault: str, entry: LogEntry, last: LogHead) -> OpenedEntry:
    """The entry that follows ``last``. Raises ``LogDamaged`` naming ``entry``, or the one that is missing."""

    def refuse(what: str) -> LogDamaged:
        return LogDamaged(vault, last.seq + 1, what)

    if entry.seq != last.seq + 1:
        raise refuse(f"entry {entry.seq} stands in its place")
    head, checksum, body = _open(vault, entry, refuse)
    if (reason := _misfit(head, entry, last)) is not None:
        raise refuse(reason)
    return OpenedEntry(head, checksum, _unpack(head, body, refuse))


def head_after(vault: str, entry: LogEntry) -> LogHead:
    """Where the log stands after an entry, by itself: whatever comes before it. Raises ``LogDamaged``."""
    head, checksum, _ = _open(vault, entry, lambda what: LogDamaged(vault, entry.seq, what))
    return LogHead(head.seq, head.epoch, checksum, head.digest, head.after, head.page_size)


def _open(vault: str, entry: LogEntry, refuse: Callable[[str], LogDamaged]) -> tuple[EntryHead, bytes, memoryview]:
    """The head, the checksum, which every byte fits, and the packed pages."""
    payload = memoryview(entry.payload)
    start = _HEAD.size + CHECKSUM_BYTES
    if len(payload) < start or payload[: len(MAGIC)] != MAGIC:
        raise refuse("it is no entry")
    if payload[len(MAGIC)] != FORMAT:
        raise refuse("it was written by a newer strongroom, or changed")
    front, checksum, body = payload[: _HEAD.size], bytes(payload[_HEAD.size : start]), payload[start:]
    if checksum_of(vault, front, body) != checksum:
        raise refuse("it is not what its checksum says")
    return EntryHead(*_HEAD.unpack(front)[2:]), checksum, body


def _misfit(head: EntryHead, entry: LogEntry, last: LogHead) -> str | None:
    """Why an entry does not follow ``last``."""
    if (head.seq, head.epoch) != (entry.seq, entry.epoch):
        return f"it was written as entry {head.seq} of epoch {head.epoch}"
    if head.previous != last.checksum:
        return "it follows another entry than the one before it"
    if head.epoch < last.epoch:
        return f"epoch {head.epoch} comes after epoch {last.epoch}"
    if (head.page_size, head.before) != (last.page_size, last.size):
        return "it changes another database"
    if not 1 <= head.after <= MAX_PAGES or head.after - head.before > head.count:
        return "its database cannot be"
    return None


def _unpack(head: EntryHead, body: memoryview, refuse: Callable[[str], LogDamaged]) -> Iterator[PageChange]:
    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: MAX_WINDOW_LOG}
    known, last = min(head.before, head.after), 0
    try:
        with zstd.ZstdFile(io.BytesIO(body), options=options) as unpacking:
            for _ in range(head.count):
                front = unpacking.read(_PAGE.size)
                if len(front) != _PAGE.size:
                    raise refuse("it ends too early")
                number, kind = _PAGE.unpack(front)
                is_next = last < number <= known or (number == max(last, known) + 1 and kind == WHOLE)
                if kind not in (WHOLE, DIFFERENCE) or not is_next or number > head.after:
                    raise refuse("it holds a page that cannot be")
                data = unpacking.read(head.page_size)
                if len(data) != head.page_size:
                    raise refuse("it ends too early")
                last = number
                yield PageChange(number, kind, data)
            if unpacking.read(1) or max(last, known) != head.after:
                raise refuse("it holds other pages than it says")
    except (zstd.ZstdError, EOFError) as failure:
        raise refuse("it cannot be unpacked") from failure
