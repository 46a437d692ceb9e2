"""A log that was tampered with, or lost a part: found and named, never replayed.

Covers ops.change_log.points, ops.change_log.records, ops.change_log.lines, vaults.db.page_digests.
"""

from __future__ import annotations

import io
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ops.change_log.names import list_lines
from ops.change_log.points import LogPoint, find_point
from ops.change_log.records import decode
from ops.change_log.replay import materialise
from ops.change_log.segments import MAGIC, read_head, read_records
from ops.change_log.store import plain
from tests.ops.change_log.log_store import MemoryStore
from tests.ops.change_log.test_replay import VAULT, Logged
from tests.work import examples
from vaults.db.page_digests import PageDigests, digest_page
from vaults.errors import InvalidArgument, NotFound, StrongroomError


@contextmanager
def written(commits: int = 6) -> Iterator[Logged]:
    """A log with a segment for each commit."""
    with tempfile.TemporaryDirectory() as folder:
        logged = Logged(Path(folder))
        for seed in range(commits):
            logged.step("insert", seed)
            logged.note()
        logged.end()
        logged.database.close()
        yield logged


def segments_of(store: MemoryStore) -> list[str]:
    return sorted(key for key in list(store.objects) if "/seg-" in key)


def test_a_lost_segment_is_named_and_what_is_before_it_restored() -> None:
    with written() as logged:
        lost = segments_of(logged.store)[3]
        del logged.store.objects[lost]
        with pytest.raises(InvalidArgument, match="lacks segment 3"):
            logged.restored(max(logged.images))
        assert logged.restored(4)


def test_exchanged_segments_are_found() -> None:
    with written() as logged:
        one, other = segments_of(logged.store)[2:4]
        objects = logged.store.objects
        objects[one], objects[other] = objects[other], objects[one]
        with pytest.raises(InvalidArgument, match="another segment"):
            logged.restored(max(logged.images))


def test_a_segment_written_anew_with_its_own_hashes_breaks_the_chain() -> None:
    """Nothing but the hash that the next one names tells it from the one that was written."""
    with written() as logged:
        change_head(logged.store, segments_of(logged.store)[2], began=1)
        with pytest.raises(InvalidArgument, match="another segment than was written as number 3"):
            logged.restored(max(logged.images))


def test_a_segment_that_names_another_predecessor_is_found() -> None:
    with written() as logged:
        change_head(logged.store, segments_of(logged.store)[-1], previous="0" * 64)
        with pytest.raises(InvalidArgument, match="another segment than was written as number"):
            logged.restored(max(logged.images))


def change_head(store: MemoryStore, key: str, **said: object) -> None:
    """Write a segment anew: what its head says, under the same name and of the same body."""
    data = store.objects[key]
    end = data.index(b"\n", len(MAGIC))
    head = read_head(data).model_copy(update=said)
    store.objects[key] = MAGIC + head.model_dump_json().encode() + data[end:]


@settings(max_examples=examples(40))
@given(st.integers(0, 10**6), st.integers(1, 255), st.booleans(), st.integers(0, 10**6))
def test_no_changed_byte_goes_unseen(at: int, change: int, is_cut: bool, which: int) -> None:
    logged = whole()
    keys = sorted(key for key in logged.store.objects if not key.endswith("line.json"))
    key = keys[which % len(keys)]
    data = bytearray(logged.store.objects[key])
    data[at % len(data)] ^= change
    store = MemoryStore()
    store.objects = {**logged.store.objects, key: bytes(data[: at % len(data)] if is_cut else data)}
    with tempfile.TemporaryDirectory() as folder:
        into = Path(folder) / "r.db"
        last = max(logged.images)
        try:
            materialise(store, VAULT, into, LogPoint(logged.lines[last], last, "", True))
        except StrongroomError:
            assert not into.exists()
        else:  # a byte of a head that nothing depends on, such as a date
            assert into.read_bytes() == logged.restored(last)


_WHOLE: list[Logged] = []


def whole() -> Logged:
    """One log for all examples."""
    if not _WHOLE:
        logged = Logged(Path(tempfile.mkdtemp(prefix="strongroom-test-log-")))
        for seed in range(4):
            logged.step("insert", seed)
            logged.note()
        logged.end()
        _WHOLE.append(logged)
    return _WHOLE[0]


@given(st.binary(max_size=200))
def test_any_bytes_in_place_of_a_segment_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidArgument):
        list(read_records(data, plain))


def test_a_moment_is_the_last_commit_before_it() -> None:
    with written() as logged:
        whole_line = list_lines(logged.store.objects, VAULT)[0]
        base = whole_line.bases[0]
        for segment in whole_line.segments:
            moment = find_point(logged.store, VAULT, sequence=segment.last)
            assert moment.sequence == segment.last
            found = find_point(logged.store, VAULT, time=moment.time)
            later = [each.last for each in whole_line.segments if each.ended == segment.ended]
            assert found.sequence == later[-1]
            assert found.complete
        assert find_point(logged.store, VAULT, sequence=base.sequence).sequence == base.sequence
        assert find_point(logged.store, VAULT, time="2999-01-01T00:00:00Z").sequence == whole_line.last
        with pytest.raises(NotFound):
            find_point(logged.store, VAULT, time="2001-01-01T00:00:00Z")
        with pytest.raises(NotFound):
            find_point(logged.store, VAULT, sequence=0)


def test_a_gap_after_a_moment_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = count(1_000)
    monkeypatch.setattr("ops.change_log.follower._now", lambda: next(moments))
    with tempfile.TemporaryDirectory() as folder:
        logged = Logged(Path(folder))
        logged.step("insert", 1)
        logged.note()
        end = find_point(logged.store, VAULT)
        logged.end()
        logged.step("insert", 2)
        for each in logged.database.writers:
            each.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        logged.begin()
        assert not logged.resumed
        newest = find_point(logged.store, VAULT)
        assert newest.line != end.line
        assert newest.complete
        assert find_point(logged.store, VAULT, sequence=end.sequence).sequence == end.sequence
        assert newest.is_newest
        before = find_point(logged.store, VAULT, time=end.time)
        assert (before.line, before.complete, before.is_newest) == (end.line, False, False)
        logged.end()
        logged.database.close()


@given(st.lists(st.tuples(st.integers(1, 12), st.binary(min_size=1, max_size=8)), max_size=30), st.integers(1, 12))
def test_the_digest_follows_every_change(changes: list[tuple[int, bytes]], size: int) -> None:
    pages: dict[int, bytes] = {}
    digests = PageDigests(512)
    for number, data in changes:
        if number > digests.size:
            digests.resize(number)
            pages |= {each: bytes(512) for each in range(1, number + 1) if each not in pages}
        digests.set(number, digest_page(number, data))
        pages[number] = data
    digests.resize(size)
    again = PageDigests(512)
    for number in range(1, size + 1):
        again.set(number, digest_page(number, pages.get(number, bytes(512))))
    assert digests.total == again.total


def test_a_record_of_more_pages_than_a_commit_may_have_is_refused() -> None:
    head = struct.pack(">QQII16s", 1, 1, 2**32 - 1, 2**32 - 1, bytes(16))
    endless = io.BytesIO(head)
    with pytest.raises(InvalidArgument, match="cannot be"):
        next(decode(endless.read, 4096))
