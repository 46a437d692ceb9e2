"""``frontmatter_update`` and ``tasks`` through the door: the lines that are meant, and no others.

Covers vaults.domain.notes.edit.frontmatter_edits, vaults.domain.notes.edit.task_changes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, asker, local
from tests.noted import folder, indexed, put
from tests.people import give_role

NOTE = (
    b"---\r\n# mine\r\ntitle: 'A'   # why\r\ntags:\r\n  - x\r\n---\r\n"
    b"# A\r\n- [ ] milk #shop\r\n  - [x] oats\r\n- [ ] tea"
)


@pytest.fixture
async def root(services: Services, tmp_path: Path) -> Path:
    root = folder(tmp_path)
    put(root, {"a.md": NOTE, "deep/b.md": "## Work\n- [/] report 📅 2026-03-01\n- [ ] call\n"})
    await indexed(services, 2)
    return root


async def test_only_the_lines_of_a_key_change(ask: Asking, root: Path) -> None:
    done = await ask("frontmatter_update", path="a", set={"status": "done", "tags": ["x", "z"]}, unset=["title"])
    assert done.ok, done.text
    before = b"title: 'A'   # why\r\ntags:\r\n  - x\r\n"
    after = b"tags:\r\n  - x\r\n  - z\r\nstatus: done\r\n"
    assert (root / "a.md").read_bytes() == NOTE.replace(before, after)
    assert done.content["first_line"] == 3
    assert done.content["region"].endswith("status: done")
    found = await ask("search", query="milk", where={"status": "done"}, mode="keyword")
    assert [hit["title"] for hit in found.content["hits"]] == ["a"] or found.content["total"] == 1


async def test_keys_that_are_there_may_be_left(ask: Asking, root: Path) -> None:
    kept = await ask("frontmatter_update", path="a", set={"title": "B"}, only_if_missing=True)
    assert kept.content["changed"] is False
    assert "was kept" in kept.content["warnings"][0]
    assert (root / "a.md").read_bytes() == NOTE
    set_again = await ask("frontmatter_update", path="a", set={"title": "A"})
    assert set_again.content["changed"] is False
    shown = await ask("frontmatter_update", path="a", set={"title": "B"}, dry_run=True)
    assert "+title: 'B'" in shown.content["diff"]
    assert (root / "a.md").read_bytes() == NOTE


async def test_odd_properties_are_refused(ask: Asking, root: Path) -> None:
    nested: object = []
    for _ in range(200):
        nested = [nested]
    for arguments in ({}, {"set": {"a": nested}}, {"set": {"a": "\ud800"}}, {"set": {"a": 1}, "unset": ["a"]}):
        refused = await ask("frontmatter_update", path="a", **arguments)
        assert refused.code == "invalid_argument", arguments
    put(root, {"broken.md": "---\na: [1\n---\n"})
    assert (await ask("frontmatter_update", path="broken", set={"b": 1})).code == "conflict"
    stale = await ask("frontmatter_update", path="a", set={"b": 1}, etag="0" * 16, keep_conflict=True)
    assert stale.code == "conflict"
    assert (root / stale.content["error"]["details"]["kept"]).read_text() == "---\nb: 1\n---\n"
    assert (root / "a.md").read_bytes() == NOTE


async def test_tasks_are_listed(ask: Asking, root: Path) -> None:
    everything = (await ask("tasks", status="all")).content
    assert [(task["path"], task["status"], task["text"]) for task in everything["tasks"]] == [
        ("a.md", " ", "milk #shop"),
        ("a.md", "x", "oats"),
        ("a.md", " ", "tea"),
        ("deep/b.md", "/", "report 📅 2026-03-01"),
        ("deep/b.md", " ", "call"),
    ]
    assert everything["total"] == 5
    assert (await ask("tasks", path="a")).content["total"] == 2
    assert (await ask("tasks", folder="deep", due_before="2026-03-02")).content["tasks"][0]["due"] == "2026-03-01"
    assert (await ask("tasks", tag="shop")).content["total"] == 1
    page = (await ask("tasks", status="all", limit=2)).content
    assert page["truncated"]
    assert (await ask("tasks", status="all", limit=2, cursor=page["cursor"])).content["tasks"][0]["text"] == "tea"


async def test_setting_a_task_changes_one_character(ask: Asking, root: Path) -> None:
    done = await ask("tasks", action="toggle", path="a", text="milk")
    assert done.ok, done.text
    assert (root / "a.md").read_bytes() == NOTE.replace(b"[ ] milk", b"[x] milk")
    assert (done.content["first_line"], done.content["region"]) == (8, "- [x] milk #shop")
    assert (await ask("tasks", path="a")).content["total"] == 1
    back = await ask("tasks", action="toggle", path="a", line=8, etag=done.content["etag"])
    assert back.ok
    assert (root / "a.md").read_bytes() == NOTE
    cancelled = await ask("tasks", action="toggle", path="a", line=10, status="cancelled")
    assert cancelled.content["region"] == "- [-] tea"
    again = await ask("tasks", action="toggle", path="a", line=10, status="-")
    assert again.content["changed"] is False


async def test_a_task_that_cannot_be_meant_is_refused(ask: Asking, root: Path) -> None:
    assert (await ask("tasks", action="toggle", path="a", line=7)).code == "not_found"
    assert (await ask("tasks", action="toggle", path="a", line=8, text="tea")).code == "conflict"
    assert (await ask("tasks", action="toggle", path="a", text="butter")).code == "not_found"
    assert (await ask("tasks", action="toggle", path="a")).code == "invalid_argument"
    assert (await ask("tasks", action="toggle", line=1)).code == "invalid_argument"
    assert (await ask("tasks", action="toggle", path="a", line=8, status="[")).code == "invalid_argument"
    assert (await ask("tasks", action="add", path="a", text="two\nlines")).code == "invalid_argument"
    assert (await ask("tasks", action="add", path="a", text="x", due="tomorrow")).code == "invalid_argument"
    assert (root / "a.md").read_bytes() == NOTE


async def test_a_task_is_added_after_the_others(ask: Asking, root: Path) -> None:
    done = await ask("tasks", action="add", path="deep/b", section="Work", text="write", due="2026-04-01")
    assert done.ok, done.text
    text = (root / "deep/b.md").read_text()
    assert text.endswith("- [ ] call\n- [ ] write 📅 2026-04-01\n")
    listed = (await ask("tasks", path="deep/b", due_after="2026-04-01")).content["tasks"]
    assert [(task["line"], task["heading"], task["due"]) for task in listed] == [(4, "Work", "2026-04-01")]
    done = await ask("tasks", action="add", path="deep/b", section="Work", text="done already", status="done")
    assert done.content["region"] == "- [x] done already"
    daily = await ask("tasks", action="add", path="@daily:2026-05-01", text="begin", section="Tasks")
    assert (root / daily.content["path"]).read_text() == "## Tasks\n- [ ] begin\n"
    shown = await ask("tasks", action="add", path="a", text="later", dry_run=True)
    assert "+- [ ] later" in shown.content["diff"]


@pytest.mark.parametrize(
    ("arguments", "field", "said"),
    [
        ({"action": "toggle", "path": "a"}, "line", "line or text must be given"),
        ({"action": "add", "path": "a", "text": "x", "due": "2026-02-31"}, "due", "a day of the calendar"),
        ({"due_after": "2026-13-01"}, "due_after", "a day of the calendar"),
        ({"due_before": "0000-01-01"}, "due_before", "a day of the calendar"),
        ({"action": "add", "path": "a", "text": "  "}, "text", "text is needed"),
        ({"action": "add", "path": "a", "text": "- [ ]"}, "text", "text is needed"),
    ],
)
async def test_what_is_wrong_with_a_task_is_said_in_the_words_of_the_tool(
    ask: Asking, root: Path, arguments: dict[str, str], field: str, said: str
) -> None:
    refused = await ask("tasks", **arguments)
    assert refused.content["error"]["details"]["field"] == field
    assert said in refused.text
    assert (root / "a.md").read_bytes() == NOTE


async def test_a_task_copied_with_its_box_gets_one_box(ask: Asking, root: Path) -> None:
    for text, box in (("- [ ] already", "- [ ]"), ("1. [x] already", "1. [x]"), ("[/] already", "[/]")):
        added = await ask("tasks", action="add", path="a", text=text)
        assert added.content["region"] == "- [ ] already"
        assert f"a box of its own, {box}, which is left out" in added.text
    plain = await ask("tasks", action="add", path="a", text="[link](b.md) [x]")
    assert (plain.content["region"], "warnings" in plain.content) == ("- [ ] [link](b.md) [x]", False)


async def test_readers_list_and_do_no_more(services: Services, root: Path) -> None:
    await give_role(services, "ro", Role.READER)
    ask = asker(services, Caller(local("ro"), "main", Role.ADMIN, "http"))
    assert (await ask("tasks", status="all")).content["total"] == 5
    assert (await ask("tasks", action="toggle", path="a", line=8)).code == "forbidden"
    assert (root / "a.md").read_bytes() == NOTE
