"""Templates: filled in once, nothing evaluated, nothing lost."""

from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.errors import InvalidArgument, TooLarge
from vaults.markdown import templates
from vaults.markdown.templates import fill_template

NOW = datetime(2026, 11, 21, 9, 5, 7)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("# {{title}}", "# Plan"),
        ("{{ title }}", "Plan"),
        ("{{Title}} {{DATE}}", "Plan 2026-11-21"),
        ("{{date}} {{time}}", "2026-11-21 09:05"),
        ("{{date:DD.MM.YYYY}} {{time:HH:mm:ss}}", "21.11.2026 09:05:07"),
        ("[[{{yesterday}}]] [[{{tomorrow}}]]", "[[2026-11-20]] [[2026-11-22]]"),
        ("{{yesterday:dddd}} {{week}} {{week:[W]w}}", "Friday 2026-W47 W47"),
        ("{{project}}\r\n{{client.name}}\r", "Vault\r\nAcme\r"),
    ],
)
def test_variables_are_filled_in(template: str, text: str) -> None:
    assert fill_template(template, "Plan", NOW, {"project": "Vault", "client.name": "Acme"}) == (text, [])


def test_a_callers_variable_wins_but_not_over_a_pattern() -> None:
    text, _ = fill_template("{{date}} {{date:YYYY}} {{title}}", "Plan", NOW, {"date": "today", "title": "Mine"})
    assert text == "today 2026 Mine"


@pytest.mark.parametrize(
    "template",
    ["{{unknown}}", "{{title:YYYY}}", "{{date:YYYY Z}}", "{{__class__}}", "{{mood:x}}", "{{tp.file}}"],
)
def test_what_is_not_known_stays_and_is_named(template: str) -> None:
    text, warnings = fill_template(f"a {template} b {template}", "Plan", NOW)
    assert text == f"a {template} b {template}"
    assert len(warnings) == 1
    assert template in warnings[0]


@pytest.mark.parametrize(
    "template", ["{{}}", "{{ }}", "{title}", "{{title", "{{1+1}}", "{{title()}}", "{{a b}}", "<% tp %>"]
)
def test_what_is_no_variable_stays_without_a_word(template: str) -> None:
    assert fill_template(template, "Plan", NOW) == (template, [])


def test_a_value_is_not_filled_in_again() -> None:
    assert fill_template("{{a}}", "Plan", NOW, {"a": "{{b}}{{title}}", "b": "x"}) == ("{{b}}{{title}}", [])


def test_many_unknown_variables_are_counted() -> None:
    _, warnings = fill_template("".join(f"{{{{v{number}}}}}" for number in range(100)), "Plan", NOW)
    assert len(warnings) == templates.MAX_WARNINGS + 1
    assert "80 more" in warnings[-1]


def test_output_is_bounded() -> None:
    with pytest.raises(TooLarge):
        fill_template("{{a}}" * 600, "Plan", NOW, {"a": "x" * 10_000})


def test_a_variable_must_be_text() -> None:
    with pytest.raises(InvalidArgument, match="'n' is not"):
        fill_template("{{n}}", "Plan", NOW, {"n": 1})  # type: ignore[dict-item]


def test_the_last_day_of_the_calendar_has_no_tomorrow() -> None:
    text, warnings = fill_template("{{tomorrow}} {{yesterday}}", "Plan", date.max)
    assert text == "{{tomorrow}} 9999-12-30"
    assert len(warnings) == 1


@given(st.text(alphabet="{}:daetYM x\n", max_size=200), st.dates())
def test_any_text_is_a_template(template: str, day: date) -> None:
    text, _ = fill_template(template, "", day)
    assert ("{{" in template) or text == template
