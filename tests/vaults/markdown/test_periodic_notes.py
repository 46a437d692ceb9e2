"""Periodic notes: the vault's own habit, Obsidian's settings, the defaults, and the words that mean them."""

import json
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.errors import InvalidArgument
from vaults.markdown.periodic_notes import (
    DEFAULTS,
    PeriodicPattern,
    PeriodKind,
    infer_patterns,
    parse_alias,
    periodic_path,
)

TODAY = date(2026, 11, 21)


@pytest.mark.parametrize(
    ("path", "kind", "tomorrow", "following"),
    [
        ("2026-11-20.md", "daily", date(2027, 1, 2), "2027-01-02.md"),
        ("daily/2026-11-20.md", "daily", date(2027, 1, 2), "daily/2027-01-02.md"),
        ("Journal/2026/2026-11-20.md", "daily", date(2027, 1, 2), "Journal/2027/2027-01-02.md"),
        ("Journal/2026/11/20.md", "daily", date(2027, 1, 2), "Journal/2027/01/02.md"),
        (
            "J/2026/11-November/2026-11-20-Friday.md",
            "daily",
            date(2027, 1, 2),
            "J/2027/01-January/2027-01-02-Saturday.md",
        ),
        ("Logbuch/20.11.2026.md", "daily", date(2027, 1, 2), "Logbuch/02.01.2027.md"),
        ("journals/2026_11_20.md", "daily", date(2027, 1, 2), "journals/2027_01_02.md"),
        ("a]b[c/20261120.md", "daily", date(2027, 1, 2), "a]b[c/20270102.md"),
        ("November 20th, 2026.md", "daily", date(2027, 1, 2), "January 2nd, 2027.md"),
        ("Weeks/2026-W46.md", "weekly", date(2027, 1, 1), "Weeks/2026-W53.md"),
        ("2026/W46.md", "weekly", date(2027, 1, 1), "2026/W53.md"),
        ("M/2026/2026-11.md", "monthly", date(2027, 1, 2), "M/2027/2027-01.md"),
        ("M/2026/11.md", "monthly", date(2027, 1, 2), "M/2027/01.md"),
        ("November 2026.md", "monthly", date(2027, 1, 2), "January 2027.md"),
        ("2026-Q4.md", "quarterly", date(2027, 1, 2), "2027-Q1.md"),
        ("Years/2026.md", "yearly", date(2027, 1, 2), "Years/2027.md"),
    ],
)
def test_one_note_shows_where_the_next_goes(path: str, kind: PeriodKind, tomorrow: date, following: str) -> None:
    pattern = infer_patterns([path, "Projects/Plan.md", "2026-11-20 Meeting.md"])[kind]
    assert pattern.notes == 1
    assert periodic_path(kind, tomorrow, pattern) == following


def test_the_habit_of_most_notes_wins() -> None:
    paths = [f"old/2026-11-{day:02}.md" for day in range(1, 4)] + ["new/2026-11-20.md", "new/2026-11-21.md"]
    assert infer_patterns(paths)["daily"] == PeriodicPattern("[old]/YYYY-MM-DD", notes=3)


def test_between_equals_the_latest_note_decides() -> None:
    assert infer_patterns(["new/2026-11-20.md", "old/2025-11-20.md"])["daily"].format == "[new]/YYYY-MM-DD"


def test_day_and_month_are_told_apart_by_the_notes_that_can_only_be_one() -> None:
    paths = ["03-04-2026.md", "04-05-2026.md", "05-13-2026.md"]
    assert infer_patterns(paths)["daily"].format == "MM-DD-YYYY"


def test_without_periodic_notes_there_are_defaults() -> None:
    patterns = infer_patterns(["Plan.md", "2026/Plan.md", "2026-13-40.md", "12.md"])
    assert patterns == DEFAULTS
    assert periodic_path("daily", TODAY) == "memory/2026-11-21.md"
    assert periodic_path("weekly", TODAY) == "memory/2026-W47.md"
    assert periodic_path("monthly", TODAY) == "memory/2026-11.md"
    assert periodic_path("memory", TODAY) == "MEMORY.md"


def test_the_memory_note_is_taken_as_the_vault_spells_it() -> None:
    assert periodic_path("memory", TODAY, infer_patterns(["Memory.md"])["memory"]) == "Memory.md"
    assert infer_patterns(["sub/MEMORY.md"])["memory"] == DEFAULTS["memory"]


def test_obsidians_settings_win() -> None:
    settings = {"folder": "/Daily notes/", "format": "YYYY/MM-MMMM/YYYY-MM-DD-dddd", "template": "Templates/Day"}
    pattern = infer_patterns(["j/2026-11-20.md"], json.dumps(settings))["daily"]
    assert pattern.template == "Templates/Day"
    assert periodic_path("daily", TODAY, pattern) == "Daily notes/2026/11-November/2026-11-21-Saturday.md"


def test_obsidians_settings_may_leave_things_out() -> None:
    assert periodic_path("daily", TODAY, infer_patterns([], "{}")["daily"]) == "2026-11-21.md"
    assert periodic_path("daily", TODAY, infer_patterns([], '{"folder": "d"}')["daily"]) == "d/2026-11-21.md"


@pytest.mark.parametrize(
    "settings",
    [
        "",
        "{",
        "[]",
        "null",
        '{"folder": 1}',
        '{"format": ["x"]}',
        '{"format": "YYYY Z"}',
        "[" * 60_000,
        " " * 70_000 + "{}",
    ],
)
def test_nonsense_in_obsidians_settings_is_passed_over(settings: str) -> None:
    assert infer_patterns(["j/2026-11-20.md"], settings)["daily"].format == "[j]/YYYY-MM-DD"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("@daily", ("daily", TODAY)),
        (" @Today ", ("daily", TODAY)),
        ("@yesterday", ("daily", date(2026, 11, 20))),
        ("@tomorrow", ("daily", date(2026, 11, 22))),
        ("@weekly", ("weekly", TODAY)),
        ("@monthly", ("monthly", TODAY)),
        ("@quarterly", ("quarterly", TODAY)),
        ("@yearly", ("yearly", TODAY)),
        ("@memory", ("memory", TODAY)),
        ("@daily:2026-11-20", ("daily", date(2026, 11, 20))),
        ("@weekly:2026-W46", ("weekly", date(2026, 11, 9))),
        ("@weekly:2026-11-20", ("weekly", date(2026, 11, 20))),
        ("@monthly:2026-10", ("monthly", date(2026, 10, 1))),
        ("@quarterly:2026-Q2", ("quarterly", date(2026, 4, 1))),
        ("@yearly:2025", ("yearly", date(2025, 1, 1))),
    ],
)
def test_a_word_means_a_note(text: str, meant: tuple[PeriodKind, date]) -> None:
    assert parse_alias(text, TODAY) == meant


@pytest.mark.parametrize(
    "text", ["daily", "@", "@dail", "Notes/@daily", "@daily.md", "@bob", "@bob:2026-11-20", "@dailynote"]
)
def test_other_words_mean_no_periodic_note(text: str) -> None:
    assert parse_alias(text, TODAY) is None


@pytest.mark.parametrize(
    "text", ["@daily:", "@daily:2026-02-30", "@daily:../x", "@memory:2026", "@yesterday:2026-11-20"]
)
def test_a_date_that_cannot_be_read_is_said(text: str) -> None:
    with pytest.raises(InvalidArgument, match="must be @"):
        parse_alias(text, TODAY)


@given(st.lists(st.text(alphabet="2016-/W.QmdaNovember ", max_size=30), max_size=20), st.dates())
def test_any_names_give_patterns_that_spell_paths(paths: list[str], day: date) -> None:
    for kind, pattern in infer_patterns(paths).items():
        assert periodic_path(kind, day, pattern).endswith(".md")
