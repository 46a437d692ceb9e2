"""What a run of a written procedure looks at, what stops it, and the role each of its steps needs.

Covers vaults.domain.policies.results, vaults.domain.policies.runner.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from auth.roles import Role
from server.services import Services
from server.tools._steps import StepTools
from tests.conftest import Asking
from tests.noted import folder, indexed, put
from vaults.domain.policies import runner
from vaults.errors import Forbidden

HEAD = 'version: "1.0"\nname: chore\ndescription: A procedure\n'


def policy(body: str) -> str:
    return HEAD + body


def files_of(root: Path) -> dict[str, bytes]:
    return {str(each.relative_to(root)): each.read_bytes() for each in root.rglob("*") if each.is_file()}


@pytest.fixture
async def root(services: Services) -> Path:
    place = folder(services.data)
    put(place, {"log.md": "# Log\n", "plan.md": "# Plan\n\n- [ ] one\n"})
    await indexed(services, 2)
    return place


LOOKS = policy("""\
variables:
  place: {type: string, default: log.md}
  count: {type: number, default: 3}
collect:
  open: {path: "{{ place }}", tasks: open}
  under: {path: "{{ place }}", tasks: all, section: Later}
  words: {path: "{{ place }}", section: Words}
  status: {path: "{{ place }}", property: status}
  tags: {path: "{{ place }}", property: tags}
  absent: {path: nowhere.md, tasks: open}
  nothing: {path: nowhere.md, section: Words}
conditions:
  there: {path: "{{ place }}", exists: true}
  not_here: {path: nowhere.md, exists: false}
  elsewhere: {path: deep.md, exists: true}
  section: {path: "{{ place }}", section: Words, exists: true}
  no_section: {path: "{{ place }}", section: Nothing, exists: false}
  has_status: {path: "{{ place }}", property: status, exists: true}
  is_open: {path: "{{ place }}", property: status, equals: open}
  is_among: {path: "{{ place }}", property: status, in: [closed, "{{ 'open' }}"]}
  counted: {path: "{{ place }}", property: count, equals: "{{ count }}"}
  is_true: {path: "{{ place }}", property: one, equals: true}
steps:
""" + "".join(f"  - {{id: s_{name}, tool: note_edit, when: {name}, args: {{path: log.md, content: x}}}}\n" for name in (
    "there", "not_here", "elsewhere", "section", "no_section", "has_status", "is_open", "is_among", "counted",
    "is_true",
)) + """\
  - {id: moved, tool: note_delete, args: {path: "{{ place }}"}}
  - {id: still, tool: note_write, when: [there, not elsewhere], args: {path: new.md, content: "{{ count }}"}}
output:
  summary: >-
    {% for each in open %}{{ each.text }}@{{ each.line }}/{{ each.section }} {% endfor %}|
    {{ under | length }}|{{ words }}|{{ status }}|
    {{ tags | join('+') }}|{{ absent | length }}{{ nothing }}|{{ steps.s_elsewhere.changed }}
""")  # fmt: skip


async def test_conditions_and_what_is_collected_say_how_things_stood_before_the_first_step(
    ask: Asking, root: Path
) -> None:
    log = (
        "---\nstatus: open\ncount: 3\none: 1\ntags: [a, b]\n---\n# Log\n\n- [ ] one\n- [x] two\n\n```\n- [ ] code\n"
        "```\n\n## Words\n\nsaid\n\n## Later\n\n- [x] three\n- [ ] four\n"
    )
    put(root, {"log.md": log, "sub/deep.md": "x", "policies/chore.yaml": LOOKS})
    shown = await ask("policies", action="preview", name="chore")
    assert shown.ok, shown.text
    skipped = {each["id"]: each.get("skipped") for each in shown.content["steps"]}
    assert {name for name, why in skipped.items() if why} == {"s_elsewhere", "s_is_true"}
    assert shown.content["summary"].split("|") == [
        "one@9/Log four@23/Later ", " 2", "said", "open", " a+b", "0", "false"
    ]  # fmt: skip
    assert shown.content["paths"] == ["log.md", "new.md"]
    assert "+3\n" in shown.content["diff"]


REFUSED_WHILE_RUNNING = {
    "it writes policies": ("note_write", '{path: "{{ word }}/new.md", content: x}', "policies", "no policy writes"),
    "it writes policies by another name": (
        "note_write",
        '{path: "note://{{ word }}/a", content: x}',
        "policies",
        "writes",
    ),
    "it moves a note there": ("note_move", '{path: plan.md, to: "{{ word }}/"}', "policies", "no policy writes"),
    "it climbs": ("note_write", '{path: "{{ word }}/x.md", content: x}', "..", "'..'"),
    "it writes to a hidden place": ("note_write", '{path: "{{ word }}/x.md", content: x}', ".git", "hidden"),
    "its action is another": ("tasks", '{path: plan.md, action: "{{ word }}"}', "list", "add or toggle"),
    "its argument does not fit": (
        "note_edit",
        '{path: plan.md, content: x, position: "{{ word }}"}',
        "top",
        "position",
    ),
    "it comes to no path": ("note_edit", "{path: \"{{ word | replace('x', '') }}\", content: x}", "x", "path"),
}


@pytest.mark.parametrize("why", REFUSED_WHILE_RUNNING)
async def test_a_step_is_refused_for_what_its_templates_come_to(ask: Asking, root: Path, why: str) -> None:
    tool, args, word, reason = REFUSED_WHILE_RUNNING[why]
    first = "  - {id: one, tool: note_edit, args: {path: log.md, content: x}}\n"
    steps = f"{first}  - {{id: a, tool: {tool}, args: {args}}}\n"
    put(root, {"policies/chore.yaml": policy(f"variables: {{word: {{type: string}}}}\nsteps:\n{steps}")})
    before = files_of(root)
    refused = await ask("policies", action="execute", name="chore", variables={"word": word})
    assert refused.code == "invalid_argument", refused.text
    assert "step 2 of 2 (a)" in refused.text
    assert reason in refused.text
    assert files_of(root) == before


async def test_a_run_that_is_too_long_is_stopped(ask: Asking, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = "  - {{id: s{}, tool: note_edit, each: rest, args: {{path: log.md, content: x}}}}\n"
    put(root, {"policies/chore.yaml": policy(
        "variables: {rest: {type: array}}\nsteps:\n" + step.format(1) + step.format(2)
    )})  # fmt: skip
    before = files_of(root)
    many = await ask("policies", action="execute", name="chore", variables={"rest": ["x"] * 101})
    assert many.code == "invalid_argument"
    assert "more than 200 calls" in many.text
    monkeypatch.setattr(runner, "MAX_SECONDS", 0.0)
    late = await ask("policies", action="execute", name="chore", variables={"rest": ["x"]})
    assert late.code == "timeout"
    assert files_of(root) == before


async def test_each_step_needs_the_role_its_tool_needs(services: Services) -> None:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        call = SimpleNamespace(services=services, vault=vault)
        arguments = {"path": "a", "content": "b"}
        assert StepTools(call, Role.WRITER).bound("note_write", arguments)  # type: ignore[arg-type]
        assert StepTools(call).bound("note_write", arguments)  # type: ignore[arg-type]
        with pytest.raises(Forbidden, match="needs the role writer"):
            StepTools(call, Role.READER).bound("note_write", arguments)  # type: ignore[arg-type]
