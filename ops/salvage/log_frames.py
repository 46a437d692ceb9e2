"""The frames of a write-ahead log that can be trusted, also after ones that cannot. Pure; the log may be damaged.

Each frame carries a checksum that goes on from that of the frame before. SQLite stops at the first that is wrong and
drops all commits after it. Here the checksum *stored* in a frame serves as the beginning of the next, so what follows a
damaged frame is still checked, byte for byte.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24
_MAGIC = (0x377F0682, 0x377F0683)


@dataclass(frozen=True, slots=True)
class LogFrames:
    """Newest images of pages, as of the last commit. ``stale``: pages whose newest image is damaged. ``damaged``: how
    many frames are, of ``frames`` in all. ``pages``: of the database, in pages, as the last commit says."""

    images: dict[int, bytes] = field(default_factory=dict)
    stale: frozenset[int] = frozenset()
    frames: int = 0
    damaged: int = 0
    page_count: int | None = None
    page_size: int | None = None


@dataclass(frozen=True, slots=True)
class _Frame:
    page: int
    commit: int
    image: bytes | None  # None: damaged
    ours: bool  # it carries the marks of this log


def read_log(data: bytes) -> LogFrames:
    """The frames of a log. One without a readable header holds nothing that could be trusted."""
    if len(data) < HEADER_BYTES:
        return LogFrames()
    magic, _, size = struct.unpack(">3I", data[:12])
    if magic not in _MAGIC or size not in {1 << bits for bits in range(9, 17)}:
        return LogFrames(damaged=1)
    order = "big" if magic & 1 else "little"
    if _sum(data[:24], (0, 0), order) != struct.unpack(">2I", data[24:32]):
        return LogFrames(damaged=1)
    frames = list(_read_frames(data, size, order))
    return _settle(frames, size)


def _settle(frames: list[_Frame], size: int) -> LogFrames:
    """Only what was committed. Frames after the last commit are an unfinished one, or what an earlier log left there;
    damaged ones among them that belong to this log may have been a commit, and count."""
    last = max((at for at, frame in enumerate(frames) if frame.image is not None), default=-1)
    torn = sum(frame.ours for frame in frames[last + 1 :])
    commits = [at for at, frame in enumerate(frames) if frame.commit and frame.image is not None]
    frames = frames[: commits[-1] + 1] if commits else []
    newest: dict[int, bytes | None] = {}
    for frame in frames:
        newest[frame.page] = frame.image
    return LogFrames(
        images={page: image for page, image in newest.items() if image is not None},
        stale=frozenset(page for page, image in newest.items() if image is None),
        frames=len(frames),
        damaged=torn + sum(frame.image is None for frame in frames),
        page_count=frames[-1].commit if frames else None,
        page_size=size,
    )


def _read_frames(data: bytes, size: int, order: str) -> Iterator[_Frame]:
    salts, before = data[16:24], struct.unpack(">2I", data[24:32])
    step = FRAME_HEADER_BYTES + size
    for at in range(HEADER_BYTES, len(data) - step + 1, step):
        head, image = data[at : at + FRAME_HEADER_BYTES], data[at + FRAME_HEADER_BYTES : at + step]
        page, commit = struct.unpack(">2I", head[:8])
        stored = struct.unpack(">2I", head[16:24])
        ours = head[8:16] == salts
        right = ours and _sum(image, _sum(head[:8], before, order), order) == stored
        yield _Frame(page, commit, image if right and page else None, ours)
        before = stored


def _sum(data: bytes, begin: tuple[int, ...], order: str) -> tuple[int, int]:
    one, other = begin
    words = array("I", data)
    if order != sys.byteorder:
        words.byteswap()
    for at in range(0, len(words), 2):
        one = (one + words[at] + other) & 0xFFFFFFFF
        other = (other + words[at + 1] + one) & 0xFFFFFFFF
    return one, other
