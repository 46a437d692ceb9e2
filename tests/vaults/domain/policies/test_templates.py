"""Templates of policies: what they may say, what they may not, and that no value makes them dear or alive."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.work import examples, python_steps
from vaults.domain.policies.templates import compile_template
from vaults.errors import InvalidArgument

TASKS = [{"text": "call Ana", "line": 3}, {"text": "{{ today }}", "line": 4}]
VALUES: dict[str, Any] = {
    "name": "Éva's plan", "number": 5, "yes": True, "none": None, "words": ["p", "q"], "tasks": TASKS,
    "day": "2026-11-22", "long": "y" * 20_000, "many": ["z" * 100] * 200, "steps": {"made": {"path": "a.md"}},
}  # fmt: skip

MOST_STEPS = 4_000_000
"""For one template: reading the longest takes a quarter of it, and 40,000 rounds of a loop more than all."""


def filled(text: str, **more: Any) -> Any:
    return compile_template(text, "here").render({**VALUES, **more})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ name }}", "Éva's plan"),
        ("{{ number }}", 5),
        ("{{ yes }} {{ none }}{{ words }}", "true p, q"),
        ("{{ words }}", ["p", "q"]),
        ("{{ none }}", None),
        ("no. {{ number }}\n", "no. 5\n"),
        (
            "{% for each in tasks %}- {{ each.text }} {{ each['line'] }}\n{% endfor %}",
            "- call Ana 3\n- {{ today }} 4\n",
        ),
        ("{% for each in words if each != 'p' %}{{ each }}{% else %}none{% endfor %}", "q"),
        ("{% if number > 3 and not none %}more{% elif yes %}some{% else %}less{% endif %}", "more"),
        ("{{ 'a' if yes else 'b' }}", "a"),
        ("{{ name in ['x', 'y'] }}", False),
        ("{{ name | slug }}", "eva-s-plan"),
        ("{{ name | upper | replace('S', 'z') | trim }}", "ÉVA'z PLAN"),
        ("{{ none | default('nothing') }}", "nothing"),
        ("{{ words | join('-') }}{{ words | first }}{{ words | last }}{{ words | length }}", "p-qpq2"),
        ("{{ day | days(-7) | date('%G-W%V') }}", "2026-W46"),
        ("{{ '2026-11-22T23:00:00+02:00' | days(1) }}", "2026-11-23T23:00:00+02:00"),
        ("{{ 'a\nb' | indent(2) }}", "a\n  b"),
        ("{{ steps.made.path }} {{ words[0] }}", "a.md p"),
        ("{% raw %}{{ name }}{% endraw %}", "{{ name }}"),
    ],
)
def test_a_template_comes_to(text: str, expected: object) -> None:
    assert filled(text) == expected


REFUSED = {
    "{{ ''.__class__ }}": "attribute",
    "{{ name.__class__.__mro__ }}": "attribute",
    "{{ name['__class__'] }}": "attribute",
    "{{ name.upper }}": "part",
    "{{ words.append }}": "part",
    "{{ name.upper() }}": "calls",
    "{% for i in range(10**9) %}x{% endfor %}": "calls",
    "{{ 'a' * 10**9 }}": "arithmetic",
    "{{ 1 + 1 }}": "arithmetic",
    "{{ -number }}": "arithmetic",
    "{% include 'x' %}": "includes",
    "{% import 'x' as y %}": "imports",
    "{% extends 'x' %}": "extends",
    "{% macro m() %}{{ m() }}{% endmacro %}": "macro",
    "{% set a = 1 %}": "sets a name",
    "{% with a = 1 %}{{ a }}{% endwith %}": "may not",
    "{% call x() %}{% endcall %}": "may not",
    "{% filter upper %}x{% endfilter %}": "may not",
    "{{ lipsum() }}": "calls",
    "{{ cycler('a', 'b') }}": "calls",
    "{{ namespace(a=1) }}": "calls",
    "{{ name | attr('x') }}": "filter attr",
    "{{ words | map('upper') }}": "filter map",
    "{{ name | format(1) }}": "filter format",
    "{{ words | _each(1) }}": "filter _each",
    "{{ words | join(d='x') }}": "plain arguments",
    "{{ name is defined }}": "test",
    "{{ name ~ name }}": "~",
    "{{ {'a': 1} }}": "mapping",
    "{{ words[0:1] }}": "written key",
    "{{ words[number] }}": "written key",
    "{{ words[9] }}": "part",
    "{{ tasks }}": "several parts",
    "{{ tasks[0].text.upper }}": "part",
    "{{ name if yes }}": "without else",
    "{{ 9" + "9" * 6000 + " }}": "number",
    "{{ 0x" + "f" * 6000 + " }}": "too large",
    "{{ 1e999 }}": "too large",
    "{{ " + "(" * 5000 + "name" + ")" * 5000 + " }}": "nested",
    "{{ " + "not " * 3000 + "name }}": "nested",
    "{{ name" + "|upper" * 3000 + " }}": "nested",
    "{% if yes %}" * 100 + "{% endif %}" * 100: "nested",
    "{% if yes %}" + "{% elif yes %}" * 1200 + "{% endif %}": "too many parts",
    "{% for a in many recursive %}{{ loop(a) }}{% endfor %}": "form",
    "{% for a, b in many %}{% endfor %}": "form",
    "{% for a in many %}{% for b in many %}{% for c in many %}{% endfor %}{% endfor %}{% endfor %}": "costs too much",
    "{% for a in many %}{% for b in many %}{{ a }}{% endfor %}{% endfor %}": "comes to more",
    "{% for a in words %}" * 4 + "{% endfor %}" * 4: "loops in each other",
    "{{ long | replace('y', long) }}": "costs too much",
    "{{ name | replace('', 'x') }}": "empty",
    "{{ name | indent(10000) }}": "indents",
    "{% for a in long %}{% endfor %}": "list",
    "{{ number > name }}": "another kind",
    "{{ day | date('%c') }}": "writes a date",
    "{{ name | date }}": "date that is none",
    "{{ day | days(99999999) }}": "days",
    "{{ '9999-12-31' | days(9) }}": "no calendar",
    "{{ name": "no template",
    "{% for %}": "no template",
    "x" * 20_001: "characters",
    "{{" * 9000: "no template",
    "{%" * 9000: "no template",
    "{#" * 9000: "no template",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:40])
def test_what_a_template_may_not_is_refused_at_once_and_by_name(text: str) -> None:
    def refused() -> None:
        with pytest.raises(InvalidArgument) as failure:
            filled(text)
        failures.append(failure.value)

    failures: list[InvalidArgument] = []
    assert python_steps(refused) < MOST_STEPS
    assert failures[0].message.startswith("Validation error: here ")
    assert REFUSED[text] in failures[0].message


def test_a_loop_is_paid_for_by_what_a_round_of_it_costs() -> None:
    heavy = "{% for a in many %}{% for b in many %}" + "{% if a == b %}{% endif %}" * 200 + "{% endfor %}{% endfor %}"

    def refused() -> None:
        with pytest.raises(InvalidArgument, match="costs too much"):
            filled(heavy)

    assert python_steps(refused) < MOST_STEPS


ODD = st.text(max_size=200) | st.sampled_from(["{{ 7 }}", "{% include 'x' %}", "{{ ''.__class__ }}", "{#", "%}", "]]"])


@settings(max_examples=examples(80), deadline=None)
@given(ODD, st.lists(ODD, max_size=5))
def test_a_value_is_put_in_as_it_is_whatever_it_looks_like(value: str, items: list[str]) -> None:
    assert filled("{{ name }}", name=value) == value
    assert filled("<{{ name }}>", name=value) == f"<{value}>"
    looped = filled("{% for each in words %}[{{ each }}]{% endfor %}.", words=items)
    assert looped == "".join(f"[{each}]" for each in items) + "."


_WORDS = """
{{ }} {% %} {# #} for in if else endif endfor name words tasks many long number | . [ ] ( ) ' " 'a' 0 -1 == not and or
upper replace join default date days slug indent length first text __class__ range * ** ~ , : is set
"""
_PIECES = st.sampled_from(_WORDS.split())


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(_PIECES | st.text(max_size=3), max_size=25).map(" ".join), st.sampled_from(["{{ %s }}", "%s"]))
def test_whatever_is_written_ends_soon_in_a_text_or_a_refusal_of_ours(text: str, around: str) -> None:
    def tried() -> None:
        with suppress(InvalidArgument):
            filled(around.replace("%s", text))

    assert python_steps(tried) < MOST_STEPS
