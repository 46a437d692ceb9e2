"""A change of several files happens as a whole or not at all, whatever goes wrong, and one at a time."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Opening
from tests.vaults.domain.notes.notes_desk import Desk, desk_in
from tests.work import PATIENCE_S
from vaults.domain.actors import Actor
from vaults.domain.notes.commit import transaction
from vaults.domain.notes.commit.file_placement import PlacedFiles
from vaults.domain.notes.commit.journal import FileChange, NoteChange
from vaults.domain.notes.index import extraction, note_rows
from vaults.domain.notes.index.extraction import compute_digest
from vaults.domain.notes.sync import sync_loop
from vaults.errors import AlreadyExists, Conflict, StorageFull, StrongroomError
from vaults.files import notebook
from vaults.files.notebook import Notebook

ACTOR = Actor("tester", "tester")
NOTES = {"a.md": "# A\n", "b.md": "# B\n", "c.md": "# C\n", "d.md": "# D\n\n[[c]]\n"}


@pytest.fixture
async def desk(opening: Opening) -> AsyncIterator[Desk]:
    async with desk_in(opening) as found:
        await found.put(NOTES)
        yield found


def _edit(desk: Desk, path: str, to: str | None = None, after: bytes | None = b"# New\n\ntext\n") -> FileChange:
    tree = desk.vault.notes.tree
    content = tree.read(path, 1 << 20)
    return FileChange(path, content.data, after, to, content.stamp)


def _change(desk: Desk) -> NoteChange:
    """One of each kind: made, edited, moved with an edit, removed, moved."""
    files = [
        FileChange("sub/new.md", None, b"# Fresh\n"),
        _edit(desk, "a.md"),
        _edit(desk, "b.md", "sub/b.md"),
        _edit(desk, "c.md", after=None),
        _edit(desk, "d.md", "e.md", NOTES["d.md"].encode()),
    ]
    return NoteChange("note_move", "all at once", files)


AFTER = {
    "sub/new.md": b"# Fresh\n",
    "a.md": b"# New\n\ntext\n",
    "sub/b.md": b"# New\n\ntext\n",
    "e.md": NOTES["d.md"].encode(),
}


def _state(root: Path) -> dict[str, tuple[bytes, int]]:
    """Every file with its bytes and permissions; hidden ones too."""
    return {
        each.relative_to(root).as_posix(): (each.read_bytes(), stat.S_IMODE(each.stat().st_mode))
        for each in root.rglob("*")
        if each.is_file()
    }


async def _agrees(desk: Desk) -> None:
    files = {path: compute_digest(data) for path, (data, _) in _state(desk.root).items()}
    assert {each.path: each.hash for each in await desk.vault.db.read(note_rows.find_known)} == files


async def _states(desk: Desk) -> list[str]:
    return [
        row[0] for row in await desk.vault.db.read(lambda tx: tx.all("SELECT state FROM note_changes ORDER BY seq"))
    ]


async def _commit(desk: Desk, change: NoteChange) -> None:
    async with desk.vault.notes.writing():
        await transaction.commit(desk.vault, ACTOR, change)


async def _works(desk: Desk) -> None:
    async with asyncio.timeout(PATIENCE_S):
        assert (await desk.ask("note_write", path="next.md", content="# Next\n")).ok
    await _agrees(desk)


async def test_all_of_it_happens(desk: Desk) -> None:
    await _commit(desk, _change(desk))
    assert {path: data for path, (data, _) in _state(desk.root).items()} == AFTER
    assert await _states(desk) == ["done"]
    await _agrees(desk)


MODES = {"a.md": 0o640, "b.md": 0o600, "c.md": 0o604, "d.md": 0o644}


def _outside(desk: Desk, path: str, how: str) -> None:
    if how == "edited":
        (desk.root / path).write_bytes(b"# A person's\n")
    else:
        (desk.root / path).unlink()


@pytest.mark.parametrize("path", ["a.md", "b.md", "c.md", "d.md"])
@pytest.mark.parametrize("how", ["edited", "removed"])
@pytest.mark.parametrize("late", [False, True], ids=["before", "when all is prepared"])
async def test_a_conflict_at_any_file_takes_the_earlier_ones_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, path: str, how: str, late: bool
) -> None:
    for name, mode in MODES.items():
        (desk.root / name).chmod(mode)
    expected = _state(desk.root)
    change, publish = _change(desk), PlacedFiles.all

    def published(placed: PlacedFiles, files: Any, first: Any) -> None:
        _outside(desk, path, how)
        publish(placed, files, first)

    if late:
        monkeypatch.setattr(PlacedFiles, "all", published)
    else:
        _outside(desk, path, how)
    with pytest.raises(Conflict):
        await _commit(desk, change)
    monkeypatch.undo()
    del expected[path]
    assert {name: each for name, each in _state(desk.root).items() if name != path} == expected
    assert (desk.root / path).exists() is (how == "edited")
    assert await _states(desk) == ["failed"]
    await desk.look()
    await _works(desk)


@pytest.mark.parametrize("taken", ["sub/new.md", "sub/NEW.md", "sub/b.md", "e.md"])
async def test_a_name_that_is_taken_stops_all_of_it(desk: Desk, taken: str) -> None:
    change = _change(desk)
    (desk.root / taken).parent.mkdir(exist_ok=True)
    (desk.root / taken).write_text("# Taken\n")
    expected = _state(desk.root)
    with pytest.raises((AlreadyExists, Conflict)):
        await _commit(desk, change)
    assert _state(desk.root) == expected
    await desk.look()
    await _works(desk)


@pytest.mark.parametrize("call", ["fsync", "write"])
async def test_a_disk_that_is_full_at_any_moment_changes_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    real, tried = getattr(os, call), 0
    expected = _state(desk.root)
    while tried < 40:
        count = 0

        def failing(*arguments: Any, limit: int = tried) -> Any:
            nonlocal count
            count += 1
            if count == limit + 1:
                raise OSError(errno.ENOSPC, "full")
            return real(*arguments)

        change = _change(desk)
        with monkeypatch.context() as patch:
            patch.setattr(os, call, failing)
            try:
                await _commit(desk, change)
            except StorageFull:
                pass
            else:
                break
        assert _state(desk.root) == expected
        tried += 1
    assert tried >= 2
    states = await _states(desk)
    assert states.count("done") == 1
    assert states.count("failed") == len(states) - 1
    await _works(desk)


async def test_a_caller_that_leaves_at_any_moment_leaves_it_whole_or_undone(opening: Opening) -> None:
    undone = whole = moment = turns = 0
    async with desk_in(opening) as desk:
        while moment < 40 or not whole:  # on a busy machine a change takes more turns of the loop
            name = f"n{moment}.md"
            await desk.put({name: "# A\n"})
            change = NoteChange(
                "note_edit", "edited", [_edit(desk, name), FileChange(f"made{moment}.md", None, b"# Made\n")]
            )
            task = asyncio.create_task(_commit(desk, change))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            done = (await asyncio.gather(task, return_exceptions=True))[0]
            async with asyncio.timeout(PATIENCE_S), desk.vault.notes.writing():
                changed = (desk.root / name).read_bytes() == b"# New\n\ntext\n"
                assert (desk.root / f"made{moment}.md").exists() is changed
                assert changed or done is not None
            undone, whole = undone + (not changed), whole + changed
            moment, turns = moment + 1, turns + 1 if moment < 40 else 2 * turns
            await _agrees(desk)
        assert set(await _states(desk)) == {"done"}
    assert undone
    assert whole


async def test_what_a_caller_that_left_is_not_told_is_not_lost_to_the_log(
    desk: Desk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = _change(desk)
    (desk.root / "c.md").write_text("# other\n")
    task = asyncio.create_task(_commit(desk, change))
    for _ in range(5):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    del task
    import gc

    gc.collect()
    assert "never retrieved" not in caplog.text


async def test_only_one_process_changes_notes_at_a_time(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Notebook(desk.root, desk.vault.folder, desk.vault.notes.settings)
    async with other.writing():
        with monkeypatch.context() as patch:
            patch.setattr(notebook, "WAIT_S", 0.05)
            refused = await desk.ask("note_edit", path="a.md", content="x")
        assert refused.code == "overloaded"
        assert desk.text("a.md") == NOTES["a.md"]
    async with desk.vault.notes.writing():
        monkeypatch.setattr(notebook, "WAIT_S", 0.05)
        with pytest.raises(StrongroomError):
            async with other.writing():
                pass
        monkeypatch.undo()
    await _works(desk)


async def test_a_wait_for_the_lock_that_is_given_up_leaves_it_free(desk: Desk) -> None:
    other = Notebook(desk.root, desk.vault.folder, desk.vault.notes.settings)
    async with other.writing():
        waiting = asyncio.create_task(_commit(desk, _change(desk)))
        for _ in range(10):
            await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert len(_open_locks(desk)) == 1
    assert not _open_locks(desk)
    await _works(desk)


def _open_locks(desk: Desk) -> list[Path]:
    """Descriptors of the vault's lock for writing: others of the process come and go with its threads."""
    links = []
    for each in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            links.append(each.readlink())
    return [link for link in links if link == desk.vault.folder.resolve() / ".writing"]


async def test_what_is_left_out_is_written_and_not_indexed(opening: Opening) -> None:
    async with desk_in(opening, {"notes.exclude": ["private/"]}) as desk:
        await desk.put({"a.md": "# A\n"})
        await _commit(
            desk,
            NoteChange(
                "x", "x", [FileChange("private/p.md", None, b"# P\n"), _edit(desk, "a.md", "private/a.md", b"# A\n")]
            ),
        )
        assert desk.text("private/p.md") == "# P\n"
        assert desk.text("private/a.md") == "# A\n"
        assert await desk.vault.db.read(note_rows.find_known) == []
        await desk.look()
        assert await desk.vault.db.read(note_rows.find_known) == []


async def _facts(desk: Desk, path: str) -> dict[str, Any]:
    found = (await desk.vault.db.read(lambda tx: note_rows.find_known(tx, [path])))[0]
    count = "SELECT COUNT(*) FROM {} WHERE note = ?"
    links = await desk.vault.db.read(lambda tx: tx.value(count.format("note_links"), (found.seq,)))
    tasks = await desk.vault.db.read(lambda tx: tx.value(count.format("note_tasks"), (found.seq,)))
    tags = await desk.vault.db.read(lambda tx: tx.value("SELECT tags FROM notes WHERE seq = ?", (found.seq,)))
    return {"links": links, "tasks": tasks, "tags": tags, "complete": found.complete}


async def test_a_long_note_keeps_what_was_known_of_it_until_it_is_read_whole(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extraction, "LONG_BYTES", 100)
    text = "# Log\n\n#tag [[a]]\n\n- [ ] task\n" + "words " * 30
    await desk.put({"log.md": text})
    known = {"links": 1, "tasks": 1, "tags": '["tag"]', "complete": True}
    assert await _facts(desk, "log.md") == known
    monkeypatch.setattr(desk.vault, "start_background_work", lambda: None)
    longer = text + "\n\n#more [[b]]\n\n- [ ] other\n"
    await _commit(desk, NoteChange("note_edit", "edited", [_edit(desk, "log.md", after=longer.encode())]))
    assert await _facts(desk, "log.md") == known | {"complete": False}
    await sync_loop.read_incomplete(desk.vault)
    assert await _facts(desk, "log.md") == known | {"complete": False}, "it may be edited again at once"
    monkeypatch.setattr(sync_loop, "QUIET_S", 0)
    await sync_loop.read_incomplete(desk.vault)
    assert await _facts(desk, "log.md") == {"links": 2, "tasks": 2, "tags": '["tag", "more"]', "complete": True}
