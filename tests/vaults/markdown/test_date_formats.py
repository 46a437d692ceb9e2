"""Dates as names spell them: moment's tokens, and the way back."""

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.errors import InvalidArgument
from vaults.markdown.date_formats import format_date, parse_date, to_literal_pattern

SATURDAY = datetime(2026, 11, 21, 9, 5, 7)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("YYYY-MM-DD", "2026-11-21"),
        ("YY/M/D", "26/11/21"),
        ("ddd dddd d", "Sat Saturday 6"),
        ("MMM MMMM Do", "Nov November 21st"),
        ("HH:mm:ss", "09:05:07"),
        ("h:mm A a", "9:05 AM am"),
        ("gggg-[W]ww", "2026-W47"),
        ("YYYY-[Q]Q", "2026-Q4"),
        ("[Today is] dddd", "Today is Saturday"),
        ("[YYYY]", "YYYY"),
        ("YYYY.MM_DD ü", "2026.11_21 ü"),
        ("[", "["),
        ("[]YYYY", "2026"),
    ],
)
def test_a_pattern_is_spelt_as_moment_spells_it(pattern: str, text: str) -> None:
    assert format_date(pattern, SATURDAY) == text


@pytest.mark.parametrize(
    ("day", "text"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (13, "13th"), (22, "22nd")],
)
def test_ordinals_follow_english(day: int, text: str) -> None:
    assert format_date("Do", date(2026, 1, day)) == text


def test_a_week_brings_its_own_year_along() -> None:
    assert format_date("YYYY-[W]ww", date(2027, 1, 1)) == "2026-W53"
    assert format_date("YYYY-MM-DD [W]ww", date(2027, 1, 1)) == "2027-01-01 W53"
    assert parse_date("YYYY-[W]ww", "2026-W53") == date(2026, 12, 28)
    assert parse_date("gggg-[W]w", "2026-W1") == date(2025, 12, 29)


@pytest.mark.parametrize(
    ("pattern", "text", "day"),
    [
        ("YYYY-MM-DD", "2026-11-21", date(2026, 11, 21)),
        ("YYYY/MM/YYYY-MM-DD", "2026/11/2026-11-21", date(2026, 11, 21)),
        ("MMMM Do, YYYY", "November 21st, 2026", date(2026, 11, 21)),
        ("YYYY-MM-DD-dddd", "2026-11-21-Saturday", date(2026, 11, 21)),
        ("YYYY-MM-DD HHmm", "2026-11-21 0905", date(2026, 11, 21)),
        ("D.M.YY", "1.2.26", date(2026, 2, 1)),
        ("YYYY-MM", "2026-11", date(2026, 11, 1)),
        ("YYYY-[Q]Q", "2026-Q4", date(2026, 10, 1)),
        ("YYYY", "2026", date(2026, 1, 1)),
    ],
)
def test_a_name_is_read_back(pattern: str, text: str, day: date) -> None:
    assert parse_date(pattern, text) == day


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("YYYY-MM-DD", "2026-02-30"),
        ("YYYY-MM-DD", "0000-01-01"),
        ("YYYY-MM-DD", "2026-11-21 "),
        ("YYYY-MM-DD", "2026-1-1"),
        ("YYYY-MM-DD", "٢٠٢٦-11-21"),
        ("YYYY-MM-DD-dddd", "2026-11-21-Sunday"),
        ("YYYY/YYYY-MM-DD", "2025/2026-11-21"),
        ("MMMM Do, YYYY", "November 21th, 2026"),
        ("YYYY-[W]ww", "2027-W53"),
        ("MM-DD", "11-21"),
        ("[daily]", "daily"),
        ("YYYY-[Q]Q", "2026-Q5"),
    ],
)
def test_what_is_no_such_date_is_none(pattern: str, text: str) -> None:
    assert parse_date(pattern, text) is None


@pytest.mark.parametrize("pattern", ["", "Y" * 201, "YYYY-MM-DD Z", "x", "DDDD", "LT", "YYYYYY"])
def test_a_pattern_that_cannot_be_honoured_is_refused(pattern: str) -> None:
    for use in (lambda: format_date(pattern, SATURDAY), lambda: parse_date(pattern, "2026")):
        with pytest.raises(InvalidArgument) as refusal:
            use()
        assert refusal.value.details["field"] == "format"


@given(st.text(alphabet=st.characters(exclude_categories=("Cs",)), min_size=1, max_size=40))
def test_a_literal_spells_itself(text: str) -> None:
    assert format_date(to_literal_pattern(text), SATURDAY) == text


DAILY = [
    "YYYY-MM-DD",
    "YYYYMMDD",
    "D MMMM YYYY",
    "M/D/YYYY",
    "YYYY/MM-MMM/DD ddd",
    "[d] Do MMM gggg YYYY ww",
    "YYYY-MM-DD w",
]


@given(st.dates(), st.sampled_from(DAILY))
def test_a_day_that_is_spelt_is_read_back(day: date, pattern: str) -> None:
    assert parse_date(pattern, format_date(pattern, day)) == day


@given(st.dates(min_value=date(1, 1, 8)), st.sampled_from(["YYYY-[W]ww", "gggg-w", "GGGG[W]WW", "[W]W GGGG"]))
def test_a_week_that_is_spelt_is_read_back_as_its_monday(day: date, pattern: str) -> None:
    assert parse_date(pattern, format_date(pattern, day)) == day - timedelta(days=day.weekday())


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_pattern_and_no_text_break_the_reader(pattern: str, text: str) -> None:
    try:
        found = parse_date(pattern, text)
    except InvalidArgument:
        return
    assert found is None or isinstance(found, date)
