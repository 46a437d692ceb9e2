"""Facts that are kept are those that would be read now: by whoever asks, whatever was committed, and at any time."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from tests.blanks import empty_tables
from vaults.db.sql import Reader, Writer
from vaults.index import passages
from vaults.index.items import SearchItem
from vaults.search import facts_cache
from vaults.search.facts_cache import FactsCache, FactsStamp
from vaults.search.filters import SearchFilter
from vaults.search.passage_facts import PassageFacts, read_facts

MORNING, NOON, EVENING = (f"2026-01-01T{hour}:00:00.000Z" for hour in ("08", "12", "20"))
ANN, BOB = SearchFilter("ann", MORNING), SearchFilter("bob", MORNING)
ALL = (1, 2, 3)


@pytest.fixture
def tx() -> Writer:
    """Three passages: for everybody, for Ann alone, until noon."""
    tx = empty_tables()
    for number, (owner, expires) in enumerate(((None, None), ("ann", None), (None, NOON)), 1):
        item = SearchItem("memory", number, "", MORNING, MORNING, "global", owner=owner, expires_at=expires)
        passages.store(tx, item, passages.cut_passages("", f"Text {number}.", [], 200))
    return tx


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The passages of each look into the database."""
    looks: list[list[int]] = []

    def counted(tx: Reader, some: Collection[int], only: SearchFilter) -> dict[int, PassageFacts]:
        looks.append(list(some))
        return read_facts(tx, some, only)

    monkeypatch.setattr(facts_cache, "read_facts", counted)
    return looks


def stamp(tx: Reader, expires: str | None = NOON) -> FactsStamp:
    return FactsStamp(tx.version(), expires)


def test_only_what_is_not_known_is_read(tx: Writer, read: list[list[int]]) -> None:
    cache = FactsCache()
    first = cache.read(tx, (2, 1), ANN, stamp=stamp(tx))
    again = cache.read(tx, (3, 1, 2), ANN, stamp=stamp(tx))
    assert (list(first), list(again)) == ([2, 1], [3, 1, 2])
    assert again == read_facts(tx, ALL, ANN)
    assert read == [[2, 1], [3]]


def test_each_caller_gets_what_their_filter_lets_through(tx: Writer) -> None:
    cache = FactsCache()
    for only in (ANN, BOB, SearchFilter("ann", MORNING, kinds=("note",)), ANN, BOB):
        assert cache.read(tx, ALL, only, stamp=stamp(tx)) == read_facts(tx, ALL, only)
    assert list(cache.read(tx, ALL, BOB, stamp=stamp(tx))) == [1, 3]


def test_a_commit_makes_all_of_it_old(tx: Writer) -> None:
    cache = FactsCache()
    cache.read(tx, ALL, ANN, stamp=stamp(tx))
    tx.run("UPDATE passages SET hidden = 1 WHERE seq = 1")
    tx.count_change()
    assert list(cache.read(tx, ALL, ANN, stamp=stamp(tx))) == [2, 3]


def test_what_expires_meanwhile_is_let_through_no_more(tx: Writer) -> None:
    cache = FactsCache()
    assert list(cache.read(tx, ALL, ANN, stamp=stamp(tx))) == [1, 2, 3]
    later = SearchFilter("ann", EVENING)
    assert list(cache.read(tx, ALL, later, stamp=stamp(tx, None))) == [1, 2]
    assert list(cache.read(tx, ALL, ANN, stamp=stamp(tx))) == [1, 2, 3]  # a clock that was set back


def test_a_read_that_is_later_than_its_stamp_keeps_nothing(tx: Writer, read: list[list[int]]) -> None:
    cache, before = FactsCache(), stamp(tx)
    tx.count_change()
    for _ in range(2):
        assert list(cache.read(tx, ALL, ANN, stamp=before)) == [1, 2, 3]
    assert len(read) == 2


@pytest.mark.parametrize("only", [SearchFilter("ann", MORNING, author="ann"), SearchFilter("ann", MORNING, as_of=1)])
def test_narrow_filters_are_read_each_time(tx: Writer, only: SearchFilter) -> None:
    cache = FactsCache()
    cache.read(tx, ALL, ANN, stamp=stamp(tx))
    assert cache.read(tx, ALL, only, stamp=stamp(tx)) == read_facts(tx, ALL, only)


def test_no_more_than_so_many_are_kept(tx: Writer, read: list[list[int]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts_cache, "MAX_PASSAGES", 2)
    monkeypatch.setattr(facts_cache, "MAX_FILTERS", 1)
    cache = FactsCache()
    for only in (ANN, BOB, ANN):
        cache.read(tx, (1, 2), only, stamp=stamp(tx))
    assert read == [[1, 2]] * 3
    cache.read(tx, (1, 2), ANN, stamp=stamp(tx))
    assert len(read) == 4  # as many as there may be: begun anew


def test_nothing_is_left_of_what_was_cleared(tx: Writer, read: list[list[int]]) -> None:
    cache = FactsCache()
    cache.read(tx, ALL, ANN, stamp=stamp(tx))
    cache.clear()
    cache.read(tx, ALL, ANN, stamp=stamp(tx))
    assert len(read) == 2
