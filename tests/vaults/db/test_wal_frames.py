"""SQLite's own log, read: what it wrote is found, and nothing that was changed in any way is believed."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.work import examples
from vaults.db.engine import sqlite
from vaults.db.wal_frames import (
    FRAME_HEADER_BYTES,
    HEADER_BYTES,
    ReadAt,
    WalCommit,
    parse_header,
    read_commits,
    read_page,
    start_of,
)


@cache
def written(page_size: int) -> bytes:
    """The log of a few transactions."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.db"
        raw = sqlite.connect(path, isolation_level=None)
        raw.execute(f"PRAGMA page_size={page_size}")
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute("CREATE TABLE t (w BLOB)")
        chance = random.Random(7)
        for _ in range(12):
            raw.execute("INSERT INTO t VALUES (?)", (chance.randbytes(chance.randrange(3 * page_size)),))
        log = path.with_name("t.db-wal").read_bytes()
        raw.close()
        return log


def reading(log: bytes) -> ReadAt:
    return lambda offset, size: log[offset : offset + size]


def commits_of(log: bytes) -> list[WalCommit]:
    header = parse_header(log[:HEADER_BYTES])
    return [] if header is None else list(read_commits(reading(log), start_of(header), 10_000))


def sum_up(words: bytes, one: int, other: int) -> tuple[int, int]:
    """The checksum as sqlite.org/walformat.html defines it."""
    for at in range(0, len(words), 8):
        one = (one + int.from_bytes(words[at : at + 4], "little") + other) & 0xFFFFFFFF
        other = (other + int.from_bytes(words[at + 4 : at + 8], "little") + one) & 0xFFFFFFFF
    return one, other


def believable(log: bytes) -> int:
    """How many frames of a log count, worked out one by one."""
    header = parse_header(log[:HEADER_BYTES])
    assert header is not None
    running, last = header.checksum, 0
    length = FRAME_HEADER_BYTES + header.page_size
    for found, at in enumerate(range(HEADER_BYTES, len(log) - length + 1, length), 1):
        head, page = log[at : at + FRAME_HEADER_BYTES], log[at + FRAME_HEADER_BYTES : at + length]
        running = sum_up(head[:8] + page, *running)
        said = int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:], "big")
        if running != said or head[8:16] != header.salts or not int.from_bytes(head[:4], "big"):
            break
        last = found if int.from_bytes(head[4:8], "big") else last
    return last


@pytest.mark.parametrize("page_size", [512, 4096, 65536])
def test_every_transaction_is_found_with_its_pages(page_size: int) -> None:
    log = written(page_size)
    commits = commits_of(log)
    assert len(commits) == 13
    assert commits[-1].end.frames == believable(log) == (len(log) - HEADER_BYTES) // (FRAME_HEADER_BYTES + page_size)
    assert [each.size for each in commits] == sorted(each.size for each in commits)
    first = read_page(reading(log), page_size, commits[0].pages[1])
    assert first.startswith(b"SQLite format 3\0")


def test_reading_goes_on_where_it_ended() -> None:
    log = written(512)
    commits = commits_of(log)
    later = list(read_commits(reading(log), commits[4].end, 10_000))
    assert later == commits[5:]
    assert list(read_commits(reading(log), commits[4].end, commits[6].end.frames)) == commits[5:7]


@settings(max_examples=examples(60))
@given(st.data())
def test_no_damaged_frame_is_believed(data: st.DataObject) -> None:
    log = bytearray(written(512))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(HEADER_BYTES, len(log) - 1))
        log[at] ^= data.draw(st.integers(1, 255))
    damaged = bytes(log[: data.draw(st.integers(HEADER_BYTES, len(log)))])
    whole, commits = commits_of(written(512)), commits_of(damaged)
    # Bytes of a frame's head that no checksum covers are the checksum itself and the salts, which are compared.
    assert commits == whole[: len(commits)]
    assert (commits[-1].end.frames if commits else 0) == believable(damaged)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_without_a_failure(data: bytes) -> None:
    commits_of(data)
    commits_of(written(512)[:HEADER_BYTES] + data)


@given(st.integers(0, HEADER_BYTES - 1), st.integers(1, 255))
def test_a_changed_head_is_none(at: int, change: int) -> None:
    head = bytearray(written(512)[:HEADER_BYTES])
    head[at] ^= change
    assert parse_header(bytes(head)) is None
    assert parse_header(bytes(head[:at])) is None


def test_an_unfinished_transaction_is_not_given() -> None:
    log = written(4096)
    commits = commits_of(log)
    length = FRAME_HEADER_BYTES + 4096
    cut = log[: HEADER_BYTES + (commits[-1].end.frames - 1) * length]
    assert commits_of(cut) == commits[:-1]
