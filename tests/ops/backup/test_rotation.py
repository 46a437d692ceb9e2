"""Which backups are kept, whatever the clock did.

Covers ops.backup.snapshot_name.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.backup.rotation import choose_kept, parse_plan
from ops.backup.snapshot_name import SnapshotName, parse_name

START = datetime(2026, 1, 1, 3, tzinfo=UTC)


def name(number: int, moment: datetime) -> SnapshotName:
    return SnapshotName(number, f"{moment:%Y%m%dT%H%M%SZ}")


def daily(days: int) -> list[SnapshotName]:
    return [name(day + 1, START + timedelta(days=day)) for day in range(days)]


def rotated(names: list[SnapshotName], plan: str) -> list[SnapshotName]:
    """What is there after each backup was followed by a rotation."""
    there: list[SnapshotName] = []
    for each in names:
        there = sorted(choose_kept([*there, each], parse_plan(plan)))
    return there


def test_four_generations_are_the_newest_four() -> None:
    assert [each.number for each in rotated(daily(9), "4")] == [6, 7, 8, 9]


def test_days_weeks_and_months_each_keep_their_last() -> None:
    kept = rotated(daily(400), "7d 4w 12m")
    assert [each.number for each in kept[-7:]] == list(range(394, 401))
    months = {each.moment[:6] for each in kept}
    assert len(months) >= 12
    assert len(kept) <= 7 + 4 + 12


def test_several_backups_of_a_day_leave_the_last() -> None:
    hours = [name(hour + 1, START + timedelta(hours=hour)) for hour in range(60)]
    assert [each.number for each in rotated(hours, "3d")] == [21, 45, 60]


def test_a_clock_set_back_makes_no_new_backup_old() -> None:
    good = daily(6)
    after = [name(7 + n, START - timedelta(days=400 - n)) for n in range(3)]
    for plan in ("4", "4d", "2d 2w"):
        kept = rotated([*good, *after], plan)
        assert set(after[-2:]) <= set(kept), plan


def test_a_clock_that_was_ahead_does_not_keep_its_backups_for_ever() -> None:
    wrong = [name(1, START + timedelta(days=9999))]
    right = [name(2 + day, START + timedelta(days=day)) for day in range(9)]
    assert wrong[0] not in rotated([*wrong, *right], "4d")


MOMENTS = st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2100, 1, 1))  # noqa: DTZ001
PLANS = st.lists(
    st.tuples(st.integers(1, 9), st.sampled_from(["", "h", "d", "w", "m", "y"])), min_size=1, unique_by=lambda t: t[1]
).map(lambda terms: " ".join(f"{count}{unit}" for count, unit in terms))


@given(st.lists(MOMENTS, min_size=1, max_size=30), PLANS)
def test_whatever_the_clock_says_the_newest_is_kept_and_the_rest_is_bounded(moments: list[datetime], plan: str) -> None:
    there = [name(number + 1, moment) for number, moment in enumerate(moments)]
    kept = choose_kept(there, parse_plan(plan))
    assert max(there) in kept
    assert len(kept) <= max(1, sum(count for count, _ in parse_plan(plan).terms))
    newest = next((count for count, unit in parse_plan(plan).terms if not unit), 0)
    assert set(sorted(there)[-newest:] if newest else ()) <= kept
    assert choose_kept(sorted(kept), parse_plan(plan)) >= {max(there)}


@given(st.lists(MOMENTS, min_size=1, max_size=20), PLANS)
def test_what_goes_never_depends_on_the_order_of_a_listing(moments: list[datetime], plan: str) -> None:
    there = [name(number + 1, moment) for number, moment in enumerate(moments)]
    assert choose_kept(there[::-1], parse_plan(plan)) == choose_kept(there, parse_plan(plan))


@pytest.mark.parametrize("text", ["", "0", "7x", "-1", "7d7w", "4 4", "7d 3d", "d", "12345", "٣"])
def test_a_plan_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="7d 4w 12m"):
        parse_plan(text)


def test_names_read_as_they_are_written_and_others_are_none() -> None:
    one = SnapshotName(7, "20261125T210000Z")
    assert parse_name(str(one)) == one
    for other in ("7-20261125T210000Z.snapshot", ".00000007-20261125T210000Z.snapshot.ab.partial", "x", f"{one}.bak"):
        assert parse_name(other) is None
