"""The checker of places that only grow finds each kind of wrong there is, and nothing wrong with what is right."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.cluster.grown_sets import ToolOperation, check_grown, summary


def added(id_: int, began: float, **more: Any) -> ToolOperation:
    return replace(ToolOperation("v", began, began + 1, "ok", id_), **more)


def read(ids: tuple[int, ...], began: float, **more: Any) -> ToolOperation:
    return replace(ToolOperation("v", began, began + 1, "ok", ids=ids), **more)


RIGHT = [added(1, 0), read((1,), 2), added(2, 4), read((1,), 4), read((1, 2), 4.5), added(3, 6, outcome="unknown")]


def found(operations: list[ToolOperation], last: tuple[int, ...] = (1, 2)) -> set[str]:
    return {each.kind for each in check_grown(operations, {"v": last})}


def test_nothing_is_wrong_with_what_is_right() -> None:
    assert found(RIGHT) == set()
    assert found(RIGHT, (1, 2, 3)) == set()
    assert "0 lost, 0 doubled, 0 stale, 0 unexplained" in summary(RIGHT, [])


@pytest.mark.parametrize(
    ("wrong", "last", "kind"),
    [
        ([], (2,), "lost"),
        ([read((1, 2, 3), 8)], (1, 2), "lost"),
        ([read((1,), 6)], (1, 2), "stale"),
        ([read((1, 2, 3), 8), read((1, 2), 10)], (1, 2, 3), "stale"),
        ([], (1, 2, 2), "doubled"),
        ([read((1, 2, 9), 6)], (1, 2), "unexplained"),
        ([read((1, 2, 3), 4.5)], (1, 2, 3), "unexplained"),
        ([read((), 8, outcome="bug", said="KeyError")], (1, 2), "unexplained"),
    ],
)
def test_what_no_server_may_say_is_found(wrong: list[ToolOperation], last: tuple[int, ...], kind: str) -> None:
    assert kind in found([*RIGHT, *wrong], last)
