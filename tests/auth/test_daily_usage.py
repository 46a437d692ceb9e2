import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from auth.daily_usage import KNOWN_S, CounterShare, DailyUsage
from auth.plans import PlanBound
from vaults.db.transactions import Transactions
from vaults.errors import QuotaExceeded

DAY = "2026-11-21"


def share(counter: str, limit: int | None = None) -> CounterShare:
    return CounterShare(counter, None if limit is None else PlanBound("stores_per_day", "principal", "free", limit))


def counting(control: Transactions) -> DailyUsage:
    return DailyUsage(control, today=lambda: DAY)


async def test_a_caller_is_refused_when_the_days_share_is_used_up_and_others_are_not(control: Transactions) -> None:
    days = counting(control)
    for _ in range(3):
        await days.take([share("alice", 3)])
    with pytest.raises(QuotaExceeded) as caught:
        await days.take([share("alice", 3)])
    assert caught.value.details == {
        "what": "stores_per_day", "scope": "principal", "limit": 3, "used": 3, "left": 0,
        "resets_at": "2026-11-22T00:00:00Z",
    }  # fmt: skip
    await days.take([share("bob", 3)])


async def test_as_many_are_let_in_as_every_share_has_left(control: Transactions) -> None:
    days = counting(control)
    assert (await days.take([share("alice", 5), share("vault", 3)], 4)).stores == 3
    with pytest.raises(QuotaExceeded):
        await days.take([share("alice", 5), share("vault", 3)])
    assert dict(await days.used(["alice", "vault"])) == {"alice": 3, "vault": 3}  # a refusal counts nowhere


async def test_what_was_not_used_is_given_back_also_after_it_was_written(control: Transactions) -> None:
    days = counting(control)
    taken = await days.take([share("alice", 4)], 4)
    await days.flush()
    days.give_back(taken, 3)
    assert dict(await days.used(["alice"])) == {"alice": 1}
    await days.flush()
    assert dict(await counting(control).used(["alice"])) == {"alice": 1}


async def test_the_count_survives_a_restart(control: Transactions) -> None:
    before = counting(control)
    await before.start()
    await before.take([share("alice", 3)], 3)
    await before.close()
    with pytest.raises(QuotaExceeded):
        await counting(control).take([share("alice", 3)])


async def test_processes_add_up_at_their_next_flush(control: Transactions) -> None:
    one, two = counting(control), counting(control)
    await one.take([share("alice", 10)], 4)
    await two.take([share("alice", 10)], 5)
    await one.flush()
    await two.flush()
    assert (await two.take([share("alice", 10)], 5)).stores == 1


async def test_what_others_counted_is_looked_at_again_where_nothing_was_stored_here_for_long(
    control: Transactions,
) -> None:
    now = [100.0]
    one, two = DailyUsage(control, today=lambda: DAY, clock=lambda: now[0]), counting(control)
    await one.take([share("alice", 10)])
    await one.flush()
    await two.take([share("alice", 10)], 9)
    await two.flush()
    await one.take([share("alice", 10)])  # within what may be passed
    now[0] += KNOWN_S
    with pytest.raises(QuotaExceeded):
        await one.take([share("alice", 10)])


async def test_a_total_that_is_read_while_counts_are_written_is_not_the_one_of_before(control: Transactions) -> None:
    now = [100.0]
    days = DailyUsage(control, today=lambda: DAY, clock=lambda: now[0])
    await days.take([share("alice", 10)], 4)
    now[0] += KNOWN_S
    reading = asyncio.create_task(days.used(["alice"]))
    await days.flush()
    assert dict(await reading) == {"alice": 4} == dict(await days.used(["alice"]))


class LateWrites:
    """A database whose writes are told as done after the next read, as a busy event loop may tell them."""

    def __init__(self, control: Transactions) -> None:
        self._control = control
        self.written = asyncio.Event()
        self._read = asyncio.Event()

    async def write(self, work: Callable[[Any], Any]) -> Any:
        done = await self._control.write(work)
        self.written.set()
        await self._read.wait()
        return done

    async def read(self, work: Callable[[Any], Any]) -> Any:
        found = await self._control.read(work)
        if self.written.is_set():
            self._read.set()
        return found


async def test_a_total_that_is_read_before_a_write_is_known_to_be_done_counts_nothing_twice(
    control: Transactions,
) -> None:
    now, late = [100.0], LateWrites(control)
    days = DailyUsage(late, today=lambda: DAY, clock=lambda: now[0])
    await days.take([share("alice", 10)], 4)
    now[0] += KNOWN_S
    flushing = asyncio.create_task(days.flush())
    await late.written.wait()
    assert dict(await days.used(["alice"])) == {"alice": 4}
    await flushing


async def test_a_new_day_starts_at_zero_and_a_clock_set_back_gives_no_second_day(control: Transactions) -> None:
    day = [DAY]
    days = DailyUsage(control, today=lambda: day[0])
    await days.take([share("alice", 2)])
    day[0] = "2026-11-22"
    assert (await days.take([share("alice", 2)], 2)).stores == 2
    day[0] = DAY
    with pytest.raises(QuotaExceeded):
        await days.take([share("alice", 2)])


async def test_a_day_that_ends_while_the_table_is_read_counts_for_the_new_one(control: Transactions) -> None:
    seen = iter([DAY, "2026-11-22"])
    last = "2026-11-22"
    days = DailyUsage(control, today=lambda: next(seen, last))
    await control.write(lambda tx: tx.run("INSERT INTO usage_days VALUES ('alice', ?, 9)", (DAY,)))
    assert (await days.take([share("alice", 9)], 9)).day == "2026-11-22"


async def test_many_at_once_do_not_pass_the_limit(control: Transactions) -> None:
    days = counting(control)
    done = await asyncio.gather(*(days.take([share("alice", 20)]) for _ in range(32)), return_exceptions=True)
    assert sum(isinstance(each, QuotaExceeded) for each in done) == 12
    assert dict(await days.used(["alice"])) == {"alice": 20}


async def test_what_is_counted_while_a_batch_is_written_is_not_lost(control: Transactions) -> None:
    days = counting(control)
    await days.take([share("alice")], 2)
    writing = asyncio.create_task(days.flush())
    await asyncio.sleep(0)
    await days.take([share("alice")], 3)
    await writing
    await days.flush()
    assert dict(await counting(control).used(["alice"])) == {"alice": 5}


async def test_a_batch_that_is_written_when_it_closes_is_written_once(
    control: Transactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    days, held, let_go = DailyUsage(control, today=lambda: DAY, flush_s=0), asyncio.Event(), asyncio.Event()
    write = control.write

    async def write_held(work: Any) -> Any:
        done = await write(work)
        held.set()
        await let_go.wait()
        return done

    await days.take([share("alice")], 2)
    monkeypatch.setattr(control, "write", write_held)
    await days.start()
    await held.wait()
    asyncio.get_running_loop().call_later(0, let_go.set)
    await days.close()
    assert dict(await counting(control).used(["alice"])) == {"alice": 2}


async def test_old_days_are_forgotten(control: Transactions) -> None:
    await control.write(lambda w: w.run("INSERT INTO usage_days VALUES ('stores:x', '2026-01-01', 5)"))
    days = counting(control)
    await days.take([share("alice", 9)])
    await days.flush()
    assert await control.read(lambda r: r.all("SELECT day, used FROM usage_days")) == [(DAY, 1)]


async def test_without_a_share_nothing_is_counted(control: Transactions) -> None:
    days = counting(control)
    await days.start()
    assert (await days.take([], 10**6)).stores == 10**6
    await days.close()
    assert await control.read(lambda r: r.all("SELECT * FROM usage_days")) == []
