"""The frames of a write-ahead log that can be trusted, also after ones that cannot. Pure; the log may be damaged.

Each frame carries a checksum that goes on from that of the frame before. SQLite stops at the first that is wrong and
drops all commits after it. Here the checksum *stored* in a frame serves as the beginning of the next, so what follows a
damaged frame is still checked, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from vaults.db.wal_frames import (
    FRAMES_AT_ONCE,
    HEADER_BYTES,
    WalFrame,
    WalHeader,
    is_believable,
    parse_header,
    read_frames,
    read_page,
)


@dataclass(frozen=True, slots=True)
class TrustedFrames:
    """Newest images of pages, as of the last commit. ``stale``: pages whose newest image is damaged. ``damaged``: how
    many frames are, of ``frames`` in all. ``page_count``: pages of the database, as the last commit says."""

    images: dict[int, bytes] = field(default_factory=dict)
    stale: frozenset[int] = frozenset()
    frames: int = 0
    damaged: int = 0
    page_count: int | None = None
    page_size: int | None = None


@dataclass(frozen=True, slots=True)
class _Judged:
    at: int
    frame: WalFrame
    is_right: bool
    is_ours: bool
    """It carries the marks of this log."""


def read_trusted(data: bytes) -> TrustedFrames:
    """The frames of a log. One without a readable header holds nothing that could be trusted."""
    if len(data) < HEADER_BYTES:
        return TrustedFrames()
    header = parse_header(data[:HEADER_BYTES])
    if header is None:
        return TrustedFrames(damaged=1)
    return _settle(data, header, list(_judge(data, header)))


def _judge(data: bytes, header: WalHeader) -> Iterator[_Judged]:
    at, before = 0, header.checksum
    while batch := read_frames(lambda offset, size: data[offset : offset + size], header, at, FRAMES_AT_ONCE):
        for frame in batch:
            yield _Judged(at, frame, is_believable(frame, header, before), frame.salts == header.salts)
            at, before = at + 1, frame.checksum


def _settle(data: bytes, header: WalHeader, frames: list[_Judged]) -> TrustedFrames:
    """Only what was committed. Frames after the last commit are an unfinished one, or what an earlier log left there;
    damaged ones among them that belong to this log may have been a commit, and count."""
    last = max((each.at for each in frames if each.is_right), default=-1)
    torn = sum(each.is_ours for each in frames[last + 1 :])
    commits = [each.at for each in frames if each.frame.size and each.is_right]
    frames = frames[: commits[-1] + 1] if commits else []
    newest = {each.frame.page: each for each in frames}
    return TrustedFrames(
        images={page: _image(data, header, each.at) for page, each in newest.items() if each.is_right},
        stale=frozenset(page for page, each in newest.items() if not each.is_right),
        frames=len(frames),
        damaged=torn + sum(not each.is_right for each in frames),
        page_count=frames[-1].frame.size if frames else None,
        page_size=header.page_size,
    )


def _image(data: bytes, header: WalHeader, at: int) -> bytes:
    return read_page(lambda offset, size: data[offset : offset + size], header.page_size, at)
