import pytest

from auth.days import DayCounters
from auth.principal import LOCAL, Principal, local_names
from vaults.db.connection import Database
from vaults.errors import QuotaExceeded

ALICE, BOB = (Principal(name, LOCAL, local_names(name)) for name in ("alice", "bob"))


async def test_a_caller_is_refused_when_the_days_share_is_used_up_and_others_are_not(control: Database) -> None:
    days = DayCounters(control, 3, today=lambda: "2026-11-21")
    await days.count_stores(ALICE, 2)
    with pytest.raises(QuotaExceeded):
        await days.count_stores(ALICE, 2)
    await days.count_stores(ALICE, 1)
    await days.count_stores(BOB, 3)


async def test_the_count_survives_a_restart(control: Database) -> None:
    before = DayCounters(control, 3, today=lambda: "2026-11-21")
    await before.start()
    await before.count_stores(ALICE, 3)
    await before.close()
    with pytest.raises(QuotaExceeded):
        await DayCounters(control, 3, today=lambda: "2026-11-21").count_stores(ALICE)


async def test_processes_add_up_at_their_next_flush(control: Database) -> None:
    one, two = (DayCounters(control, 10, today=lambda: "2026-11-21") for _ in range(2))
    await one.count_stores(ALICE, 4)
    await two.count_stores(ALICE, 5)
    await one.flush()
    await two.flush()
    await two.count_stores(ALICE, 1)
    with pytest.raises(QuotaExceeded):
        await two.count_stores(ALICE, 1)


async def test_a_new_day_starts_at_zero_and_a_clock_set_back_gives_no_second_day(control: Database) -> None:
    day = ["2026-11-21"]
    days = DayCounters(control, 1, today=lambda: day[0])
    await days.count_stores(ALICE)
    day[0] = "2026-11-22"
    await days.count_stores(ALICE)
    day[0] = "2026-11-21"
    with pytest.raises(QuotaExceeded):
        await days.count_stores(ALICE)


async def test_old_days_are_forgotten(control: Database) -> None:
    await control.write(lambda w: w.run("INSERT INTO usage_days VALUES ('stores:x', '2026-01-01', 5)"))
    days = DayCounters(control, 9, today=lambda: "2026-11-21")
    await days.count_stores(ALICE)
    await days.flush()
    assert await control.read(lambda r: r.all("SELECT day, used FROM usage_days")) == [("2026-11-21", 1)]


async def test_without_a_limit_nothing_is_counted(control: Database) -> None:
    days = DayCounters(control, None)
    await days.start()
    await days.count_stores(ALICE, 10**6)
    await days.close()
    assert await control.read(lambda r: r.all("SELECT * FROM usage_days")) == []
