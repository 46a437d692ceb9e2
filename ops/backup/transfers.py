"""Several transfers at a time, and never more than a few: a bucket answers each after a while, and takes many."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")

AT_ONCE = 6
"""Also bounds what is held in memory: so many pieces, and what is made of them."""


def in_parallel(work: Callable[[A], B], items: Iterable[A], at_once: int | None = None) -> Iterator[B]:
    """``work`` of each item, in their order. An item is taken only when there is a thread for it soon; ``items`` run on
    the caller's thread. What fails first is raised, and nothing further is begun."""
    places = at_once or AT_ONCE
    waiting: deque[Future[B]] = deque()
    with ThreadPoolExecutor(places, thread_name_prefix="backup-transfer") as threads:
        try:
            for item in items:
                waiting.append(threads.submit(work, item))
                if len(waiting) >= places:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for each in waiting:
                each.cancel()
