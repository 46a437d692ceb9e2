"""Fields and tags of a whole vault: read by readers, changed by writers as one change that goes back to the byte.

Covers vaults.domain.notes.edit.many_notes, vaults.domain.schema.bulk_edits, vaults.domain.schema.renames,
vaults.domain.schema.reports.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from auth.roles import Role
from tests.conftest import Asking, Opening
from tests.people import person
from tests.server.rendering.answers import is_told, outside
from tests.vaults.domain.notes.notes_desk import Desk, desk_in

BOMB = "---\na: &a [x,x]\nb: [*a,*a]\nstatus: open\n---\n#work\n"
NOTES: dict[str, str | bytes] = {
    **{
        f"p/note-{n}.md": f"---\n# {n}\ntype: task\nstatus:  open  # now\ntags: [ work/a,x ]\n---\n#work\n"
        for n in range(6)
    },
    "p/dos.md": b"\xef\xbb\xbf---\r\nstatus: 'open'\r\ntags:\r\n- work # main\r\n---\r\n#work/b `#work`\r\n",
    "p/both.md": "---\nstatus: open\nstate: done\n---\n",
    "p/same.md": "---\nstatus: open\nstate: open\n---\n",
    "q/odd.md": "---\nstatus: [opn, 3]\n---\n",
    "bomb.md": BOMB,
    "none.md": "#work\n# status: open\n",
}


@pytest.fixture
async def desk(opening: Opening) -> AsyncIterator[Desk]:
    async with desk_in(opening) as opened:
        await opened.put(NOTES)
        yield opened


async def test_a_reader_sees_fields_tags_values_folders_and_what_is_usual(desk: Desk) -> None:
    rob = await person(desk.services, "rob", Role.READER)
    told = await rob("schema")
    fields = {each["name"]: each for each in told.content["fields"]}
    assert (fields["status"]["notes"], fields["status"]["types"]) == (10, {"string": 9, "list": 1})
    assert {each["tag"]: each["notes"] for each in told.content["tags"]} == {
        "work": 8,
        "work/a": 6,
        "x": 6,
        "work/b": 1,
    }
    assert "bomb.md" in told.content["warnings"][0]
    assert is_told(told.text, "name status", "type mixed", "notes 10")
    assert is_told(told.text, "types: string 9, list 1")
    assert is_told(told.text, "examples: open")
    values = (await rob("schema", action="field_values", field="status")).content["values"]
    assert [(each["value"], each["notes"]) for each in values] == [("open", 9), ("3", 1), ("opn", 1)]
    folders = (await rob("schema", action="folders", folder="p")).content["folders"]
    assert [(each["folder"], each["notes"], each["type"]) for each in folders[-1:]] == [("p", 9, "task")]
    root = await rob("schema", action="folders")
    assert root.content["folders"][0]["folder"] == "/"
    assert is_told(root.text, "folder /, notes ")
    habits = await rob("schema", action="conventions", folder="p")
    by_rule = {(each["rule"], each.get("field")): each for each in habits.content["conventions"]}
    there = by_rule["required", "status"]
    assert (there["share"], "others" in there) == (1.0, False)
    assert is_told(habits.text, "rule required", "field status", "share 1.0", "notes 9")
    for action in ("rename_field", "rename_tag", "migrate"):
        assert (
            await rob("schema", action=action, field="status", to="x", tag="work", mapping={"open": 1})
        ).code == "forbidden"


async def test_validation_goes_by_the_rules_given_the_nearest_written_ones_or_habit(desk: Desk) -> None:
    ask = desk.ask
    page = await desk.done("schema", action="validate", rules={"fields": {"type": {"required": True}}}, limit=3)
    more = await desk.done(
        "schema", action="validate", rules={"fields": {"type": {"required": True}}}, limit=3, cursor=page["cursor"]
    )
    paths = [each["path"] for each in (*page["violations"], *more["violations"])]
    assert paths == ["none.md", "p/both.md", "p/dos.md", "p/same.md", "q/odd.md"]
    assert ("cursor" in more, page["total"]) == (False, 5)
    told = await ask("schema", action="validate", rules={"fields": {"type": {"required": True}}}, limit=1)
    assert "1 of 5 rows." in outside(told.text)[0]
    assert f"- There is more: pass cursor {told.content['cursor']}" in outside(told.text)
    await desk.put(
        {"_schema.md": "---\nfields: {status: {enum: [open]}}\n---\n", "p/_schema.md": "---\ntags: [x]\n---\n"}
    )
    found = (await desk.done("schema", action="validate"))["violations"]
    assert {(each["path"], each["against"]) for each in found} == {
        ("p/both.md", "p/_schema.md"), ("p/dos.md", "p/_schema.md"), ("p/same.md", "p/_schema.md"),
        ("q/odd.md", "_schema.md"),
    }  # fmt: skip
    below = (await desk.done("schema", action="validate", folder="q"))["violations"]
    assert [each["suggestion"] for each in below if "suggestion" in each] == ["open"]
    await desk.put({"p/_schema.md": "---\nfields: {status: 3}\n---\n"})
    told = await ask("schema", action="validate")
    assert any("p/_schema.md is no schema" in each for each in told.content["warnings"])


@pytest.mark.parametrize(
    ("arguments", "changed"),
    [
        ({"action": "rename_field", "field": "status", "to": "stage"}, 10),
        ({"action": "rename_tag", "tag": "#work", "to": "job/main"}, 8),
        ({"action": "migrate", "field": "status", "mapping": {"open": "to do", "3": True}}, 10),
        ({"action": "migrate", "field": "status", "to_type": "list", "folder": "p"}, 9),
    ],
)
async def test_a_change_of_many_notes_is_shown_first_made_as_one_and_undone_to_the_byte(
    desk: Desk, arguments: dict[str, object], changed: int
) -> None:
    before = desk.digests()
    wes = await person(desk.services, "wes")
    shown = await wes("schema", **arguments)
    assert (shown.content["changed"], "change" in shown.content, desk.digests()) == (changed, False, before)
    assert shown.content["diff"].startswith("--- a/")
    made = await wes("schema", **arguments, dry_run=False)
    assert made.content["changed"] == changed
    assert made.content["change"] in made.text
    after = desk.digests()
    assert sum(after[path] != before[path] for path in before) == changed
    assert after["bomb.md"] == before["bomb.md"]
    assert any("bomb.md" in each for each in made.content.get("warnings", ())) or "folder" in arguments
    assert (await wes("schema", **arguments)).content["changed"] == 0
    assert (await wes("history", action="undo", ref=made.content["change"])).ok
    assert desk.digests() == before


async def test_only_what_was_meant_is_written(desk: Desk) -> None:
    await desk.done("schema", action="rename_tag", tag="work", to="job", dry_run=False)
    assert (desk.root / "p/dos.md").read_bytes() == (
        b"\xef\xbb\xbf---\r\nstatus: 'open'\r\ntags:\r\n- job # main\r\n---\r\n#job/b `#work`\r\n"
    )
    await desk.done("schema", action="migrate", field="status", mapping={"open": "shut"}, dry_run=False)
    assert desk.text("p/note-1.md") == "---\n# 1\ntype: task\nstatus:  shut  # now\ntags: [ job/a,x ]\n---\n#job\n"
    assert [each["tag"] for each in (await desk.done("schema"))["tags"]] == ["job", "job/a", "x", "job/b"]


async def test_a_key_that_is_there_already_is_told_of_and_touched_only_as_said(desk: Desk) -> None:
    asked = {"action": "rename_field", "field": "status", "to": "state"}
    shown = await desk.done("schema", **asked)
    assert (shown["conflicts"], shown["changed"]) == (["p/both.md"], 9)
    refused = await desk.ask("schema", **asked, dry_run=False)
    assert (refused.code, refused.content["error"]["details"]["paths"]) == ("conflict", ["p/both.md"])
    assert desk.text("p/same.md") == NOTES["p/same.md"]
    for how, both in (
        ("skip", NOTES["p/both.md"]),
        ("keep", "---\nstate: done\n---\n"),
        ("replace", "---\nstate: open\n---\n"),
    ):
        made = await desk.done("schema", **asked, dry_run=False, on_conflict=how)
        assert (desk.text("p/both.md"), desk.text("p/same.md")) == (both, "---\nstate: open\n---\n")
        await desk.done("history", action="undo", ref=made["change"])


async def test_what_cannot_become_a_type_stays_and_is_named(desk: Desk) -> None:
    made = await desk.done("schema", action="migrate", field="status", to_type="number", dry_run=False)
    assert (made["changed"], "change" in made) == (0, False)
    assert "p/both.md was left alone: 'open' is no number" in made["warnings"]


async def test_ten_thousand_tags_a_note_is_not_slow_for(desk: Desk) -> None:
    await desk.put(
        {"many.md": "\n".join(f"#work/{n}" for n in range(10_000)), "long.md": f"---\ntags: [{'a,' * 40_000}]\n---\n"}
    )
    made = await desk.done("schema", action="rename_tag", tag="work", to="job", folder=None, dry_run=False)
    assert made["changed"] == 9
    assert desk.text("many.md").startswith("#job/0\n#job/1\n")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"action": "field_values"}, "invalid_argument"),
        ({"action": "folders", "folder": "../x"}, "invalid_argument"),
        ({"action": "validate", "rules": {"fields": {"a": 1}}}, "invalid_argument"),
        ({"action": "validate", "cursor": "x"}, "invalid_argument"),
        ({"action": "rename_field", "field": "status"}, "invalid_argument"),
        ({"action": "rename_field", "field": "status", "to": "status"}, "invalid_argument"),
        ({"action": "rename_field", "field": "status", "to": "a\nb"}, "invalid_argument"),
        ({"action": "rename_tag", "tag": "a b", "to": "c"}, "invalid_argument"),
        ({"action": "rename_tag", "tag": "a", "to": "12"}, "invalid_argument"),
        ({"action": "migrate", "field": "status"}, "invalid_argument"),
        ({"action": "migrate", "field": "status", "mapping": {"a": {}}}, "invalid_argument"),
    ],
)
async def test_what_cannot_be_done_says_why(ask: Asking, arguments: dict[str, object], code: str) -> None:
    refused = (
        await ask("schema", **arguments, dry_run=False)
        if "dry_run" not in arguments
        else await ask("schema", **arguments)
    )
    assert refused.code == code, refused.text


async def test_a_name_close_to_a_field_is_offered(desk: Desk) -> None:
    found = await desk.ask("schema", action="field_values", field="stats")
    assert found.content["values"] == []
    assert "did you mean 'status'?" in found.text
