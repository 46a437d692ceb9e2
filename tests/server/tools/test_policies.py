"""Written procedures: seen, tried, run as one change, and written by those who may.

Covers vaults.domain.notes.policy_paths.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from auth.roles import Role
from server.services import Services
from tests.conftest import Asking
from tests.noted import folder, indexed, put
from tests.people import person, rows
from vaults.domain.actors import Actor
from vaults.domain.notes.commit.journal import NoteChange
from vaults.domain.notes.commit.transaction import CommittedChange, commit
from vaults.domain.policies import runner
from vaults.vault import Vault

EXAMPLES = Path(__file__).parents[3] / "docs" / "policies"

HEAD = 'version: "1.0"\nname: {name}\ndescription: A procedure\n'


def policy(body: str, name: str = "chore") -> str:
    return HEAD.format(name=name) + body


CHORE = policy("""\
variables:
  word: {type: string, required: true, max: 20}
  rest: {type: array, default: []}
  sure: {type: boolean, default: false}
steps:
  - id: made
    tool: note_write
    args: {path: "made/{{ word | slug }}", content: "# {{ word }}"}
  - id: add
    tool: tasks
    each: rest
    args: {action: add, path: "{{ steps.made.path }}", text: "{{ index }} {{ item }}"}
  - id: log
    tool: note_edit
    args: {path: log.md, section: Log, content: "[[{{ word | slug }}]] by {{ caller }}", format: bullet}
  - id: mark
    tool: frontmatter_update
    when: sure
    args: {path: log.md, set: {count: "{{ rest | length }}", last: "{{ word }}"}}
output: {summary: "{{ steps.add.times }} tasks"}
""")

NOTES = {"log.md": "---\nstatus: open\n---\n# Diary\n\n## Log\n\n- first\n", "plan.md": "# Plan\n\n- [ ] one\n"}


@pytest.fixture
async def root(services: Services) -> Path:
    place = folder(services.data)
    put(place, {**NOTES, "policies/chore.yaml": CHORE})
    await indexed(services, len(NOTES))
    return place


def files_of(root: Path) -> dict[str, bytes]:
    return {str(each.relative_to(root)): each.read_bytes() for each in root.rglob("*") if each.is_file()}


async def test_the_shelf_says_what_there_is_and_what_is_wrong_with_it(ask: Asking, root: Path) -> None:
    put(root, {
        "policies/broken.yaml": policy("steps: [{id: a, tool: remember, args: {content: x}}]\n", "broken"),
        "policies/Odd Name.yaml": "x", "policies/bytes.yaml": b"\xff\xfe", "policies/.hidden.yaml": "x",
        "policies/other.yaml": policy("steps: [{id: a, tool: note_edit, args: {path: a, content: b}}]\n", "another"),
        "policies/readme.md": "About them", "policies/long.yaml": "#" * 70_000,
    })  # fmt: skip
    (root / "policies/link.yaml").symlink_to("/etc/passwd")
    listed = await ask("policies")
    found = {each["name"]: each for each in listed.content["policies"]}
    assert set(found) == {"Odd Name", "broken", "bytes", "chore", "link", "long", "other"}
    assert [each["name"] for each in found["chore"]["variables"]] == ["word", "rest", "sure"]
    assert found["chore"]["steps"] == ["note_write", "tasks", "note_edit", "frontmatter_update"]
    problems = {name: each.get("problem", "") for name, each in found.items()}
    assert not problems["chore"]
    assert "steps.a: tool 'remember' is none a step may call" in problems["broken"]
    assert "must be other" in problems["other"]
    assert "UTF-8" in problems["bytes"]
    assert "65,536" in problems["long"]
    assert problems["link"]
    assert "passwd" not in listed.text
    for name in ("broken", "other", "link"):
        refused = await ask("policies", action="execute", name=name)
        assert refused.code == "invalid_argument", refused.text
    missing = await ask("policies", action="preview", name="nothing")
    assert missing.code == "not_found"
    assert "chore" in missing.text


async def test_a_preview_shows_a_reader_the_diff_and_writes_nothing(services: Services, root: Path) -> None:
    reader = await person(services, "rita", Role.READER)
    before = files_of(root)
    shown = await reader("policies", action="preview", name="chore", variables={"word": "Big Trip", "rest": ["a", 7]})
    assert shown.ok, shown.text
    assert shown.content["paths"] == ["made/big-trip.md", "log.md"]
    assert "+- [ ] 2 7" in shown.content["diff"]
    assert "+- [[big-trip]] by rita" in shown.content["diff"]
    assert shown.content["summary"] == "2 tasks"
    assert shown.content["changed"] is False
    assert [each.get("skipped") for each in shown.content["steps"]] == [None, None, None, "sure"]
    assert files_of(root) == before
    text = (await reader("policies", action="show", name="chore")).content
    assert text["content"] == CHORE
    for action in ("execute", "author", "revise", "delete"):
        refused = await reader("policies", action=action, name="chore", content=CHORE, variables={"word": "x"})
        assert refused.code == "forbidden", action


async def test_a_run_is_one_change_that_is_taken_back_as_one(services: Services, root: Path) -> None:
    writer = await person(services, "wim")
    before = files_of(root)
    given = {"word": "{{ today }}", "rest": ["{% x %}"], "sure": True}
    done = await writer("policies", action="execute", name="chore", variables=given)
    assert done.ok, done.text
    assert (root / "made/today.md").read_text() == "# {{ today }}\n- [ ] 1 {% x %}\n"
    assert "count: 1" in (root / "log.md").read_text()
    assert "[[today]] by wim" in (root / "log.md").read_text()
    assert await rows(services, "SELECT count(*) FROM note_changes") == [(1,)]
    history = (await writer("history")).content["changes"][0]
    assert (history["id"], history["tool"], history["summary"]) == (
        done.content["change"], "policies", "ran the policy chore"
    )  # fmt: skip
    assert await rows(services, "SELECT summary FROM events WHERE tool = 'policies'") == [("ran the policy chore",)]
    assert (await writer("history", action="undo", ref=done.content["change"])).ok
    after = files_of(root)
    assert after == before


FAILING = policy("""\
steps:
  - {id: one, tool: note_write, args: {path: new/one, content: x}}
  - {id: two, tool: note_edit, args: {path: log.md, content: y}}
  - {id: three, tool: note_move, args: {path: plan.md, to: archive/}}
  - {id: four, tool: tasks, args: {action: toggle, path: archive/plan.md, text: nowhere}}
  - {id: five, tool: note_delete, args: {path: log.md}}
  - {id: six, tool: note_edit, args: {path: log.md, content: z}}
  - {id: seven, tool: note_edit, args: {path: plan.md, content: z}}
""")


async def test_a_step_that_fails_leaves_every_byte_as_it_was(ask: Asking, services: Services, root: Path) -> None:
    put(root, {"policies/chore.yaml": FAILING})
    before = files_of(root)
    for action in ("execute", "preview"):
        failed = await ask("policies", action=action, name="chore", confirm=True)
        assert failed.code == "not_found"
        error = failed.content["error"]
        assert error["message"].startswith("step 4 of 7 (four): ")
        assert error["message"].endswith("nothing was changed")
        assert error["details"]["step"] == "four"
    assert files_of(root) == before
    assert await rows(services, "SELECT count(*) FROM note_changes") == [(0,)]


async def test_later_steps_see_what_earlier_ones_moved_and_removed(ask: Asking, root: Path) -> None:
    put(root, {"from.md": "See [[plan]] and [p](plan.md).\n"})
    body = """\
steps:
  - {id: link, tool: note_write, args: {path: new/one, content: "[p](../plan.md)"}}
  - {id: move, tool: note_move, args: {path: plan.md, to: archive/the plan.md}}
  - {id: done, tool: tasks, args: {action: toggle, path: "{{ steps.move.path }}", text: one}}
  - {id: gone, tool: note_delete, args: {path: log.md}}
  - {id: again, tool: note_write, args: {path: log.md, content: anew}}
"""
    put(root, {"policies/chore.yaml": policy(body)})
    await ask("note_edit", path="from", content="indexed")
    done = await ask("policies", action="execute", name="chore")
    assert done.ok, done.text
    assert (root / "archive/the plan.md").read_text() == "# Plan\n\n- [x] one\n"
    assert (root / "new/one.md").read_text() == "[p](../archive/the%20plan.md)\n"
    assert (root / "from.md").read_text().startswith("See [[the plan]] and [p](archive/the%20plan.md).")
    assert (root / "log.md").read_text() == "anew\n"
    for path in ("plan.md", "log.md"):
        step = "{{id: x, tool: note_edit, args: {{path: {}, content: y}}}}"
        tried = policy(f"steps: [{{id: d, tool: note_delete, args: {{path: from.md}}}}, {step.format('from.md')}]\n")
        put(root, {"policies/chore.yaml": tried})
        assert (await ask("policies", action="preview", name="chore")).code == "not_found", path
    assert (await ask("history", action="undo")).ok
    assert (root / "plan.md").read_text() == NOTES["plan.md"]
    assert (root / "log.md").read_text() == NOTES["log.md"]


async def test_notes_are_deleted_only_when_a_person_agreed(ask: Asking, services: Services, root: Path) -> None:
    put(root, {"policies/chore.yaml": policy("steps: [{id: a, tool: note_delete, args: {path: plan.md}}]\n")})
    refused = await ask("policies", action="execute", name="chore")
    assert refused.code == "confirmation_required"
    assert refused.content["error"]["details"]["paths"] == ["plan.md"]
    assert (root / "plan.md").exists()
    done = await ask("policies", action="execute", name="chore", confirm=True)
    assert done.ok, done.text
    assert not (root / "plan.md").exists()
    spec = services.registry.get("policies")
    assert spec is not None
    assert spec.action_of({"action": "execute", "confirmed": True}).destroys
    assert spec.action_of({"action": "delete"}).destroys
    assert not spec.action_of({"action": "execute"}).destroys
    assert spec.is_dry_run({"action": "execute", "confirmed": True, "dry_run": True})


async def test_a_save_outside_has_the_run_begun_again_once(
    ask: Asking, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saves = ["theirs\n\n## Log\n"]

    async def after_a_save(vault: Vault, actor: Actor, change: NoteChange) -> CommittedChange:
        if saves:
            put(root, {"log.md": saves.pop()})
        return await commit(vault, actor, change)

    monkeypatch.setattr(runner, "commit", after_a_save)
    done = await ask("policies", action="execute", name="chore", variables={"word": "one"})
    assert done.ok, done.text
    assert (root / "log.md").read_text() == "theirs\n\n## Log\n- [[one]] by owner\n"
    saves += ["mine\n\n## Log\n", "yours\n\n## Log\n"]
    before = files_of(root)
    refused = await ask("policies", action="execute", name="chore", variables={"word": "two"})
    assert refused.code == "conflict"
    assert files_of(root) == {**before, "log.md": b"mine\n\n## Log\n"}


async def test_two_runs_never_mix(services: Services, root: Path) -> None:
    people = [await person(services, f"p{number}") for number in range(4)]
    done = await asyncio.gather(
        *(
            ask(
                "policies",
                action="execute",
                name="chore",
                variables={"word": f"w{number}", "rest": ["x"], "sure": True},
            )
            for number, ask in enumerate(people)
        )
    )
    assert all(each.ok for each in done), [each.text for each in done]
    log = (root / "log.md").read_text()
    assert [log.count(f"[[w{number}]] by p{number}") for number in range(4)] == [1] * 4


async def test_only_an_admin_writes_policies_and_they_are_checked_first(services: Services, root: Path) -> None:
    admin, writer = await person(services, "ada", Role.ADMIN), await person(services, "wim")
    text = policy("steps: [{id: a, tool: note_edit, args: {path: log.md, content: x}}]\n", "small")
    assert (await writer("policies", action="author", name="small", content=text)).code == "forbidden"
    for name, content in (
        ("small", text.replace("note_edit", "vaults")),
        ("other", text),
        ("../x", text),
        ("A b", text),
    ):
        refused = await admin("policies", action="author", name=name, content=content)
        assert refused.code == "invalid_argument", (name, refused.text)
    tried = await admin("policies", action="author", name="small", content=text, dry_run=True)
    assert tried.content == {"name": "small", "valid": True}
    assert not (root / "policies/small.yaml").exists()
    made = await admin("policies", action="author", name="small", content=text)
    assert made.ok, made.text
    assert (root / "policies/small.yaml").read_text() == text
    assert (await admin("policies", action="author", name="small", content=text)).code == "already_exists"
    assert (await writer("policies", action="execute", name="small")).ok
    newer = text.replace("content: x", "content: y")
    stale = await admin("policies", action="revise", name="small", content=newer, etag="0" * 16)
    assert stale.code == "conflict"
    assert stale.content["error"]["details"]["text"] == text
    assert (await admin("policies", action="revise", name="small", content=newer)).code == "conflict"
    assert (await admin("policies", action="revise", name="gone", content=newer)).code == "not_found"
    bad = await admin("policies", action="revise", name="small", content="nonsense", etag=made.content["etag"])
    assert bad.code == "invalid_argument"
    revised = await admin("policies", action="revise", name="small", content=newer, etag=made.content["etag"])
    assert revised.ok, revised.text
    assert (root / "policies/small.yaml").read_text() == newer
    assert (await admin("policies", action="delete", name="small")).code == "confirmation_required"
    tried = await admin("policies", action="delete", name="small", dry_run=True, confirm=True)
    assert "It is as it was." in tried.text
    assert (await admin("policies", action="delete", name="small", confirm=True)).ok
    assert (await admin("policies", action="delete", name="small", confirm=True)).code == "not_found"
    assert await rows(services, "SELECT who, action, target FROM audit ORDER BY seq") == [
        ("local|ada", "policy authored", "small"),
        ("local|ada", "policy revised", "small"),
        ("local|ada", "policy deleted", "small"),
    ]


async def test_nobody_writes_a_policy_through_the_back_door(services: Services, root: Path) -> None:
    admin, writer = await person(services, "ada", Role.ADMIN), await person(services, "wim")
    text = policy("steps: [{id: a, tool: note_edit, args: {path: log.md, content: x}}]\n", "small")
    made = (await admin("policies", action="author", name="small", content=text)).content["change"]
    gone = (await admin("policies", action="delete", name="small", confirm=True)).content["change"]
    for arguments in (
        {"action": "undo", "ref": gone},
        {"action": "restore", "ref": made},
        {"action": "restore", "path": "policies/small.yaml", "version": "before"},
        {"action": "restore", "path": "POLICIES/small.YAML", "ref": made},
    ):
        refused = await writer("history", **arguments)
        assert refused.code in ("forbidden", "invalid_argument"), (arguments, refused.text)
        assert not (root / "policies/small.yaml").exists()
    assert (await writer("history", action="restore", ref=made)).code == "forbidden"
    logged = await writer("history", path="policies/small.yaml")
    assert [each["summary"] for each in logged.content["changes"]] == [
        "deleted the policy small", "authored the policy small"
    ]  # fmt: skip
    for path in ("policies/new.yaml", "policies/../policies/new.yaml"):
        await writer("note_write", path=path, content=text)
    await writer("note_move", path="log.md", to="policies/new.yaml")
    assert not list(root.glob("policies/*new*.yaml"))
    assert (await admin("history", action="undo", ref=gone)).ok
    assert (root / "policies/small.yaml").read_text() == text


@pytest.mark.parametrize("name", ["weekly-review", "meeting-note", "archive-project"])
async def test_the_policies_of_the_documentation_run(ask: Asking, root: Path, name: str) -> None:
    put(root, {f"policies/{name}.yaml": (EXAMPLES / f"{name}.yaml").read_text()})
    put(root, {
        "templates/weekly-review.md": "# {{title}}\n\n{{content}}\n", "projects/apollo scratch.md": "x\n",
        "projects/apollo.md": "# Apollo\n", "projects/index.md": "## Active\n\n- [[apollo]]\n- [[zeus]]\n",
    })  # fmt: skip
    assert (await ask("policies", action="validate", name=name)).content["valid"] is True
    variables: Mapping[str, Mapping[str, Any]] = {
        "weekly-review": {"day": "2026-11-18"},
        "meeting-note": {"subject": "Apollo", "people": ["Ana"], "actions": ["call"], "day": "2026-11-18"},
        "archive-project": {"project": "apollo", "outcome": "dropped"},
    }
    before = files_of(root)
    shown = await ask("policies", action="preview", name=name, variables=variables[name])
    assert shown.ok, shown.text
    assert files_of(root) == before
    done = await ask("policies", action="execute", name=name, variables=variables[name], confirm=True)
    assert done.ok, done.text
    assert sorted(done.content["paths"]) == sorted(shown.content["paths"])
    expected = {
        "weekly-review": ("reviews/index.md", "# Reviews\n- [[2026-W47]]\n"),
        "meeting-note": ("projects/apollo.md", "# Apollo\n## Meetings\n- [[2026-11-18 apollo]]\n"),
        "archive-project": ("projects/index.md", "## Active\n\n- [[zeus]]\n"),
    }
    path, text = expected[name]
    assert (root / path).read_text() == text
    assert (await ask("history", action="undo", ref=done.content["change"])).ok
    assert files_of(root) == before
