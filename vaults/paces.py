"""How work on many items goes on: with rests where the event loop shares the interpreter, else without."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

T = TypeVar("T")

BURST_S = 0.003
"""Seconds of work between two rests."""

REST = 0.5
"""Share of a burst that is rested after it."""


class WorkPace(Protocol):
    """Yields the items, when it is time for each."""

    def __call__(self, items: Iterable[T], /) -> Iterator[T]: ...


def paced(items: Iterable[T], /) -> Iterator[T]:
    """The items, with rests in between."""
    began = time.perf_counter()
    for item in items:
        yield item
        if (worked := time.perf_counter() - began) > BURST_S:
            time.sleep(worked * REST)
            began = time.perf_counter()


def unpaced(items: Iterable[T], /) -> Iterator[T]:
    """The items, one after the other."""
    return iter(items)
