"""SQLite's write-ahead log as bytes: which transactions stand in it, and which pages each of them wrote.

The format is documented at sqlite.org/walformat.html. Nothing here opens a file or believes one: a frame counts if the
checksum that runs from the head of the log through every frame before it says so, and a transaction counts from its
last frame on. Pure, but for the ``read`` it is given.

The checksum is two sums over words of 32 bits, each fed by the other. It is linear, so the part a frame adds is a
product with weights worked out once; a loop over words would take a hundred times as long.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Words: TypeAlias = npt.NDArray[np.uint32]
Checksum: TypeAlias = tuple[int, int]
ReadAt: TypeAlias = Callable[[int, int], bytes]
"""Up to so many bytes from an offset: fewer where the file ends."""

HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24
FRAMES_AT_ONCE = 64
FORMAT = 3007000
MAGIC = 0x377F0682
"""The last bit says that checksums read their words with the big end first."""

_HEADER = struct.Struct(">IIII8sII")
_FRAME = struct.Struct(">II8sII")
_SALTS = slice(8, 16)
_MASK = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class WalHeader:
    """The head of a log. Each time SQLite starts the log over, the salts are others."""

    page_size: int
    sequence: int
    salts: bytes
    big_endian: bool
    checksum: Checksum


@dataclass(frozen=True, slots=True)
class WalPosition:
    """The end of a transaction in a log: frames up to there, and the checksum over them."""

    header: WalHeader
    frames: int
    checksum: Checksum


@dataclass(frozen=True, slots=True)
class WalCommit:
    """One transaction: the pages it wrote, each with the number of the frame that holds it, and the size of the
    database in pages afterwards."""

    pages: Mapping[int, int]
    size: int
    end: WalPosition


def parse_header(data: bytes) -> WalHeader | None:
    """The head of a log; None where the bytes are not one."""
    if len(data) < HEADER_BYTES:
        return None
    magic, version, page_size, sequence, salts, first, second = _HEADER.unpack_from(data)
    if magic & ~1 != MAGIC or version != FORMAT or not is_page_size(page_size):
        return None
    big_endian = bool(magic & 1)
    words = np.frombuffer(data[:24], dtype=_word_type(big_endian=big_endian)).astype(np.uint32)
    if _sum_up((0, 0), words) != (first, second):
        return None
    return WalHeader(page_size, sequence, salts, big_endian, (first, second))


def start_of(header: WalHeader) -> WalPosition:
    """The position before the first frame."""
    return WalPosition(header, 0, header.checksum)


def read_commits(read: ReadAt, start: WalPosition, until: int) -> Iterator[WalCommit]:
    """The transactions from ``start`` to the frame ``until``, in order. Ends before the first frame that is not what
    the checksum says, and before a transaction whose last frame is not there."""
    position, pages = start, dict[int, int]()
    at, running = start.frames, start.checksum
    while at < until:
        batch = _read_batch(read, start.header, at, min(FRAMES_AT_ONCE, until - at), running)
        for page, size, running in batch:
            pages[page] = at
            at += 1
            if size:
                position = WalPosition(start.header, at, running)
                yield WalCommit(pages, size, position)
                pages = {}
        if len(batch) < FRAMES_AT_ONCE:
            return


def read_pages(read: ReadAt, page_size: int, frames: Sequence[int]) -> Iterator[bytes]:
    """``read_page`` of each: those that stand one after another are read at once."""
    length, at = FRAME_HEADER_BYTES + page_size, 0
    while at < len(frames):
        run = 1
        while run < FRAMES_AT_ONCE and at + run < len(frames) and frames[at + run] == frames[at] + run:
            run += 1
        data = read(_offset(page_size, frames[at]), run * length)
        for start in range(FRAME_HEADER_BYTES, run * length, length):
            yield data[start : start + page_size]
        at += run


def read_page(read: ReadAt, page_size: int, frame: int) -> bytes:
    """The page a frame holds, whose checksum was looked at before."""
    return read(_offset(page_size, frame) + FRAME_HEADER_BYTES, page_size)


@dataclass(frozen=True, slots=True)
class WalFrame:
    """The head of a frame. ``size``: of the database in pages after it, in the last of a transaction; else 0.
    ``checksum``: as it stands there. ``added``: what the frame's own words add to the sums of those before it."""

    page: int
    size: int
    salts: bytes
    checksum: Checksum
    added: Checksum


def read_frames(read: ReadAt, header: WalHeader, first: int, count: int) -> list[WalFrame]:
    """Frames as they stand in the log, none of which is believed yet: see ``is_believable``. Fewer where it ends."""
    length = FRAME_HEADER_BYTES + header.page_size
    data = read(_offset(header.page_size, first), count * length)
    found: list[WalFrame] = []
    for number, (one, other) in enumerate(_sum_up_frames(data, header).tolist()):
        page, size, salts, *said = _FRAME.unpack_from(data, number * length)
        found.append(WalFrame(page, size, salts, (said[0], said[1]), (one, other)))
    return found


def is_believable(frame: WalFrame, header: WalHeader, running: Checksum) -> bool:
    """Whether a frame is of this log and what its checksum says; ``running`` is the checksum before it."""
    is_ours = frame.salts == header.salts and frame.page > 0
    return is_ours and _weigh(header.page_size).carry(running, frame.added) == frame.checksum


def _sum_up_frames(data: bytes, header: WalHeader) -> Words:
    """What each whole frame adds to both sums."""
    length = FRAME_HEADER_BYTES + header.page_size
    count = len(data) // length
    words = np.frombuffer(data, dtype=_word_type(big_endian=header.big_endian), count=count * length // 4)
    return words.reshape(count, length // 4).astype(np.uint32, copy=False) @ _weigh(header.page_size).of_words


def _read_batch(
    read: ReadAt, header: WalHeader, first: int, count: int, running: Checksum
) -> list[tuple[int, int, Checksum]]:
    """Frames that are as the checksum says, up to the first that is not: page, size, and checksum. As ``read_frames``
    and ``is_believable``, without an object for each: every commit that is followed comes through here."""
    length = FRAME_HEADER_BYTES + header.page_size
    data = read(_offset(header.page_size, first), count * length)
    (a, b), (c, d) = _weigh(header.page_size).of_sums
    (one, other), found = running, list[tuple[int, int, Checksum]]()
    for number, (more, still_more) in enumerate(_sum_up_frames(data, header).tolist()):
        one, other = (a * one + b * other + more) & _MASK, (c * one + d * other + still_more) & _MASK
        page, size, salts, *said = _FRAME.unpack_from(data, number * length)
        if salts != header.salts or not page or said != [one, other]:
            break
        found.append((page, size, (one, other)))
    return found


def _offset(page_size: int, frame: int) -> int:
    return HEADER_BYTES + frame * (FRAME_HEADER_BYTES + page_size)


def is_page_size(size: int) -> bool:
    """Whether SQLite has pages of so many bytes."""
    return 512 <= size <= 65536 and size & (size - 1) == 0


def _word_type(*, big_endian: bool) -> str:
    return ">u4" if big_endian else "<u4"


def _sum_up(running: Checksum, words: Words) -> Checksum:
    """The sum as the format defines it, a pair of words at a time."""
    one, other = running
    for first, second in words.reshape(-1, 2).tolist():
        one = (one + first + other) & _MASK
        other = (other + second + one) & _MASK
    return one, other


@dataclass(frozen=True, slots=True)
class _Weights:
    """``of_words``: what each word of a frame adds to both sums. ``of_sums``: what both sums before it do."""

    of_words: Words = field(repr=False)
    of_sums: tuple[Checksum, Checksum]

    def carry(self, running: Checksum, added: Checksum) -> Checksum:
        (a, b), (c, d) = self.of_sums
        one, other = running
        return (a * one + b * other + added[0]) & _MASK, (c * one + d * other + added[1]) & _MASK


@cache
def _weigh(page_size: int) -> _Weights:
    """One step is ``(s, t) -> (s + t + x, s + 2t + x + y)``; the last pair of words has gone through none after it."""
    pairs = (8 + page_size) // 8
    weights = np.zeros((pairs * 2, 2), dtype=np.uint32)
    (a, b), (c, d) = (1, 0), (0, 1)
    for pair in range(pairs - 1, -1, -1):
        weights[2 * pair] = (a + b) & _MASK, (c + d) & _MASK
        weights[2 * pair + 1] = b, d
        a, b, c, d = (a + b) & _MASK, (a + 2 * b) & _MASK, (c + d) & _MASK, (c + 2 * d) & _MASK
    # A frame's head ends with salts and the checksum itself, which are not summed up.
    skipped = np.zeros((FRAME_HEADER_BYTES // 4 - 2, 2), dtype=np.uint32)
    return _Weights(np.concatenate([weights[:2], skipped, weights[2:]]), ((a, b), (c, d)))
