"""What a test may say of cost: how work grows, and how much of it is done, never how quick the machine is."""

from __future__ import annotations

import gc
import os
import random
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

from vaults.db.sql import Reader

T = TypeVar("T")

PATIENCE_S = 60.0
"""Seconds that nothing a test waits for takes: a safety net, so that what never comes ends the test."""

PROGRAM_PATIENCE_S = 180.0
"""The same where programs are started: with ten others to a core, one that serves has taken 40 seconds to begin."""

TIMES = 8
"""How many times as much is done: linear work takes as many times as long, quadratic ``TIMES`` times that."""

WORST = 3
"""How much longer than that linear work may take: caches fill up, and others share the processor."""

TRIES = 5
SHORTEST_S = 0.001
"""Less than this is the noise of a clock; it is taken for this much."""


EXAMPLES = float(os.environ.get("PROPERTY_EXAMPLES", "0.25"))
"""The share of a property's random examples that one run tries. Each run draws others; CI tries all. Not named
``STRONGROOM_…``: servers refuse settings that they do not know."""


def examples(number: int) -> int:
    """How many of ``number`` random examples this run tries."""
    return max(5, round(number * EXAMPLES))


def some_of(cases: Sequence[T]) -> list[T]:
    """As many of ``cases`` as this run tries, in their order, for tests that go through every combination. One that
    fails has to say which it was."""
    chosen = random.sample(range(len(cases)), min(len(cases), examples(len(cases))))
    return [cases[at] for at in sorted(chosen)]


def assert_linear(work: Callable[[T], object], make: Callable[[int], T], small: int) -> None:
    """``work(make(n))`` takes processor time that grows with n, not with its square.

    ``small`` is one n, and ``TIMES * small`` the other: large enough for the square to show. What others do on the
    machine can only add time, so the best of a few tries counts; none sees a text of an earlier one, which may be
    kept."""
    work(make(max(1, small // TIMES)))  # what is loaded or compiled on first use
    grown = []
    for size in range(small, small + TRIES):
        few, many = make(size), make(TIMES * size)
        grown.append(_processor_seconds(work, many) / max(_processor_seconds(work, few), SHORTEST_S))
        if grown[-1] < TIMES * WORST:
            return
    raise AssertionError(f"{TIMES} times as much took {min(grown):.0f} times as long")


async def assert_linear_answers(answer: Callable[[T], Awaitable[object]], few: T, many: T) -> None:
    """As ``assert_linear``, of what is awaited: ``many`` stands for ``TIMES`` as much as ``few``."""
    grown = []
    for _ in range(TRIES):
        seconds = []
        for given in (few, many):
            began = time.process_time()
            await answer(given)
            seconds.append(time.process_time() - began)
        grown.append(seconds[1] / max(seconds[0], SHORTEST_S))
        if grown[-1] < TIMES * WORST:
            return
    raise AssertionError(f"{TIMES} times as much took {min(grown):.0f} times as long")


def _processor_seconds(work: Callable[[T], object], given: T) -> float:
    """Of this thread alone, without collections, which read the heap of all tests."""
    gc.disable()
    try:
        began = time.thread_time()
        work(given)
        return time.thread_time() - began
    finally:
        gc.enable()


def python_steps(work: Callable[[], object]) -> int:
    """Lines that are run while ``work`` is done, each round of a loop anew, and calls of what is written in C."""
    count = 0

    def traced(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += 1
        return traced

    def profiled(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "c_call"

    before = sys.gettrace(), sys.getprofile()
    sys.settrace(traced)
    sys.setprofile(profiled)
    try:
        work()
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    return count


def sqlite_steps(tx: Reader, work: Callable[[], object]) -> int:
    """Steps SQLite's machine takes for the statements of ``work``, to a hundred each."""
    looks = 0

    def look() -> int:
        nonlocal looks
        looks += 1
        return 0

    tx._connection.set_progress_handler(look, 100)
    try:
        work()
    finally:
        tx._connection.set_progress_handler(None, 100)
    return 100 * looks


@dataclass(frozen=True, slots=True)
class TextIndexWork:
    """What FTS5 did: ``words``: rows whose words it wrote or removed; ``segments``: pages of terms it wrote down, each
    to be merged later."""

    words: int
    segments: int


def text_index_work(tx: Reader, work: Callable[[], object]) -> TextIndexWork:
    """What FTS5 does for ``work``, told by the statements it runs on its own tables."""
    ran: list[str] = []
    tx._connection.set_trace_callback(ran.append)
    try:
        work()
    finally:
        tx._connection.set_trace_callback(None)
    own = [each for each in ran if each.startswith(("-- REPLACE", "-- INSERT", "-- DELETE"))]
    return TextIndexWork(sum("_docsize'" in each for each in own), sum("_idx'(segid" in each for each in own))
