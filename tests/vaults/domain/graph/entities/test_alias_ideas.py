"""Other names an entity could have, which two may be one, what kind they are, and in which period a day falls.

Covers vaults.domain.graph.entities.duplicates, vaults.domain.graph.entities.entity_lists,
vaults.domain.insights.date_context, vaults.domain.insights.periods, vaults.graph.names.categories.
"""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.work import assert_linear
from vaults.domain.graph.entities.alias_ideas import NamedEntity, find_alias_ideas, is_name_like, make_acronyms
from vaults.domain.graph.entities.duplicates import find_duplicates
from vaults.domain.graph.entities.entity_lists import Entity
from vaults.domain.insights import date_context, periods
from vaults.graph.names.categories import guess_category
from vaults.markdown.link_resolution import fold_name


def _ideas(title: str, taken: tuple[str, ...] = (), said: dict[str, int] | None = None, kind: str = "") -> list[str]:
    named = NamedEntity("x.md", title, (title,), kind, said or {})
    return [
        each.alias
        for each in find_alias_ideas(named, lambda name: fold_name(name) in {fold_name(each) for each in taken})
    ]


@pytest.mark.parametrize(
    ("title", "others"),
    [
        ("Runtime API", ["RAPI"]),
        ("Model Context Protocol", ["MCP", "Model Context Protocols"]),
        ("Bank of the West", ["Bank of the Wests"]),  # two initials are too few
        ("Large Language Model (LLM)", ["LLM", "Large Language Model"]),
        ("Libraries", ["Library"]),
        ("Boxes", ["Box"]),
        ("Class", []),
        ("Status", []),
        ("Physics", []),
        ("Company", ["Companies"]),
        ("API", []),
        ("plan", ["plans"]),
        ("2026-01-01", []),
        ("Grün", []),
        ("", []),
    ],
)
def test_names_that_follow_from_a_name(title: str, others: list[str]) -> None:
    assert _ideas(title) == others


def test_nothing_is_suggested_that_something_else_is_called() -> None:
    assert _ideas("Runtime API", taken=("rapi", "Runtime apis")) == []
    assert _ideas("Plan", said={"The PLAN": 3, "Big Plan": 2}, taken=("big plan",)) == ["The PLAN", "Plans"]
    assert _ideas("Ada King Lovelace", kind="person") == ["AKL"]


@pytest.mark.parametrize("words", ["here", "this page", "1815", "https://x.org/a", "a b c d e f g", "x" * 61, "", "…"])
def test_words_that_only_point_are_no_name(words: str) -> None:
    assert not is_name_like(words)


@given(st.text(max_size=300))
def test_no_title_breaks_the_search_for_names(title: str) -> None:
    for each in _ideas(title, said={title: 2}):
        assert each.strip()
        assert fold_name(each) != fold_name(title)
    assert len(make_acronyms(title)) <= 2


def _entity(name: str, *aliases: str, path: str | None = None, hub: float = 0.0) -> Entity:
    return Entity(name, "note", path=path or f"{name}.md", aliases=list(aliases), hub=hub)


def _reasons(*entities: Entity) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(each.one.name, each.into.name, each.because) for each in find_duplicates(entities, {}, frozenset())]


@pytest.mark.parametrize(
    ("one", "into", "because"),
    [
        ("Turbo-Pump", "Turbopump", "the same but for signs and accents"),
        ("Café", "Cafe", "the same but for signs and accents"),
        ("Running Shoe", "Running Shoes", "forms of the same words"),
        ("Kubenetes Cluster", "Kubernetes Cluster", "spelled alike"),
        ("Python (language)", "Python", "the same but for brackets"),
        ("MCP", "Model Context Protocol", "a short form of the other"),
    ],
)
def test_two_names_of_one_thing_are_found(one: str, into: str, because: str) -> None:
    assert _reasons(_entity(one), _entity(into, hub=5)) == [(one, into, (because,))]


def test_a_name_of_both_and_a_note_that_says_the_same_count_together() -> None:
    ada, king = _entity("Ada Lovelace", "Countess"), _entity("Ada King", "countess", hub=2)
    (pair,) = find_duplicates([ada, king], {"Ada King.md": [("Ada Lovelace.md", 0.95)]}, frozenset())
    assert (pair.one, pair.into, set(pair.because)) == (ada, king, {"a name of both", "about the same"})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2026-01-01", "2026-01-02"),
        ("Release notes 1.2", "Release notes 1.3"),
        ("Rust (game)", "Rust (language)"),
        ("Index", "index"),
        ("Cat", "Car"),
        ("Plan", "Planet"),
    ],
)
def test_two_things_are_not_taken_for_one(one: str, other: str) -> None:
    assert _reasons(_entity(one, path="a.md"), _entity(other, path="b.md")) == []


def test_names_without_a_note_are_never_merged_into_one_without_either() -> None:
    assert _reasons(Entity("Engine", "prospect"), Entity("engine", "memory")) == []
    assert _reasons(Entity("engines", "prospect"), _entity("Engine")) == [
        ("engines", "Engine", ("forms of the same words",))
    ]


def test_very_many_alike_are_compared_in_time_that_grows_with_their_number() -> None:
    def several(number: int) -> list[Entity]:
        alike = [_entity(f"prefixed name {place:x}", path=f"{place}.md") for place in range(number)]
        return [*alike, *[_entity("The Same", path=f"s{place}.md") for place in range(number)]]

    assert_linear(lambda entities: find_duplicates(entities, {}, frozenset()), several, 250)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("people/Ada.md", "person"),
        ("Work notes/Contacts/Ada.md", "person"),
        ("Journal/2026/03/02.md", "journal"),
        ("2026/03/02.md", ""),
        ("Space Lua/API/x.md", "api"),
        ("x.md", ""),
    ],
)
def test_a_folder_tells_the_category(path: str, kind: str) -> None:
    assert guess_category(path) == kind


@given(st.dates(min_value=date(1, 1, 1)), st.sampled_from(["day", "week", "month"]), st.integers(1, 40))
def test_periods_follow_each_other_up_to_the_day(last: date, by: periods.PeriodUnit, number: int) -> None:
    starts = periods.list_first_days(last, by, number)
    names = [periods.to_period(each.isoformat(), by) for each in starts]
    assert len(set(names)) == len(names) <= number
    assert names[-1] == periods.to_period(last.isoformat(), by)
    assert starts == sorted(starts)
    for one, next_ in pairwise(starts):
        assert periods.to_period((next_ - timedelta(days=1)).isoformat(), by) == periods.to_period(one.isoformat(), by)


@given(st.dates(), st.integers(0, 3650))
def test_every_window_has_its_day(day: date, days: int) -> None:
    window = date_context.to_window(day.isoformat(), days)
    assert window.first <= day.isoformat() < window.end or window.end == "9999-12-31"
