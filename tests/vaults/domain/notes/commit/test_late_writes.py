"""What an editor writes in place into a file that a tool has just replaced is kept beside the note."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.conftest import Opening
from tests.vaults.domain.notes.notes_desk import Desk, desk_in
from tests.work import PATIENCE_S
from vaults.domain.notes.commit import late_writes
from vaults.errors import StorageFull

LOG = "# Log\n\nwords\n"


@pytest.fixture
async def desk(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    monkeypatch.setattr(late_writes, "LOOK_S", 0.01)
    async with desk_in(opening) as found:
        await found.put({"log.md": LOG})
        yield found


def _copies(root: Path) -> list[str]:
    return sorted(each.read_text() for each in root.rglob("*.conflict-*"))


def _later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The watch is over; until then there is time enough on any machine to write."""
    monkeypatch.setattr(late_writes, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + 1_000))


async def _until_watched(desk: Desk) -> None:
    """Until nothing that was taken away is looked after any more."""
    aside = desk.vault.background.follow_up
    assert aside is not None
    async with asyncio.timeout(PATIENCE_S):
        await aside


@pytest.mark.parametrize("tool", ["note_edit", "note_delete"])
async def test_a_save_in_place_after_the_exchange_is_kept_beside_the_note(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    desk.vault.notes.late._seconds = 900
    with (desk.root / "log.md").open("r+") as editor:
        await desk.done(tool, path="log.md", **({"content": "x"} if tool == "note_edit" else {"confirm": True}))
        editor.write("# A person's words\n")
        editor.truncate()
    _later(monkeypatch)
    await _until_watched(desk)
    assert _copies(desk.root) == ["# A person's words\n"]
    assert (desk.root / "log.md").exists() is (tool == "note_edit")


async def test_without_such_a_save_nothing_is_kept(desk: Desk) -> None:
    desk.vault.notes.late._seconds = 0.02
    await desk.done("note_edit", path="log.md", content="x")
    await _until_watched(desk)
    assert _copies(desk.root) == []
    assert not len(desk.vault.notes.late)


async def test_a_copy_that_cannot_be_written_is_tried_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.vault.notes.late._seconds = 900
    tree, create, tries = desk.vault.notes.tree, desk.vault.notes.tree.create, 0

    def full(path: str, data: bytes) -> object:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise StorageFull("the disk is full")
        return create(path, data)

    with (desk.root / "log.md").open("r+") as editor:
        await desk.done("note_edit", path="log.md", content="x")
        monkeypatch.setattr(tree, "create", full)
        editor.write("# A person's words\n")
        editor.truncate()
    _later(monkeypatch)
    await _until_watched(desk)
    assert _copies(desk.root) == ["# A person's words\n"]


async def test_a_vault_that_closes_first_keeps_it_too(desk: Desk) -> None:
    with (desk.root / "log.md").open("r+") as editor:
        await desk.done("note_edit", path="log.md", content="x")
        editor.write("# A person's words\n")
        editor.truncate()
    await desk.vault.close()
    assert _copies(desk.root) == ["# A person's words\n"]


async def test_a_vault_that_closes_before_the_watch_has_begun_keeps_it_too(
    desk: Desk, opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a process that follows no files: nothing else is waited for there."""
    async with desk_in(opening, alone=False) as other:
        assert not other.vault.background.lasting_tasks
        with monkeypatch.context() as patch, (desk.root / "log.md").open("r+") as editor:
            patch.setattr(other.vault.background, "run_follow_up", lambda _: None)
            await other.done("note_edit", path="log.md", content="x")
            editor.write("# A person's words\n")
            editor.truncate()
        late_writes.watch_late_writes(other.vault)
        await other.vault.close()
        assert not len(other.vault.notes.late)
    assert _copies(desk.root) == ["# A person's words\n"]
