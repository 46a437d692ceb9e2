"""What was done to notes: listed, shown, taken back, restored.

Covers vaults.domain.notes.commit.change_diffs, vaults.domain.notes.edit.reversals,
vaults.domain.notes.read.change_history.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from auth.roles import Role
from server.call import Caller
from tests.conftest import Opening, asker, local
from tests.people import give_role
from tests.vaults.domain.notes.notes_desk import Desk, desk_in
from vaults.domain.actors import Actor
from vaults.domain.notes.commit.journal import FileChange, NoteChange
from vaults.domain.notes.commit.transaction import commit


@pytest.fixture
async def desk(opening: Opening) -> AsyncIterator[Desk]:
    async with desk_in(opening) as made:
        yield made


OWNER, ALICE = Actor("owner", "owner", None), Actor("local|alice", "alice", None)


async def edit(desk: Desk, files: dict[str, str | None], actor: Actor = OWNER, tool: str = "note_edit") -> str:
    """A change of some files by one who has just read them."""
    tree = desk.vault.notes.tree
    async with desk.vault.notes.writing():
        changes = []
        for path, text in files.items():
            here = tree.read(path, 10_000_000) if tree.stamp(path) else None
            after = text.encode() if text is not None else None
            changes.append(FileChange(path, here.data if here else None, after, stamp=here.stamp if here else None))
        return (await commit(desk.vault, actor, NoteChange(tool, f"edited {', '.join(files)}", changes, "s1"))).id


async def listed(desk: Desk, **arguments: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await desk.done("history", **arguments))["changes"]
    return found


async def test_the_log_is_newest_first_and_goes_on_page_by_page(desk: Desk) -> None:
    ids = [await edit(desk, {"a.md": f"{number}\n", f"{number}.md": "x\n"}) for number in range(5)]
    assert [each["id"] for each in await listed(desk)] == ids[::-1]
    assert [each["id"] for each in await listed(desk, path="3")] == [ids[3]]
    first = (await listed(desk))[0]
    assert first["author"] == "owner"
    assert (first["tool"], first["session"], first["source"]) == ("note_edit", "s1", "journal")
    assert first["paths"] == ["a.md", "4.md"]
    pages, cursor = [], None
    while True:
        page = await desk.done("history", path="a", limit=2, **({"before": cursor} if cursor else {}))
        pages.append([each["id"] for each in page["changes"]])
        cursor = page.get("cursor")
        if not cursor:
            break
    assert pages == [ids[:2:-1], ids[2:0:-1], ids[:1]]
    unknown = await desk.ask("history", before="01900000-0000-7000-8000-000000000000")
    assert unknown.code == "not_found"


async def test_a_diff_shows_one_change_within_the_tokens_allowed(desk: Desk) -> None:
    await edit(desk, {"a.md": "one\n"})
    second = await edit(desk, {"a.md": "two\n", "b.md": "new\n" * 500})
    last = await desk.done("history", action="diff", path="a")
    assert last["ref"] == second
    assert last["diff"] == "--- a/a.md\n+++ b/a.md\n@@ -1 +1 @@\n-one\n+two\n"
    assert last["truncated"] is False
    whole = await desk.done("history", action="diff", ref=second, max_tokens=100)
    assert whole["truncated"] is True
    assert len(whole["diff"]) < 500
    assert (await desk.ask("history", action="diff", path="never")).code == "not_found"
    assert (await desk.ask("history", action="diff", ref=second, path="never")).code == "not_found"


async def test_undo_takes_the_callers_own_last_change_and_then_the_one_before(desk: Desk) -> None:
    await edit(desk, {"a.md": "1\n"})
    await edit(desk, {"a.md": "1\n2\n"})
    theirs = await edit(desk, {"a.md": "0\n1\n2\n"}, ALICE)
    await desk.done("history", action="undo")
    assert desk.text("a.md") == "0\n1\n"
    again = await desk.ask("history", action="undo")
    assert again.code == "conflict"  # it made the note, which holds another's line now
    await desk.done("history", action="undo", ref=theirs)
    assert desk.text("a.md") == "1\n"
    await desk.done("history", action="undo")
    assert not (desk.root / "a.md").exists()
    assert (await desk.ask("history", action="undo")).code == "not_found"
    log = await listed(desk, path="a")
    assert [bool(each.get("undone")) for each in log] == [False, False, False, True, True, True]
    assert log[0]["undoes"] == log[-1]["id"]


async def test_undoing_an_undo_does_it_again(desk: Desk) -> None:
    await edit(desk, {"a.md": "one\n"})
    change = await edit(desk, {"a.md": "two\n"})
    undone = await desk.done("history", action="undo", ref=change)
    assert desk.text("a.md") == "one\n"
    assert (await desk.ask("history", action="undo", ref=change)).code == "conflict"
    redone = await desk.done("history", action="undo", ref=undone["change"])
    assert desk.text("a.md") == "two\n"
    assert (await listed(desk))[0]["summary"] == "did again: edited a.md"
    await desk.done("history", action="undo", ref=redone["change"])
    assert desk.text("a.md") == "one\n"


async def test_an_undo_that_one_file_stands_against_changes_none(desk: Desk) -> None:
    await desk.put({"a.md": "a\n", "b.md": "b\n", "c.md": "c\n"})
    change = await edit(desk, {"a.md": "A\n", "b.md": "B\n", "c.md": "C\n"})
    (desk.root / "b.md").write_text("changed by hand\n")
    (desk.root / "c.md").unlink()
    before = desk.digests()
    outcome = await desk.ask("history", action="undo", ref=change)
    assert outcome.code == "conflict"
    error = outcome.content["error"]
    assert error["details"]["paths"] == ["b.md", "c.md"]
    assert "b.md" in error["message"]
    assert "restore" in error["hint"]
    assert desk.digests() == before


async def test_what_others_wrote_since_stays_also_where_the_note_was_moved(desk: Desk) -> None:
    await desk.put({"a.md": "1\n2\n3\n"})
    change = await edit(desk, {"a.md": "1\ntwo\n3\n"})
    (desk.root / "a.md").write_text("0\n1\ntwo\n3\n4\n")
    await desk.look()
    await desk.done("note_move", path="a", to="sub/b")
    dry = await desk.done("history", action="undo", ref=change, dry_run=True)
    assert dry["changed"] is False
    assert "-two" in dry["diff"]
    assert desk.text("sub/b.md") == "0\n1\ntwo\n3\n4\n"
    await desk.done("history", action="undo", ref=change)
    assert desk.text("sub/b.md") == "0\n1\n2\n3\n4\n"


async def test_a_deleted_note_does_not_come_back_over_another(desk: Desk) -> None:
    await desk.put({"a.md": "old\n"})
    await desk.done("note_delete", path="a", confirm=True)
    (desk.root / "A.md").write_text("new\n")
    assert (await desk.ask("history", action="undo")).code == "conflict"
    (desk.root / "A.md").rename(desk.root / "a.md")
    assert (await desk.ask("history", action="undo")).code == "conflict"
    assert desk.text("a.md") == "new\n"


async def test_a_move_is_not_taken_back_over_another_note(desk: Desk) -> None:
    await desk.put({"a.md": "old\n", "x.md": "[[a]]"})
    moved = await desk.done("note_move", path="a", to="b")
    (desk.root / "A.md").write_text("new\n")
    outcome = await desk.ask("history", action="undo", ref=moved["change"])
    assert outcome.code == "conflict"
    assert "A.md" in outcome.content["error"]["message"]
    assert desk.text("x.md") == "[[b]]"
    (desk.root / "A.md").rename(desk.root / "a.md")
    outcome = await desk.ask("history", action="undo", ref=moved["change"])
    assert outcome.code == "conflict"
    assert outcome.content["error"]["details"]["paths"] == ["b.md"]
    (desk.root / "a.md").unlink()
    await desk.done("note_move", path="b", to="B")
    again = await desk.ask("history", action="undo", ref=moved["change"])
    assert again.code == "conflict"
    assert desk.text("B.md") == "old\n"


async def test_a_version_is_restored_whatever_became_of_the_note(desk: Desk) -> None:
    first = await edit(desk, {"a.md": "one\n"})
    second = await edit(desk, {"a.md": "two\n"})
    (desk.root / "a.md").write_text("by hand\n")
    await desk.done("history", action="restore", path="a")
    assert desk.text("a.md") == "two\n"
    (desk.root / "a.md").write_text("by hand\n")
    dry = await desk.done("history", action="restore", ref=first, dry_run=True)
    assert "-by hand" in dry["diff"]
    back = await desk.done("history", action="restore", ref=first)
    assert desk.text("a.md") == "one\n"
    same = await desk.done("history", action="restore", ref=second, version="before", etag=back["etag"])
    assert same["changed"] is False
    assert same["etag"] == back["etag"]
    assert (await desk.ask("history", action="restore", ref=second, etag="0" * 16)).code == "conflict"
    await desk.done("note_move", path="a", to="b")
    await desk.done("history", action="restore", ref=second, path="a")
    assert (desk.text("a.md"), desk.text("b.md")) == ("two\n", "one\n")
    await desk.done("history", action="undo")
    assert not (desk.root / "a.md").exists()


async def test_what_cannot_be_restored_says_why(desk: Desk) -> None:
    both = await edit(desk, {"a.md": "one\n", "b.md": "x\n"})
    for arguments, code in (
        ({"path": "c"}, "not_found"),
        ({}, "invalid_argument"),
        ({"ref": both}, "invalid_argument"),
        ({"ref": both, "path": "c"}, "invalid_argument"),
        ({"ref": both, "path": "a", "version": "before"}, "invalid_argument"),
        ({"ref": "01900000-0000-7000-8000-000000000000"}, "not_found"),
        ({"ref": "abcdef1", "path": "a"}, "not_found"),
        ({"ref": "abcdef1"}, "invalid_argument"),
    ):
        assert (await desk.ask("history", action="restore", **arguments)).code == code, arguments
    await desk.vault.db.write(lambda tx: tx.run("DELETE FROM note_versions"))
    gone = await desk.ask("history", action="restore", ref=both, path="a")
    assert gone.code == "not_found"
    assert "no longer kept" in gone.content["error"]["message"]


async def test_a_reader_sees_history_and_changes_nothing(desk: Desk) -> None:
    await edit(desk, {"a.md": "one\n"})
    await give_role(desk.services, "rita", Role.READER)
    ask = asker(desk.services, Caller(local("rita"), "main", Role.READER, "http"))
    before = sorted(each.name for each in desk.vault.folder.iterdir())
    assert (await ask("history", path="a")).ok
    assert (await ask("history", action="diff")).ok
    assert (await ask("history", action="undo")).code == "forbidden"
    assert (await ask("note_delete", path="a", confirm=True)).code == "forbidden"
    assert sorted(each.name for each in desk.vault.folder.iterdir()) == before
    assert desk.text("a.md") == "one\n"


async def test_a_change_that_a_program_wrote_over_is_marked(desk: Desk) -> None:
    from vaults.domain.notes.commit import overwrites

    await desk.put({"a.md": "old\n"})
    change = await edit(desk, {"a.md": "old\nadded by a tool\n"})
    await desk.put({"a.md": "old\nby hand\n"})
    await overwrites.detect_overwrites(desk.vault, ["a.md"])
    assert (await listed(desk, path="a"))[0]["overwritten"] == ["a.md"]
    await desk.done("history", action="restore", ref=change)
    assert desk.text("a.md") == "old\nadded by a tool\n"
