"""A few vaults are opened at a time, in their order, and what open ones do for themselves waits."""

from __future__ import annotations

import asyncio

import pytest

from tests.work import PATIENCE_S
from vaults import opening_turns
from vaults.opening_turns import AT_ONCE, OpeningTurns


class Openings:
    """Each is under way until ``ends`` has its number."""

    def __init__(self, turns: OpeningTurns) -> None:
        self._turns = turns
        self.begun: list[int] = []
        self.ends: dict[int, asyncio.Event] = {}

    def begin(self, count: int) -> list[asyncio.Task[None]]:
        self.ends.update({number: asyncio.Event() for number in range(count)})
        return [asyncio.create_task(self._open(number)) for number in range(count)]

    async def _open(self, number: int) -> None:
        async with self._turns.turn():
            self.begun.append(number)
            await self.ends[number].wait()

    async def have_begun(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while len(self.begun) < count:  # noqa: ASYNC110  nobody tells
                await asyncio.sleep(0)


async def rest() -> None:
    """As long as whatever is ready takes."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_few_are_opened_at_a_time_in_the_order_they_were_asked_for() -> None:
    openings = Openings(OpeningTurns())
    tasks = openings.begin(AT_ONCE + 3)
    await rest()
    assert openings.begun == list(range(AT_ONCE))
    openings.ends[2].set()
    await openings.have_begun(AT_ONCE + 1)
    await rest()
    assert openings.begun == list(range(AT_ONCE + 1))
    for each in openings.ends.values():
        each.set()
    await asyncio.gather(*tasks)
    assert openings.begun == list(range(AT_ONCE + 3))


async def test_one_that_takes_long_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening_turns, "TURN_S", 0.01)
    turns = OpeningTurns()
    openings = Openings(turns)
    tasks = openings.begin(3 * AT_ONCE)
    await openings.have_begun(3 * AT_ONCE)
    monkeypatch.undo()
    for each in openings.ends.values():
        each.set()
    await asyncio.gather(*tasks)
    openings.begun.clear()
    tasks = openings.begin(AT_ONCE + 1)
    await rest()
    assert len(openings.begun) == AT_ONCE  # a place that was given on was not given back a second time
    for each in openings.ends.values():
        each.set()
    await asyncio.gather(*tasks)


async def test_who_waits_for_a_turn_and_leaves_takes_none() -> None:
    openings = Openings(OpeningTurns())
    tasks = openings.begin(AT_ONCE + 2)
    await rest()
    tasks[AT_ONCE].cancel()
    openings.ends[0].set()
    await openings.have_begun(AT_ONCE + 1)
    assert openings.begun[-1] == AT_ONCE + 1
    for each in openings.ends.values():
        each.set()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_work_of_open_vaults_waits_until_no_other_is_being_opened() -> None:
    turns = OpeningTurns()
    await turns.wait_for_calm()
    openings = Openings(turns)
    tasks = openings.begin(2)
    await rest()
    work = asyncio.create_task(turns.wait_for_calm())
    openings.ends[0].set()
    await tasks[0]
    await rest()
    assert not work.done()
    openings.ends[1].set()
    await asyncio.gather(tasks[1], work)


async def test_work_of_open_vaults_is_not_put_off_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening_turns, "PATIENCE_S", 0.01)
    turns = OpeningTurns()
    async with turns.turn():
        await turns.wait_for_calm()
