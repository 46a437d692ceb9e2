"""Files of policies that are no good: refused before anything runs, with the place and the reason.

Covers server.tools._steps, vaults.domain.policies.definitions, vaults.domain.policies.grammar,
vaults.domain.policies.plans, vaults.domain.policies.storage, vaults.domain.policies.variables.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.tools._steps import STEP_TOOLS, StepTools
from tests.work import examples, python_steps
from vaults.domain.policies import storage, variables
from vaults.domain.policies.plans import PolicyPlan
from vaults.errors import InvalidArgument

HEAD = 'version: "1.0"\nname: chore\ndescription: A procedure\n'
STEPS = "steps:\n  - {id: a, tool: note_edit, args: {path: a.md, content: x}}\n"
NOTES = SimpleNamespace(settings=SimpleNamespace(policies="policies"))
ANYBODY = StepTools(SimpleNamespace(vault=SimpleNamespace(notes=NOTES)))  # type: ignore[arg-type]


def plan(text: str | bytes) -> PolicyPlan:
    return storage.plan_from_bytes(text if isinstance(text, bytes) else text.encode(), "chore", ANYBODY)


def step(more: str, tool: str = "note_edit") -> str:
    return f"{HEAD}steps:\n  - {{id: a, tool: {tool}, {more}}}\n"


def variable(more: str) -> str:
    return f"{HEAD}variables: {{v: {more}}}\n{STEPS}"


def looking(more: str) -> str:
    return f"{HEAD}{more}\n{STEPS}"


BOMB = "\n".join([f"a0: &a0 [{'x, ' * 10}]", *(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 10}]" for n in range(1, 9))])

MANY = '"{{ today }}", ' * 301

REFUSED: dict[str, tuple[str | bytes, str, str]] = {
    "no text": (b"\xff\xfe\x00", "policy", "UTF-16"),
    "not UTF-8": (HEAD.encode() + b"\xe9", "policy", "not UTF-8"),
    "NUL": (HEAD.encode() + b"\0", "policy", "NUL"),
    "empty": ("", "version", "required"),
    "a list": ("- a\n", "policy", "key: value"),
    "words": ("nonsense", "policy", "key: value"),
    "too long": (HEAD + "#" * 70_000, "policy", "65,536"),
    "an alias": (BOMB, "policy", "alias"),
    "a tag": (HEAD + "steps: !!python/object/apply:os.system [x]\n", "policy", "tag"),
    "brackets": ("[" * 50_000, "policy", "deeper"),
    "braces": ("a: " + "{a: " * 10_000, "policy", "deeper"),
    "two documents": (HEAD + STEPS + "---\na: 1\n", "policy", "second document"),
    "a key twice": (HEAD + "name: other\n" + STEPS, "policy", "repeated: name"),
    "another version": (HEAD.replace("1.0", "2.0") + STEPS, "version", '"1.0"'),
    "another name": (HEAD.replace("chore", "other") + STEPS, "name", "must be chore"),
    "a name of a path": (HEAD.replace("chore", "../chore") + STEPS, "name", "pattern"),
    "no steps": (HEAD, "steps", "required"),
    "an unknown key": (HEAD + "hooks: [x]\n" + STEPS, "hooks", "not a key"),
    "a thousand steps": (HEAD + "steps:\n" + "  - {id: a, tool: b}\n" * 1000, "steps", "at most 50"),
    "an unknown key of a step": (step("args: {path: a}, run: x"), "steps.1.run (step a)", "not a key"),
    "an id twice": (HEAD + STEPS + STEPS.removeprefix("steps:\n"), "steps.a", "twice"),
    "an unknown tool": (step("args: {}", "rm"), "steps.a: tool", "none a step may call"),
    "a tool that stores": (step("args: {content: x}", "remember"), "steps.a: tool", "none a step may call"),
    "vaults": (step("args: {action: list}", "vaults"), "steps.a: tool", "none a step may call"),
    "itself": (step("args: {action: execute, name: chore}", "policies"), "steps.a: tool", "none a step may call"),
    "history": (step("args: {action: undo}", "history"), "steps.a: tool", "none a step may call"),
    "an unknown argument": (step("args: {path: a, contents: x}"), "steps.a: contents", "no argument"),
    "a missing argument": (step("args: {to: b}", "note_move"), "steps.a: path", "is required"),
    "a wrong argument": (step("args: {path: a, action: burn}"), "steps.a: action", "'add', 'remove' or 'replace'"),
    "confirming itself": (step("args: {path: a, confirm: true}", "note_delete"), "steps.a: confirm", "no argument"),
    "a dry step": (step("args: {path: a, dry_run: true}"), "steps.a: dry_run", "no argument"),
    "a step that lists": (step("args: {action: list}", "tasks"), "steps.a: action", "add or toggle"),
    "writing policies": (step("args: {path: policies/a.md, content: x}"), "steps.a: path", "folder of policies"),
    "moving there": (step("args: {path: a, to: Policies/}", "note_move"), "steps.a: to", "folder of policies"),
    "a condition that is none": (step("args: {path: a}, when: nothing"), "steps.a.when", "names no condition"),
    "a list that is none": (step("args: {path: a}, each: nothing"), "steps.a.each", "array"),
    "a name that is none": (step('args: {path: "{{ nothing }}"}'), "steps.a.args.path", "nothing here is called"),
    "an item without each": (step('args: {path: "{{ item }}"}'), "steps.a.args.path", "nothing here is called"),
    "itself as a step": (step('args: {path: "{{ steps.a.path }}"}'), "steps.a.args.path", "no step before it"),
    "a template that calls": (step('args: {path: "{{ range(9) }}"}'), "steps.a.args.path", "calls"),
    "a template inside": (step("args: {path: a, content: x, section: '{{ ().__class__ }}'}"), "section", "attribute"),
    "a template without end": (step('args: {path: "{{ today"}'), "steps.a.args.path", "no template"),
    "too many templates": (step(f"args: {{path: a, content: [{MANY}]}}"), "steps.a.args", "one template too many"),
    "a circle": (
        variable('{type: string, default: "{{ w }}"}, w: {type: string, default: "{{ v }}"}'), "variables", "circle: "
    ),
    "a circle of one": (variable('{type: string, default: "{{ v }}"}'), "variables", "circle: v → v"),
    "an unknown type": (variable("{type: date}"), "variables.v.type", "'string', 'number'"),
    "an enum without values": (variable("{type: enum}"), "variables.v", "must have values"),
    "values of no enum": (variable("{type: string, values: [a]}"), "variables.v", "must have values"),
    "a default of another kind": (variable("{type: number, default: x}"), "variables.v.default", "must be a number"),
    "a default out of bounds": (variable("{type: number, default: 9, max: 5}"), "variables.v.default", "at most 5"),
    "bounds the wrong way": (variable("{type: number, min: 9, max: 5}"), "variables.v", "min above its max"),
    "required with a default": (variable("{type: string, required: true, default: x}"), "variables.v", "default"),
    "a reserved name": (f"{HEAD}variables: {{today: {{type: string}}}}\n{STEPS}", "variables.today", "of its own"),
    "a name Jinja knows": (f"{HEAD}variables: {{loop: {{type: string}}}}\n{STEPS}", "variables.loop", "of its own"),
    "a hidden name": (f"{HEAD}variables: {{_budget: {{type: string}}}}\n{STEPS}", "variables._budget", "pattern"),
    "two questions": (looking("conditions: {c: {path: a, exists: true, in: [b]}}"), "conditions.c", "one of"),
    "no question": (looking("conditions: {c: {path: a}}"), "conditions.c", "one of"),
    "nothing compared": (looking("conditions: {c: {path: a, equals: b}}"), "conditions.c", "need a property"),
    "nothing collected": (looking("collect: {c: {path: a}}"), "collect.c", "what to read"),
    "an item in a condition": (looking('conditions: {c: {path: "{{ item }}", exists: true}}'), "conditions.c", "name"),
}  # fmt: skip


@pytest.mark.parametrize("why", REFUSED)
def test_a_policy_that_is_no_good_is_refused_with_its_place(why: str) -> None:
    text, place, reason = REFUSED[why]
    failures: list[InvalidArgument] = []

    def refused() -> None:
        with pytest.raises(InvalidArgument) as failure:
            plan(text)
        failures.append(failure.value)

    assert python_steps(refused) < 2_000_000  # the dearest of them takes 340,000
    message = failures[0].message.removeprefix("Validation error: ")
    assert message.startswith(place) or place in message.split(" ")[0], message
    assert reason in message, message


def test_the_tools_of_steps_are_those_that_change_notes_and_no_others() -> None:
    assert set(STEP_TOOLS) == {"note_write", "note_edit", "frontmatter_update", "tasks", "note_move", "note_delete"}


GIVEN: tuple[tuple[str, Any, str | None], ...] = (
    ("{type: string, required: true}", None, "is required"),
    ("{type: string}", 5, "must be text"),
    ("{type: string}", "x" * 20_001, "at most 20000"),
    ("{type: string}", "a\ud800", "Unicode"),
    ("{type: string}", "a\0", "NUL"),
    ("{type: string, min: 3}", "ab", "at least 3"),
    ("{type: string}", "{{ today }}", None),
    ("{type: number}", "5", "must be a number"),
    ("{type: number}", True, "must be a number"),
    ("{type: number}", float("nan"), "must be a number"),
    ("{type: number}", float("inf"), "must be a number"),
    ("{type: number, min: 1, max: 5}", 0, "at least 1"),
    ("{type: number, min: 1, max: 5}", 5, None),
    ("{type: boolean}", "yes", "true or false"),
    ("{type: boolean}", 1, "true or false"),
    ("{type: enum, values: [a, b]}", "c", "one of a, b"),
    ("{type: enum, values: [a, b]}", "a", None),
    ("{type: array}", "a", "a list"),
    ("{type: array}", ["a", 1, True], None),
    ("{type: array}", ["a", ["b"]], "must be text"),
    ("{type: array}", ["a"] * 201, "at most 200"),
    ("{type: array}", ["x" * 20_000] * 11, "together"),
    ("{type: array, min: 1}", [], "at least 1"),
)


@pytest.mark.parametrize(("declared", "value", "reason"), GIVEN)
def test_what_is_given_for_a_variable_fits_it_or_is_refused(declared: str, value: Any, reason: str | None) -> None:
    policy = plan(variable(declared)).policy
    if reason is None:
        assert variables.resolve_variables(policy, {"v": value}, {})["v"] == value
        return
    with pytest.raises(InvalidArgument) as failure:
        variables.resolve_variables(policy, {"v": value}, {})
    assert reason in failure.value.message
    assert "variables" in failure.value.message


def test_a_variable_that_is_not_declared_is_refused_by_name() -> None:
    with pytest.raises(InvalidArgument, match=r"variables\.other is none of this policy"):
        variables.resolve_variables(plan(HEAD + STEPS).policy, {"other": 1}, {})


def test_defaults_may_name_each_other_in_any_order() -> None:
    body = (
        'variables:\n  a: {type: string, default: "{{ b }}!"}\n  b: {type: string, default: "{{ c }}?"}\n'
        '  c: {type: string, default: x}\n  n: {type: number, default: "{{ list | length }}"}\n'
        "  list: {type: array, default: [p, q]}\n"
    )
    policy = plan(HEAD + body + STEPS).policy
    assert variables.resolve_variables(policy, {}, {}) == {"a": "x?!", "b": "x?", "c": "x", "n": 2, "list": ["p", "q"]}
    assert variables.resolve_variables(policy, {"b": "{{ c }}", "n": None}, {})["a"] == "{{ c }}!"


_WORDS = "version name description variables conditions collect steps output id tool args when each path type default"
_KEYS = st.sampled_from([*_WORDS.split(), "exists", "in", "tasks", "section", "property", "summary", "x"])
_SCALARS = st.sampled_from(["1.0", "chore", "note_edit", "{{ today }}", "{{ x }}", "a.md", "string", "array", "a"]) | (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=6),
    max_leaves=20,
)


@settings(max_examples=examples(100), deadline=None)
@given(st.dictionaries(_KEYS, _VALUES, max_size=8), st.booleans())
def test_whatever_stands_in_a_file_it_is_a_policy_or_refused_by_us(values: dict[str, Any], headed: bool) -> None:
    import yaml

    if headed:
        values = {**values, "version": "1.0", "name": "chore", "description": "x"}
    try:
        assert plan(yaml.safe_dump(values, allow_unicode=True)).policy.name == "chore"
    except InvalidArgument as failure:
        assert len(failure.message) < 2_000  # noqa: PT017  either is fine


def test_the_example_in_the_documentation_is_a_policy() -> None:
    page = (Path(__file__).parents[2] / "docs" / "policies.md").read_text()
    text = page.partition("```yaml\n")[2].partition("```")[0]
    assert storage.plan_from_bytes(text.encode(), "meeting-note", ANYBODY).policy.steps
