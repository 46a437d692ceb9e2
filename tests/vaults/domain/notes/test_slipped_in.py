"""What other programs write at the wrong moment: between two edits, between file and row, into a file that is gone."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from tests.conftest import Opening
from tests.vaults.domain.notes.notes_desk import Desk, desk_in
from vaults.domain.actors import Actor
from vaults.domain.notes.commit import journal, late_writes, overwrites, recovery
from vaults.domain.notes.commit.journal import FileChange, NoteChange
from vaults.domain.notes.index import reconciliation
from vaults.domain.notes.index.extraction import compute_digest
from vaults.errors import StorageFull
from vaults.files.tree import FileStamp, PreparedChange

LOG = "# Log\n\n## Notes\n\n- first\n\n## End\n"
ACTOR = Actor("tester", "cli:tester")


@pytest.fixture
async def desk(opening: Opening) -> AsyncIterator[Desk]:
    async with desk_in(opening) as found:
        yield found


async def _append(desk: Desk, path: str, words: str) -> str:
    done = await desk.done("note_edit", path=path, section="Notes", content=words, format="bullet")
    return str(done["change"])


async def _overwritten(desk: Desk) -> set[str]:
    listed = await desk.done("history", action="log")
    return {each["id"] for each in listed["changes"] if each.get("overwritten")}


async def _noticed(desk: Desk, *paths: str) -> set[str]:
    await reconciliation.reconcile_paths(desk.vault, paths)
    await overwrites.detect_overwrites(desk.vault, paths)
    return await _overwritten(desk)


async def test_what_was_written_over_is_told_though_a_tool_edited_at_once_again(desk: Desk) -> None:
    await desk.put({"log.md": LOG})
    lost = await _append(desk, "log.md", "lost words")
    (desk.root / "log.md").write_text(LOG + "a person's line\n")
    await _append(desk, "log.md", "later words")
    assert "a person's line" in desk.text("log.md")
    assert await _noticed(desk, "log.md") == {lost}
    assert await _noticed(desk, "log.md") == {lost}


async def test_what_was_written_over_is_told_though_the_note_was_moved_since(desk: Desk) -> None:
    await desk.put({"log.md": LOG})
    lost = await _append(desk, "log.md", "lost words")
    await desk.done("note_move", path="log.md", to="moved/log.md")
    (desk.root / "moved/log.md").write_text(LOG + "a person's line\n")
    assert await _noticed(desk, "moved/log.md") == {lost}


async def test_what_tools_take_out_themselves_was_not_written_over(desk: Desk) -> None:
    await desk.put({"log.md": LOG})
    await _append(desk, "log.md", "short lived")
    await desk.done("note_edit", path="log.md", action="remove", search="- short lived\n")
    (desk.root / "log.md").write_text(desk.text("log.md") + "a person's line\n")
    await _append(desk, "log.md", "later words")
    assert await _noticed(desk, "log.md") == set()


async def test_a_note_made_where_another_was_moved_away_has_lost_nothing(desk: Desk) -> None:
    await desk.put({"log.md": LOG})
    await _append(desk, "log.md", "moved words")
    await desk.done("note_move", path="log.md", to="moved.md")
    (desk.root / "log.md").write_text(LOG)
    assert await _noticed(desk, "log.md", "moved.md") == set()


def _held_at(desk: Desk, monkeypatch: pytest.MonkeyPatch, call: int) -> tuple[asyncio.Event, asyncio.Event]:
    """Two events: set when the database is asked to write for the nth time, and to let it do so."""
    reached, go, write = asyncio.Event(), asyncio.Event(), desk.vault.db.write
    count = 0

    async def held(work: Callable[..., Any]) -> Any:
        nonlocal count
        count += 1
        if count == call:
            reached.set()
            await go.wait()
        return await write(work)

    monkeypatch.setattr(desk.vault.db, "write", held)
    return reached, go


@pytest.mark.parametrize("tool", ["note_edit", "note_move"])
async def test_a_save_between_file_and_row_is_what_the_index_holds(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    await desk.put({"log.md": LOG, "other.md": "# Other\n\n[[log]]\n"})
    more = {"content": "words"} if tool == "note_edit" else {"to": "new.md"}
    path = more.get("to", "log.md")
    reached, go = _held_at(desk, monkeypatch, 2)
    edit = asyncio.create_task(desk.done(tool, path="log.md", **more))
    await reached.wait()
    (desk.root / path).write_text(LOG + "a person's line\n")
    await reconciliation.reconcile_paths(desk.vault, ["log.md", path])
    go.set()
    await edit
    rows = dict(await desk.vault.db.read(lambda tx: tx.all("SELECT path, hash FROM notes")))
    files = {each: compute_digest((desk.root / each).read_bytes()) for each in (path, "other.md")}
    assert rows == files


async def test_a_move_that_fails_half_way_is_taken_back(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    await desk.put({"hub.md": "# Hub\n\n[me](hub.md)\n", "other.md": "# Other\n\n[[hub]]\n"})
    before, prepare = desk.digests(), desk.vault.notes.tree.prepare

    def full(path: str, data: bytes, expected: FileStamp) -> PreparedChange:
        if path == "new/centre.md":
            raise StorageFull("the disk is full")
        return prepare(path, data, expected)

    monkeypatch.setattr(desk.vault.notes.tree, "prepare", full)
    refused = await desk.ask("note_move", path="hub.md", to="new/centre.md")
    assert refused.code == "storage_full"
    assert desk.digests() == before


async def _begun(desk: Desk, *files: FileChange) -> None:
    """A change that somebody has begun, and was killed."""
    change = NoteChange("note_edit", "edited", files)
    names = journal.name_versions(change)
    packed = journal.pack_versions(change, names, {})
    await desk.vault.db.write(lambda tx: journal.begin_change(tx, ACTOR, change, names, packed))


async def _states(desk: Desk) -> list[str]:
    return [row[0] for row in await desk.vault.db.read(lambda tx: tx.all("SELECT state FROM note_changes"))]


@pytest.mark.parametrize("kind", ["folder", "link", "fifo"])
async def test_recovery_gets_over_what_took_the_place_of_a_note(desk: Desk, kind: str) -> None:
    await desk.put({"log.md": LOG})
    make = {"folder": os.mkdir, "link": lambda path: path.symlink_to("log.md"), "fifo": os.mkfifo}[kind]
    make(desk.root / "new.md")
    await _begun(desk, FileChange("new.md", None, b"# New\n"))
    assert await recovery.recover(desk.vault) == 1
    assert await recovery.recover(desk.vault) == 0
    assert await _states(desk) == ["failed"]
    assert (await desk.ask("note_edit", path="log.md", content="on we go")).ok


async def test_recovery_waits_for_a_disk_that_is_full(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A move stands half made until there is space: then it is whole."""
    await desk.put({"hub.md": "# Hub\n", "other.md": "# Other\n\n[[hub]]\n"})
    await _begun(
        desk,
        FileChange("hub.md", b"# Hub\n", b"# Hub\n", "centre.md"),
        FileChange("other.md", b"# Other\n\n[[hub]]\n", b"# Other\n\n[[centre]]\n"),
    )
    (desk.root / "hub.md").rename(desk.root / "centre.md")
    prepare = desk.vault.notes.tree.prepare

    def full(path: str, data: bytes, expected: FileStamp) -> None:
        raise StorageFull("the disk is full")

    monkeypatch.setattr(desk.vault.notes.tree, "prepare", full)
    with pytest.raises(StorageFull):
        await recovery.recover(desk.vault)
    assert await _states(desk) == ["pending"]
    monkeypatch.setattr(desk.vault.notes.tree, "prepare", prepare)
    assert await recovery.recover(desk.vault) == 1
    assert desk.text("other.md") == "# Other\n\n[[centre]]\n"
    assert await _states(desk) == ["done"]


async def test_words_written_late_into_several_versions_are_all_kept(desk: Desk) -> None:
    await desk.put({"log.md": LOG})
    opened = []
    for number in range(3):
        opened.append((desk.root / "log.md").open("r+"))
        await _append(desk, "log.md", f"edit {number}")
    for number, file in enumerate(opened):
        with file:
            file.write(f"late words {number}\n")
    late_writes._keep_copies(desk.vault, desk.vault.notes.late.close())
    copies = "".join(path.read_text() for path in desk.root.glob("log.conflict-*"))
    assert all(f"late words {number}" in copies for number in range(3))


@pytest.mark.parametrize("tool", ["note_delete", "note_write", "note_edit", "note_move"])
async def test_what_was_refused_for_want_of_space_is_not_done_later(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    """The rows cannot be written, nor that it failed."""
    await desk.put({"log.md": LOG, "other.md": "[[log]]\n"})
    before, write, count = desk.digests(), desk.vault.db.write, 0

    async def full(work: Callable[..., Any]) -> Any:
        nonlocal count
        count += 1
        if count > 1:
            raise StorageFull("the disk is full")
        return await write(work)

    more = {"note_delete": {"confirm": True}, "note_move": {"to": "new.md"}}.get(tool, {"content": "words"})
    monkeypatch.setattr(desk.vault.db, "write", full)
    path = "fresh.md" if tool == "note_write" else "log.md"
    assert (await desk.ask(tool, path=path, **more)).code == "storage_full"
    assert desk.digests() == before
    monkeypatch.setattr(desk.vault.db, "write", write)
    assert await recovery.recover(desk.vault) == 1
    assert desk.digests() == before
    assert await _states(desk) == ["failed"]
    assert (await desk.ask(tool, path=path, **more)).ok


async def test_what_was_interrupted_is_finished_before_its_files_are_changed_again(desk: Desk) -> None:
    """An agent is back before anybody has looked: the move that was killed is whole all the same."""
    await desk.put({"hub.md": "# Hub\n", "one.md": "[[hub]]\n", "two.md": "[[hub]]\n"})
    await _begun(
        desk,
        FileChange("hub.md", b"# Hub\n", b"# Hub\n", "centre.md"),
        FileChange("one.md", b"[[hub]]\n", b"[[centre]]\n"),
        FileChange("two.md", b"[[hub]]\n", b"[[centre]]\n"),
    )
    (desk.root / "hub.md").rename(desk.root / "centre.md")
    (desk.root / "one.md").write_text("[[centre]]\n")
    for path in ("one.md", "two.md"):
        outcome = await desk.ask("note_edit", path=path, content="words")
        if not outcome.ok:
            assert outcome.code == "conflict"
            await desk.done("note_edit", path=path, content="words")
    assert [desk.text(path) for path in ("one.md", "two.md")] == ["[[centre]]\n\nwords\n"] * 2
    assert "pending" not in await _states(desk)


async def test_a_nearly_full_disk_refuses_what_grows_and_lets_notes_be_deleted(opening: Opening) -> None:
    async with desk_in(opening) as desk:
        await desk.put({"log.md": LOG, "big.md": "# Big\n"})
    async with desk_in(opening, {"storage.reserve_mb": 1 << 40}) as desk:
        assert (await desk.ask("note_write", path="new.md", content="x")).code == "storage_full"
        assert (await desk.ask("note_edit", path="log.md", content="x")).code == "storage_full"
        await desk.done("note_edit", path="log.md", action="remove", search="- first\n")
        await desk.done("note_delete", path="big.md", confirm=True)
        assert list(desk.digests()) == ["log.md"]
