"""The file that commits are replayed into holds what they lead to, however they are held in memory meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from vaults.db.page_changes import DIFFERENCE, WHOLE, PageChange
from vaults.db.page_digests import PageDigests, digest_page
from vaults.db.replayed_file import ReplayedFile

SIZE = 512


def page(fill: int) -> bytes:
    return bytes([fill]) * SIZE


def digest_of(*pages: bytes) -> bytes:
    digests = PageDigests(SIZE)
    for number, data in enumerate(pages, 1):
        digests.set(number, digest_page(number, data))
    return digests.total


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file"


@pytest.fixture
def file(path: Path) -> Iterator[ReplayedFile]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    file = ReplayedFile(descriptor, ValueError)
    file.lay_base(SIZE, [page(1) + page(2)])
    yield file
    os.close(descriptor)


def test_pages_that_came_and_went_before_they_were_written_stay_away(file: ReplayedFile, path: Path) -> None:
    file.apply(1, b"", [PageChange(3, WHOLE, page(3)), PageChange(4, WHOLE, page(4))])
    file.resize(2)
    file.apply(2, digest_of(page(1), page(3)), [PageChange(2, DIFFERENCE, page(2 ^ 3))])
    file.settle()
    assert path.read_bytes() == page(1) + page(3)


def test_a_file_cut_in_the_middle_of_what_is_held_is_as_long_as_it_should_be(file: ReplayedFile, path: Path) -> None:
    file.apply(1, b"", [PageChange(number, WHOLE, page(number)) for number in (3, 4, 5)])
    file.resize(4)
    file.apply(2, digest_of(page(9), *map(page, (2, 3, 4))), [PageChange(1, WHOLE, page(9))])
    file.settle()
    assert path.read_bytes() == page(9) + page(2) + page(3) + page(4)


def test_a_large_commit_is_written_in_parts(file: ReplayedFile, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vaults.db.replayed_file.HELD_BYTES", 4 * SIZE)
    whole = [page(number) for number in range(1, 60)]
    file.apply(1, digest_of(*whole), (PageChange(number, WHOLE, page(number)) for number in range(1, 60)))
    assert path.read_bytes() == b"".join(whole)


def test_a_digest_that_is_not_reached_is_refused(file: ReplayedFile) -> None:
    file.apply(7, digest_of(page(1)), [PageChange(1, WHOLE, page(1))])
    with pytest.raises(ValueError, match="after commit 7"):
        file.settle()


def test_a_difference_to_a_page_that_is_not_there_is_refused(file: ReplayedFile) -> None:
    with pytest.raises(ValueError, match="not there: 3"):
        file.apply(1, b"", [PageChange(3, DIFFERENCE, page(3))])
