"""Policies of Flywheel come to policies that hold here, or are said to have no counterpart.

Also of vaults/sources/flywheel_steps.py and vaults/sources/flywheel_templates.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from server.tools._steps import STEP_TOOLS
from vaults.domain.policies.definitions import parse_policy
from vaults.domain.policies.plans import DraftAction, PolicyPlan, make_plan
from vaults.domain.policies.templates import compile_template
from vaults.sources.flywheel_policies import to_policy, to_yaml
from vaults.sources.flywheel_templates import PolicyNames, PolicyUnsayable, to_names, to_template

REVIEW = """
version: "1.0"
name: Weekly-Review
description: >
  Files the review.

variables:
  weekName:
    type: string
    required: true
    description: such as 2026-W03
  reviewer: {type: string, default: "Ann"}
  today: {type: boolean, required: true, default: true}
  kind: {type: enum, enum: [work, home], default: work}
  tags: {type: array, default: [a, b]}
  budget: {type: number}

conditions:
  noteExists: {check: file_exists, path: "weekly/{{variables.weekName}}.md"}
  has_log: {check: section_exists, path: "weekly/{{weekName}}.md", section: "## Log"}
  is-done: {check: frontmatter_equals, path: "a.md", field: status, value: done}
  unfiled: {check: frontmatter_not_exists, path: "a.md", field: filed}

steps:
  - id: create-note
    tool: vault_create_note
    when: "{{conditions.noteExists | negate}}"
    params:
      path: "weekly/{{variables.weekName}}.md"
      template: "templates/week.md"
      frontmatter: {type: weekly, hours: 0, clients: [], by: "{{reviewer | upper}}", at: "{{builtins.now}}"}
      content: |
        # {{weekName}}, {{ unknown }} on {{today}} at {{time}}

        {% not a block %} {{tags | join}} {{kind | default(work)}}
  - id: log
    tool: vault_add_to_section
    when: "{{conditions.has_log}}"
    params: {path: "{{steps.create-note.path}}", section: "## Log", content: "x", format: timestamp-bullet,
             position: prepend, suggestOutgoingLinks: true, preserveListNesting: false}
  - id: drop
    tool: vault_remove_from_section
    params: {path: a.md, section: Active, pattern: "[[{{weekName}}]]", mode: all}
  - id: swap
    tool: vault_replace_in_section
    params: {path: a.md, section: Active, search: "(\\\\d+) (\\\\w+)", replacement: "$2 $1 $& $$", useRegex: true}
  - id: done
    tool: vault_toggle_task
    params: {path: a.md, task: "Call Ann"}
  - {id: todo, tool: vault_add_task, params: {path: a.md, section: Tasks, task: "Call Bob", completed: true}}
  - {id: first, tool: vault_add_task, params: {path: a.md, section: Tasks, task: "Call Bob", position: prepend}}
  - {id: head, tool: vault_update_frontmatter, params: {path: a.md, frontmatter: {status: done, on: "{{date}}"}}}
  - {id: field, tool: vault_add_frontmatter_field, params: {path: a.md, key: filed, value: true}}
  - {id: away, tool: vault_delete_note, when: "{{conditions.is-done}}", params: {path: b.md, confirm: true}}

output:
  summary: "{{variables.weekName}} is filed as {{steps.create-note.path}}"
"""


class CheckedTools:
    """The tools of steps as far as their arguments can be checked without a vault."""

    def check(self, tool: str, arguments: Mapping[str, Any], later: Set[str]) -> None:
        known = STEP_TOOLS[tool].arguments
        assert set(arguments) <= set(known.model_fields)
        assert set(arguments) >= {name for name, field in known.model_fields.items() if field.is_required()}
        given = {name: value for name, value in arguments.items() if name not in later}
        known.model_validate({**({"path": "a.md"} if "path" in later else {}), **given})

    def bound(self, tool: str, arguments: Mapping[str, Any]) -> DraftAction:
        raise NotImplementedError


def plan(text: str) -> PolicyPlan:
    return make_plan(parse_policy(to_yaml(to_policy(text)).encode()), CheckedTools())


def policy(*steps: dict[str, Any], **more: Any) -> str:
    return yaml.safe_dump({"version": "1.0", "name": "p", "description": "d", "steps": list(steps), **more})


def step(tool: str = "vault_add_to_section", **params: Any) -> dict[str, Any]:
    return {"id": "s", "tool": tool, "params": {"path": "a.md", "section": "Log", "content": "x", **params}}


def test_a_whole_policy_holds_here() -> None:
    found = plan(REVIEW).policy
    assert found.name == "weekly-review"
    assert list(found.variables) == ["week_name", "reviewer", "today_2", "kind", "tags", "budget"]
    assert found.variables["today_2"].required is False
    assert found.variables["kind"].values == ["work", "home"]
    conditions = {name: each.model_dump(by_alias=True, exclude_none=True) for name, each in found.conditions.items()}
    assert conditions == {
        "note_exists": {"path": "weekly/{{ week_name }}.md", "exists": True},
        "has_log": {"path": "weekly/{{ week_name }}.md", "section": "## Log", "exists": True},
        "is_done": {"path": "a.md", "property": "status", "equals": "done"},
        "unfiled": {"path": "a.md", "property": "filed", "exists": False},
    }
    steps = {each.id: each for each in found.steps}
    assert (steps["create_note"].when, steps["log"].when, steps["away"].when) == (
        ["not note_exists"],
        ["has_log"],
        ["is_done"],
    )
    assert steps["log"].args == {
        "path": "{{ steps.create_note.path }}",
        "section": "## Log",
        "content": "x",
        "position": "prepend",
        "format": "timestamp-bullet",
        "preserve_nesting": False,
    }
    assert steps["drop"].args["search"] == "[[{{ week_name }}]]"
    assert steps["swap"].args["replacement"] == "\\2 \\1 \\0 $"
    assert [(each.tool, each.args.get("action")) for each in found.steps] == [
        ("note_write", None),
        ("note_edit", None),
        ("note_edit", "remove"),
        ("note_edit", "replace"),
        ("tasks", "toggle"),
        ("tasks", "add"),
        ("note_edit", None),
        ("frontmatter_update", None),
        ("frontmatter_update", None),
        ("note_delete", None),
    ]
    assert found.output is not None
    assert found.output.summary == "{{ week_name }} is filed as {{ steps.create_note.path }}"


def test_what_a_step_inserts_comes_to_the_same_text() -> None:
    made = plan(REVIEW)
    (place,) = (place for place in made.templates if "create_note" in place and place.endswith(".content"))
    values = {
        "week_name": "W03",
        "today": "2026-03-01",
        "now": "2026-03-01T10:20:00+00:00",
        "tags": ["a", "b"],
        "kind": "",
    }
    assert made.templates[place].render(values) == (
        "# W03, {{ unknown }} on 2026-03-01 at 10:20\n\n{% not a block %} a, b work\n"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (policy(step("vault_search", query="x")), "steps.s: the tool vault_search has no counterpart"),
        (policy(step(content="{{steps.s.results}}")), "of a step, only its path is known"),
        (policy(step(content="{{a | reverse}}"), variables={"a": {"type": "string"}}), "the filter reverse has no"),
        (policy(step(content="{{a.b}}"), variables={"a": {"type": "string"}}), "a part of a variable"),
        (policy(step(content="{{conditions.c}}")), "a condition cannot be written out"),
        (policy({**step(), "when": "{{a}}"}), "when {{a}} names no condition"),
        (policy({**step(), "when": "{{conditions.gone}}"}), "names no condition"),
        (policy(step(path=None)), "path is missing"),
        (policy(step(), step()), "two have the same id"),
        (policy(*({**step(), "id": f"s{n}"} for n in range(51))), "has 51 steps"),
        (policy(), "has 0 steps"),
        (policy(step(), name="***"), "has no name"),
        (policy(step(), variables={"a": {"type": "date"}}), "variables.a: the type date is not known"),
        (policy(step(), conditions=[{"id": "c", "check": "tag_exists", "path": "a"}]), "the check tag_exists is not"),
        (policy(step("vault_toggle_task", task="x")), "cannot be toggled by its section"),
        (policy(step("vault_add_frontmatter_field", key="{{a}}", value=1)), "must be written out"),
        ("steps: [", "cannot be read: line"),
        ("- a\n- b", "cannot be read"),
    ],
)
def test_what_has_no_counterpart_is_said(text: str, reason: str) -> None:
    with pytest.raises(PolicyUnsayable) as caught:
        to_policy(text)
    assert reason in str(caught.value)


def test_everything_that_has_no_counterpart_is_said_at_once() -> None:
    with pytest.raises(PolicyUnsayable) as caught:
        to_policy(policy({**step("vault_search"), "id": "a"}, {**step("vault_search"), "id": "b"}))
    assert "steps.a: " in str(caught.value)
    assert "steps.b: " in str(caught.value)


def test_variables_that_are_only_a_value_have_it_as_default() -> None:
    found = plan(policy(step(content="{{date}} {{variables.date}}"), variables={"date": "{{today}}"})).policy
    assert found.variables["date"].default == "{{ today }}"
    assert found.steps[0].args["content"] == "{{ today }} {{ date }}"


def test_names_stay_apart() -> None:
    assert to_names(["weekName", "week-name", "week_name", "2nd", "item", "", "ü"], ["n_2nd"]) == {
        "weekName": "week_name",
        "week-name": "week_name_2",
        "week_name": "week_name_3",
        "2nd": "n_2nd_2",
        "item": "item_2",
        "": "unnamed",
        "ü": "unnamed_2",
    }


@given(st.text(alphabet="a{}%#'\\\n |.x", max_size=40))
def test_a_text_without_variables_comes_to_itself(text: str) -> None:
    made = to_template(text, PolicyNames({}, {}, {}))
    assert compile_template(made, "place").render({}) == text if "{{" in made else made == text
