"""The checker of histories finds each kind of wrong there is, and nothing wrong with what is right."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.cluster.history import Entry, History, Operation, TakeOver
from tests.cluster.history_checker import check

LOG = [Entry(1, 1, (10,)), Entry(2, 1, (20, 21)), Entry(3, 2, (30,))]
TAKEN = [TakeOver("v", "a", 1, 0), TakeOver("v", "b", 2, 2)]


def wrote(id_: int, seq: int, epoch: int, began: float, **more: Any) -> Operation:
    return replace(Operation("v", began, began + 1, "ok", id_, seq, epoch), **more)


def read(ids: tuple[int, ...], began: float, **more: Any) -> Operation:
    return replace(Operation("v", began, began + 1, "ok", ids=ids), **more)


RIGHT = [
    wrote(10, 1, 1, 0),
    read((10,), 2),
    wrote(20, 2, 1, 4),
    wrote(21, 2, 1, 4),
    read((10, 20, 21), 4),  # beside the write: either is right
    read((10,), 4),
    wrote(30, 3, 2, 6),
    read((10, 20, 21, 30), 8),
]


def found(operations: list[Operation] = RIGHT, log: list[Entry] = LOG, taken: list[TakeOver] = TAKEN) -> set[str]:
    verdict = check(History(operations, {"v": log}, {"v": len(log)}, taken))
    return {each.kind for each in verdict.violations}


def test_nothing_is_wrong_with_what_is_right() -> None:
    assert found() == set()
    assert found([*RIGHT, wrote(30, 0, 0, 6, outcome="unknown"), wrote(99, 0, 0, 6, outcome="unknown")]) == set()
    assert found([*RIGHT, wrote(99, 0, 0, 6, outcome="fenced")]) == set()


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ([wrote(40, 4, 2, 9)], "lost"),
        ([wrote(31, 3, 2, 9)], "lost"),
        ([replace(RIGHT[0], seq=2)], "forked"),
        ([replace(RIGHT[0], epoch=2)], "forked"),
        ([wrote(30, 0, 0, 6, outcome="fenced")], "fenced"),
        ([read((10,), 6)], "stale"),
        ([read((10, 20, 21), 8)], "stale"),
        ([read((), 2)], "stale"),
        ([read((10, 20), 4)], "unexplained"),
        ([read((20, 21), 4)], "unexplained"),
        ([read((10, 99), 4)], "unexplained"),
        ([read((10, 20, 21), 1)], "unexplained"),  # before anybody asked for 20
        ([read((), 0, outcome="bug", said="ZeroDivisionError")], "unexplained"),
    ],
)
def test_what_no_server_may_say_is_found(wrong: list[Operation], kind: str) -> None:
    replaced = {each.wrote for each in wrong if each.wrote is not None}
    assert kind in found([*(each for each in RIGHT if each.wrote not in replaced), *wrong])


def test_a_read_that_is_older_than_one_before_it_is_stale_though_no_write_was_acknowledged() -> None:
    unknown = [replace(each, outcome="unknown") for each in RIGHT if each.wrote is not None]
    assert found([*unknown, read((10, 20, 21), 5), read((10,), 7)]) == {"stale"}


@pytest.mark.parametrize(
    ("log", "kind"),
    [
        ([LOG[0], LOG[2]], "forked"),
        ([*LOG, Entry(4, 2, (10,))], "forked"),
        ([*LOG, Entry(3, 2, (31,))], "forked"),
        ([*LOG, Entry(4, 1, (40,))], "fenced"),
    ],
)
def test_a_log_that_went_two_ways_is_found(log: list[Entry], kind: str) -> None:
    assert kind in found(log=log)


def test_an_entry_of_who_had_lost_the_vault_is_found_by_the_take_over() -> None:
    assert found(taken=[TAKEN[0], TakeOver("v", "b", 2, 1)]) == {"fenced"}
    assert found(taken=[*TAKEN, TakeOver("v", "c", 2, 2)]) == {"forked"}
