"""The times a question may name, and the words that only look like them.

Covers vaults.search.date_words, vaults.search.foreign_dates, vaults.search.time_spans, vaults.search.unspaced_dates.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.vaults.search.dates_by_language import DATED, UNDATED
from tests.work import examples
from vaults.search.date_phrases import MAX_TEXT, find_time_span
from vaults.search.time_spans import EARLIEST, LATEST

NOW = datetime(2024, 5, 8, 15, 30, tzinfo=UTC)  # a Wednesday


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("today", "2024-05-08", "2024-05-09"),
        ("Yesterday", "2024-05-07", "2024-05-08"),
        ("the day before yesterday", "2024-05-06", "2024-05-07"),
        ("this week", "2024-05-06", "2024-05-13"),
        ("this month", "2024-05-01", "2024-06-01"),
        ("this quarter", "2024-04-01", "2024-07-01"),
        ("this year", "2024-01-01", "2025-01-01"),
        ("last week", "2024-04-29", "2024-05-06"),
        ("last month", "2024-04-01", "2024-05-01"),
        ("previous quarter", "2024-01-01", "2024-04-01"),
        ("last year", "2023-01-01", "2024-01-01"),
        ("past week", "2024-05-01", "2024-05-09"),
        ("over the past month", "2024-04-08", "2024-05-09"),
        ("in the past year", "2023-05-08", "2024-05-09"),
        ("last 3 days", "2024-05-05", "2024-05-09"),
        ("past two weeks", "2024-04-24", "2024-05-09"),
        ("in the last 12 months", "2023-05-08", "2024-05-09"),
        ("last 24 hours", "2024-05-07T15:30", "2024-05-09"),
        ("3 days ago", "2024-05-05", "2024-05-06"),
        ("a week ago", "2024-04-29", "2024-05-06"),
        ("two months ago", "2024-03-01", "2024-04-01"),
        ("in March 2024", "2024-03-01", "2024-04-01"),
        ("december 2023", "2023-12-01", "2024-01-01"),
        ("Sept. 2023", "2023-09-01", "2023-10-01"),
        ("in march", "2024-03-01", "2024-04-01"),
        ("during November", "2023-11-01", "2023-12-01"),
        ("last may", "2023-05-01", "2023-06-01"),
        ("in 2023", "2023-01-01", "2024-01-01"),
        ("Q3 2024", "2024-07-01", "2024-10-01"),
        ("2023 Q4", "2023-10-01", "2024-01-01"),
        ("in Q3", "2023-07-01", "2023-10-01"),
        ("2024-05-01", "2024-05-01", "2024-05-02"),
        ("2024-05", "2024-05-01", "2024-06-01"),
        ("on 8 May 2023", "2023-05-08", "2023-05-09"),
        ("8th of May, 2023", "2023-05-08", "2023-05-09"),
        ("May 8, 2023", "2023-05-08", "2023-05-09"),
        ("on May 8", "2024-05-08", "2024-05-09"),
        ("on 9 may", "2023-05-09", "2023-05-10"),
        ("29 February 2024", "2024-02-29", "2024-03-01"),
        ("on Monday", "2024-05-06", "2024-05-07"),
        ("on wednesday", "2024-05-08", "2024-05-09"),
        ("last Wednesday", "2024-05-01", "2024-05-02"),
        ("last friday", "2024-05-03", "2024-05-04"),
        ("this friday", "2024-05-10", "2024-05-11"),
        ("between 2024-01-01 and 2024-02-01", "2024-01-01", "2024-02-02"),
        ("from March 2023 to May 2023", "2023-03-01", "2023-06-01"),
        ("between 2023 and 2021", "2021-01-01", "2024-01-01"),
        ("between last month and yesterday", "2024-04-01", "2024-05-08"),
    ],
)
def test_a_time_is_understood_and_taken_out(text: str, since: str, until: str) -> None:
    for asked, left in ((text, ""), (f"What changed {text}?", "What changed?"), (f"{text}, what broke", "what broke")):
        found = find_time_span(asked, NOW)
        assert found is not None, asked
        assert (found[0].since, found[0].until, found[1]) == (day(since), day(until), left)


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("since May 2023", day("2023-05-01"), LATEST),
        ("since yesterday", day("2024-05-07"), LATEST),
        ("since the last week", day("2024-04-29"), LATEST),
        ("after 2024-05-01", day("2024-05-02"), LATEST),
        ("after March 2024", day("2024-04-01"), LATEST),
        ("before 2024-05-01", EARLIEST, day("2024-05-01")),
        ("before friday", EARLIEST, day("2024-05-03")),
        ("until May 2023", EARLIEST, day("2023-06-01")),
        ("till 2022", EARLIEST, day("2023-01-01")),
    ],
)
def test_open_ranges_reach_as_far_as_time_does(text: str, since: datetime, until: datetime) -> None:
    found = find_time_span(f"deploys {text} that failed", NOW)
    assert found is not None
    assert (found[0].since, found[0].until, found[1]) == (since, until, "deploys that failed")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "what may happen",
        "march on",
        "they march in step",
        "give me a second",
        "the second one",
        "port 8080",
        "in 8080",
        "error 404 in api 2",
        "2023",
        "version 2024.1 and 3.10",
        "in 2000 rows",
        "between 2000 and 2050 tokens",
        "notes/2024-05-01.md",
        "release-2024-05-01",
        "2024-02-30",
        "2024-13",
        "2024-05-01T10:00",
        "monday standup",
        "may 8 users",
        "we sat with mark in the sun",
        "the last one",
        "this weekend",
        "last weekly report",
        "between us and them",
        "May",
        "december",
    ],
)
def test_what_could_be_something_else_is_no_date(text: str) -> None:
    assert find_time_span(text, NOW) is None


def test_the_first_time_counts_and_the_rest_stays() -> None:
    found = find_time_span("yesterday's notes (in March 2024) , please", NOW)
    assert found is not None
    assert (found[0].since, found[1]) == (day("2024-05-07"), "notes (in March 2024), please")


def test_the_day_is_that_of_utc() -> None:
    late = datetime(2024, 5, 8, 23, 30, tzinfo=timezone(timedelta(hours=-8)))
    found = find_time_span("today", late)
    assert found is not None
    assert found[0].since == day("2024-05-09")


def test_a_pasted_text_is_looked_at_as_far_as_a_question_goes() -> None:
    assert find_time_span("x " * MAX_TEXT + "yesterday", NOW) is None
    found = find_time_span("yesterday " + "x " * MAX_TEXT, NOW)
    assert found is not None
    assert found[1] == ("x " * MAX_TEXT).strip()


WORDS = (
    "last past this 3 999 a two days weeks months years ago in on since before after between from and to until "
    "the march may 31 29 february 2024 1900 2099 q3 q1 monday sunday today yesterday 2024-05-01 2024-02 hours of , 's"
)


def _read_dated() -> list[tuple[str, str, str]]:
    lines = (line for phrases in DATED.values() for line in phrases.strip().splitlines())
    split = (line.partition(" = ") for line in lines)
    return [(text, *bounds.split()) for text, _, bounds in split]  # type: ignore[misc]


@pytest.mark.parametrize(("text", "since", "until"), _read_dated())
def test_a_date_is_read_in_other_languages(text: str, since: str, until: str) -> None:
    found = find_time_span(text, NOW)
    assert found is not None
    assert found[0].since == (EARLIEST if since == "…" else day(since))
    assert found[0].until == (LATEST if until == "…" else day(until))
    assert len(found[1]) < len(text)


@pytest.mark.parametrize("language", UNDATED)
def test_ordinary_questions_have_no_date(language: str) -> None:
    questions = UNDATED[language].strip().splitlines()
    assert len(questions) == 50
    assert [each for each in questions if find_time_span(each, NOW)] == []


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Was haben wir im März 2024 geplant?", "Was haben wir geplant?"),
        ("Que s'est-il passé entre janvier et mars 2024 ?", "Que s'est-il passé?"),
        ("Los errores de los últimos tres días", "Los errores"),
        ("2024年1月から3月までの費用", "費用"),
        ("上个月的发票", "发票"),
    ],
)
def test_the_words_of_a_date_are_cut_out(text: str, rest: str) -> None:
    found = find_time_span(text, NOW)
    assert found is not None
    assert found[1] == rest


@pytest.mark.parametrize(
    "text",
    [
        "Mars 2025 mission plan",
        "Los Angeles 2023 trip",
        "von Montag bis Freitag geöffnet?",
        "du lundi au vendredi",
        "am 31. Februar",
        "2024年13月40日",
        "version 3.5.2024.1",
    ],
)
def test_what_is_no_date_in_any_language(text: str) -> None:
    assert find_time_span(text, NOW) is None


FOREIGN_WORDS = (
    "vor seit nach zwischen und bis im am letzten drei Tagen Wochen März Mai 2024 1900 31. 29. Februar Montag gestern"
    " il y a trois jours depuis entre et le 30 février mars dernier hace días desde hasta el lunes pasado de mayo"
    " 12.13.2024 31/02/2024"
    " 上周 前天 3天前 999年前 から まで 2024年 2月30日 12月 月曜日 先週の 之前 自 到 最近 一 两 个月"
)


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(st.sampled_from(FOREIGN_WORDS.split()), max_size=10),
    st.sampled_from(("", " ")),
    st.integers(366, 3_651_000).map(lambda days: EARLIEST + timedelta(days=days, hours=days % 24)),
)
def test_any_words_of_the_tables_at_any_time_give_a_span_that_is_one(words: list[str], gap: str, now: datetime) -> None:
    found = find_time_span(gap.join(words), now)
    if found is not None:
        assert found[0].since < found[0].until


@settings(max_examples=examples(150), deadline=None)
@given(
    st.one_of(
        st.text(st.characters(), max_size=80), st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join)
    ),
    st.integers(366, 3_651_000).map(lambda days: EARLIEST + timedelta(days=days, hours=days % 24)),
)
def test_any_text_at_any_time_gives_a_span_that_is_one(text: str, now: datetime) -> None:
    found = find_time_span(text, now)
    if found is not None:
        assert found[0].since < found[0].until
        assert len(found[1]) < len(text)
