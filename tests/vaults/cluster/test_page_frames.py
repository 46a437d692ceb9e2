"""Entries that were changed in any way are named, never replayed, and cost no memory.

Covers vaults.cluster.page_frames, vaults.cluster.failures, vaults.cluster.vault_log.
"""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.vaults.cluster.memory_log import VAULT
from tests.work import examples
from vaults.cluster import page_frames
from vaults.cluster.failures import LogDamaged
from vaults.cluster.page_frames import EntryHead, LogHead, PagePacker, decode, encode, first_checksum
from vaults.cluster.vault_log import LogEntry
from vaults.db.page_changes import DIFFERENCE, WHOLE, PageChange
from vaults.errors import TooLarge

SIZE = 512
START = LogHead(4, 2, first_checksum(VAULT, b"x" * 16), b"x" * 16, 3, SIZE)
HEAD = EntryHead(5, 2, SIZE, 3, 5, 4, b"y" * 16, START.checksum)
PAGES = [
    PageChange(1, DIFFERENCE, b"\1" + bytes(SIZE - 1)),
    PageChange(3, WHOLE, b"three" + bytes(SIZE - 5)),
    PageChange(4, WHOLE, bytes(SIZE)),
    PageChange(5, WHOLE, b"five" * (SIZE // 4)),
]


def entry_of(head: EntryHead, pages: list[PageChange], vault: str = VAULT) -> LogEntry:
    packed, _ = PagePacker().pack(pages)
    payload, _ = encode(vault, head, packed)
    return LogEntry(head.seq, head.epoch, payload)


def read(entry: LogEntry, last: LogHead = START) -> list[PageChange]:
    opened = decode(VAULT, entry, last)
    return [PageChange(number, kind, bytes(data)) for number, kind, data in opened.pages]


def refused(entry: LogEntry, last: LogHead = START) -> str:
    with pytest.raises(LogDamaged) as caught:
        read(entry, last)
    assert caught.value.details == {"vault": VAULT, "seq": last.seq + 1}
    assert VAULT in caught.value.message
    assert not caught.value.retryable
    return caught.value.message


def test_what_was_packed_is_unpacked() -> None:
    entry = entry_of(HEAD, PAGES)
    assert read(entry) == PAGES
    opened = decode(VAULT, entry, START)
    assert START.after(opened.head, opened.checksum) == LogHead(5, 2, opened.checksum, b"y" * 16, 5, SIZE)


@settings(max_examples=examples(400))
@given(st.data())
def test_any_bit_that_is_flipped_is_noticed(data: st.DataObject) -> None:
    payload = bytearray(entry_of(HEAD, PAGES).payload)
    at = data.draw(st.integers(0, len(payload) * 8 - 1))
    payload[at // 8] ^= 1 << at % 8
    refused(LogEntry(5, 2, bytes(payload)))


@given(st.binary(max_size=300), st.integers(0, 400))
def test_any_bytes_are_refused(data: bytes, cut: int) -> None:
    whole = entry_of(HEAD, PAGES).payload
    refused(LogEntry(5, 2, data))
    refused(LogEntry(5, 2, whole[:cut][: len(whole) - 1]))
    refused(LogEntry(5, 2, whole + data + b"\0"))


def test_an_entry_of_another_place_vault_or_history_is_refused() -> None:
    entry = entry_of(HEAD, PAGES)
    assert "entry 6 stands" in refused(replace(entry, seq=6))
    assert "entry 4 stands" in refused(replace(entry, seq=4))
    assert "of epoch 2" in refused(replace(entry, epoch=3))
    assert "checksum" in refused(entry_of(HEAD, PAGES, "another"))
    assert "follows another" in refused(entry, replace(START, checksum=b"z" * 16))
    assert "epoch 2 comes after epoch 3" in refused(entry, replace(START, epoch=3))
    assert "another database" in refused(entry, replace(START, size=2))
    assert "another database" in refused(entry, replace(START, page_size=1024))
    assert "written as entry 6" in refused(replace(entry_of(replace(HEAD, seq=6), PAGES), seq=5))


@pytest.mark.parametrize(
    ("head", "pages"),
    [
        (HEAD, PAGES[:3]),
        (replace(HEAD, count=3), PAGES[:3]),
        (HEAD, [PAGES[0], *PAGES]),
        (replace(HEAD, count=5), [*PAGES, PageChange(6, WHOLE, bytes(SIZE))]),
        (replace(HEAD, count=3), [PAGES[0], PAGES[1], PAGES[3]]),
        (HEAD, [PAGES[1], PAGES[0], *PAGES[2:]]),
        (HEAD, [*PAGES[:3], PageChange(5, DIFFERENCE, bytes(SIZE))]),
        (HEAD, [PageChange(0, WHOLE, bytes(SIZE)), *PAGES[1:]]),
        (HEAD, [PageChange(1, 2, bytes(SIZE)), *PAGES[1:]]),
        (replace(HEAD, after=0), []),
        (replace(HEAD, after=2, count=1), [PageChange(3, WHOLE, bytes(SIZE))]),
    ],
)
def test_pages_that_cannot_be_are_refused_although_the_checksum_is_right(
    head: EntryHead, pages: list[PageChange]
) -> None:
    refused(entry_of(head, pages))


def test_a_head_that_says_much_allocates_nothing() -> None:
    most = 2**32 - 2
    huge = entry_of(replace(HEAD, after=most, count=2**32 - 1), PAGES)
    tracemalloc.start()
    try:
        refused(huge)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_zeros_that_unpack_to_gigabytes_are_not_unpacked() -> None:
    bomb = page_frames.zstd.compress(bytes(2**26), 1) * 64  # four gigabytes in frames that follow each other
    payload, _ = encode(VAULT, HEAD, bomb)
    tracemalloc.start()
    try:
        refused(LogEntry(5, 2, payload))
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


def test_an_entry_of_a_newer_version_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(page_frames, "FORMAT", 2)
        entry = entry_of(HEAD, PAGES)
    assert "newer strongroom" in refused(entry)


def test_a_change_that_is_too_large_is_refused_before_all_of_it_is_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_frames, "MAX_PAYLOAD_BYTES", 10_000)
    monkeypatch.setattr(page_frames, "BATCH_BYTES", SIZE)
    taken = []

    def pages() -> object:
        for number in range(1, 10**6):
            taken.append(number)
            yield PageChange(number, WHOLE, number.to_bytes(4, "big") * (SIZE // 4))

    with pytest.raises(TooLarge):
        PagePacker().pack(pages())  # type: ignore[arg-type]
    assert len(taken) < 10**5
