"""What a watcher tells its consumer while people and programs change a folder.

Covers vaults.files.watch.inotify, vaults.files.watch.pending_changes, vaults.files.watch.sources.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.work import PATIENCE_S
from vaults.files.atomic import write_atomic
from vaults.files.watch import inotify
from vaults.files.watch.folder_watcher import ChangedPaths, Watcher, WatchTimes
from vaults.files.watch.pending_changes import PendingChanges
from vaults.files.watch.sources import WatchedNames

EVERYTHING = ChangedPaths(frozenset(), rescan=True)


class Consumer:
    """Takes items one by one; ``until`` adds them up, as a consumer that looks there would."""

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher
        self._items = watcher.changes()

    async def next(self) -> ChangedPaths:
        return await asyncio.wait_for(anext(self._items), PATIENCE_S)

    async def named(self, note: Path) -> ChangedPaths:
        """The first item that names what changed, while a note is saved again for each look at everything: on a slow
        machine a storm may not be over yet, and such a look may see the note before it is told."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                note.write_text("still there")
                if not (changed := await self.next()).rescan:
                    return changed

    async def gathered(self, holds: Callable[[PendingChanges], bool]) -> None:
        """Wait until the watcher has read so much, while nobody asks it for an item."""
        async with asyncio.timeout(PATIENCE_S):
            while not holds(self.watcher._pending):  # noqa: ASYNC110  nobody tells
                await asyncio.sleep(0.01)

    async def until(self, *paths: str) -> set[str]:
        told: set[str] = set()
        while not told.issuperset(paths):
            changed = await self.next()
            assert not changed.rescan
            told |= changed.paths
        return told


@asynccontextmanager
async def watching(root: Path, **settings: Any) -> AsyncIterator[Consumer]:
    watcher = Watcher(root, times=WatchTimes(**{"debounce_s": 0.05, **settings}))
    consumer = Consumer(watcher)
    try:
        assert await consumer.next() == EVERYTHING
        yield consumer
    finally:
        await watcher.close()


def paths(*names: str) -> ChangedPaths:
    return ChangedPaths(frozenset(names), rescan=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


async def test_the_first_item_asks_for_everything_and_the_watch_stands_by_then(root: Path) -> None:
    async with watching(root) as consumer:
        assert consumer.watcher.state.mode == "events"
        (root / "note.md").write_text("at once")
        assert await consumer.next() == paths("note.md")


async def test_a_save_is_told_without_a_look_at_everything(root: Path) -> None:
    never = {"check_s": 10_000, "rescan_s": 10_000, "poll_s": 10_000}
    async with watching(root, debounce_s=0.02, **never) as consumer:
        for number in range(5):
            (root / "note.md").write_text(f"line {number}")
            assert await consumer.next() == paths("note.md")


def truncated(note: Path) -> None:
    note.write_text("new")


def in_pieces(note: Path) -> None:
    with note.open("w", buffering=1) as file:
        for _ in range(50):
            file.write("a line\n")


def hidden_temporary(note: Path) -> None:
    write_atomic(note, b"new")


def visible_temporary(note: Path) -> None:
    temporary = note.with_name("note.md.tmp.4711")
    temporary.write_text("new")
    temporary.replace(note)


def deleted_and_created(note: Path) -> None:
    note.unlink()
    note.write_text("new")


def as_vim(note: Path) -> None:
    note.with_name(".note.md.swp").write_text("swap")
    (note.parent / "4913").write_text("")
    (note.parent / "4913").unlink()
    note.rename(note.with_name("note.md~"))
    note.write_text("new")
    note.chmod(0o644)
    note.with_name("note.md~").unlink()
    note.with_name(".note.md.swp").unlink()


def as_emacs(note: Path) -> None:
    note.with_name(".#note.md").symlink_to("someone@somewhere.4711:1700000000")
    note.with_name("#note.md#").write_text("auto-save")
    note.rename(note.with_name("note.md~"))
    note.write_text("new")
    note.with_name("#note.md#").unlink()
    note.with_name(".#note.md").unlink()


def by_link(note: Path) -> None:
    temporary = note.with_name(".note.new")
    temporary.write_text("new")
    note.unlink()
    os.link(temporary, note)
    temporary.unlink()


STYLES = (
    truncated, in_pieces, hidden_temporary, visible_temporary, deleted_and_created, as_vim, as_emacs, by_link,
)  # fmt: skip


@pytest.mark.parametrize("save", STYLES, ids=lambda save: save.__name__)
async def test_a_save_in_any_style_is_told_once(root: Path, save: Callable[[Path], None]) -> None:
    note = root / "note.md"
    note.write_text("old")
    async with watching(root) as consumer:
        save(note)
        assert await consumer.next() == paths("note.md")
        (root / "after.md").write_text("")
        assert await consumer.next() == paths("after.md")


async def test_what_is_no_note_is_not_told(root: Path) -> None:
    for folder in (".strongroom", ".git/objects/ab", ".obsidian"):
        (root / folder).mkdir(parents=True)
    async with watching(root) as consumer:
        for path in (".strongroom/vault.db-wal", ".git/objects/ab/cd", ".obsidian/a.md", ".hidden.md", "image.png"):
            (root / path).write_text("x")
        (root / ".git/new.md").mkdir()
        (root / "UPPER.MARKDOWN").write_text("")
        (root / ".strongroomignore").write_text("drafts/")
        assert await consumer.next() == paths("UPPER.MARKDOWN", ".strongroomignore")


async def test_a_name_that_is_not_text_stops_nothing(root: Path) -> None:
    Path(os.fsdecode(os.fsencode(root) + b"/old-\xff")).mkdir()
    async with watching(root) as consumer:
        Path(os.fsdecode(os.fsencode(root) + b"/\xff.md")).write_text("x")
        Path(os.fsdecode(os.fsencode(root) + b"/new-\xff")).mkdir()
        (root / "a 👩‍👩‍👧 name").mkdir()
        assert await consumer.next() == paths("a 👩‍👩‍👧 name")


async def test_odd_files_in_the_place_of_a_note_are_told_and_never_opened(root: Path) -> None:
    note = root / "note.md"
    note.write_text("x")
    async with watching(root) as consumer:
        note.unlink()
        os.mkfifo(note)
        assert await consumer.next() == paths("note.md")
        note.unlink()
        note.mkdir()
        assert await consumer.next() == paths("note.md")
        (note / "inner.md").write_text("x")
        assert await consumer.next() == paths("note.md/inner.md")


async def test_a_new_folder_is_told_as_one_and_watched_to_its_depth(root: Path) -> None:
    async with watching(root) as consumer:
        (root / "a/b/c").mkdir(parents=True)
        (root / "a/b/c/note.md").write_text("x")
        assert await consumer.next() == paths("a")
        (root / "a/b/c/note.md").write_text("y")
        assert await consumer.next() == paths("a/b/c/note.md")


async def test_a_new_folder_is_told_once_it_is_watched_however_long_that_takes(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told before as well, it would be looked at twice."""

    async def late(add: Callable[..., None], *folders: object) -> None:
        await asyncio.sleep(0.2)  # longer than the window below
        add(*folders)

    async with watching(root, debounce_s=0.02) as consumer:
        monkeypatch.setattr(inotify, "run_in_thread", late)
        (root / "old.md").write_text("x")
        (root / "a").mkdir()
        assert await consumer.next() == paths("a", "old.md")
        (root / "a/note.md").write_text("x")
        assert await consumer.next() == paths("a/note.md")


async def test_a_moved_folder_is_told_under_both_names_and_watched_under_the_new_one(
    root: Path, tmp_path: Path
) -> None:
    (root / "old/inner").mkdir(parents=True)
    async with watching(root) as consumer:
        (root / "old").rename(root / "new")
        assert await consumer.until("old", "new") == {"old", "new"}
        (root / "new/inner/note.md").write_text("x")
        assert await consumer.next() == paths("new/inner/note.md")
        (root / "new").rename(tmp_path / "outside")
        assert await consumer.next() == paths("new")
        (tmp_path / "outside/inner/note.md").write_text("y")
        (tmp_path / "outside").rename(root / "back")
        assert await consumer.next() == paths("back")


async def test_a_deleted_folder_is_told_as_one(root: Path) -> None:
    (root / "a/b").mkdir(parents=True)
    (root / "a/b/note.md").write_text("x")
    async with watching(root, debounce_s=0.3) as consumer:  # three deletions, however slow the machine
        (root / "a/b/note.md").unlink()
        (root / "a/b").rmdir()
        (root / "a").rmdir()
        assert await consumer.next() == paths("a")
        (root / "a").mkdir()
        assert await consumer.next() == paths("a")
        (root / "a/note.md").write_text("x")
        assert await consumer.next() == paths("a/note.md")


async def test_a_link_is_never_followed_out_of_the_folder(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "before").symlink_to(outside)
    async with watching(root) as consumer:
        (root / "later").symlink_to(outside)
        (outside / "note.md").write_text("not yours")
        (root / "note.md").write_text("yours")
        assert await consumer.next() == paths("note.md")


async def test_changes_without_end_are_delivered_all_the_same(root: Path) -> None:
    async with watching(root, debounce_s=0.2) as consumer:
        item = asyncio.create_task(consumer.next())
        while not item.done():
            (root / "note.md").write_text("again")
            await asyncio.sleep(0.005)
        assert item.result() == paths("note.md")


async def test_a_slow_consumer_gets_one_item_with_all_of_it(root: Path) -> None:
    async with watching(root, debounce_s=0.02) as consumer:
        for number in range(20):
            (root / f"{number}.md").write_text("x")
            await asyncio.sleep(0.01)
        await consumer.gathered(lambda pending: "19.md" in pending._paths)
        assert (await consumer.next()).paths == {f"{number}.md" for number in range(20)}


async def test_a_storm_of_files_becomes_one_look_at_everything(root: Path) -> None:
    async with watching(root) as consumer:
        for number in range(5_000):
            (root / f"{number}.md").touch()
        await consumer.gathered(lambda pending: pending._rescan)
        assert await consumer.next() == EVERYTHING
        assert "note.md" in (await consumer.named(root / "note.md")).paths


async def test_events_the_kernel_dropped_become_a_look_at_everything(root: Path) -> None:
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if most > 100_000:
        pytest.skip("a queue too long to overrun in a test")
    async with watching(root) as consumer:
        with (root / "a.txt").open("wb", buffering=0) as one, (root / "b.txt").open("wb", buffering=0) as two:
            for _ in range(most // 2 + 10):  # the loop reads nothing meanwhile; equal neighbours would be merged
                one.write(b"x")
                two.write(b"x")
        assert await consumer.next() == EVERYTHING
        assert await consumer.named(root / "note.md") == paths("note.md")


async def test_too_much_at_once_is_one_look_at_everything_once_it_is_over(root: Path) -> None:
    pending = PendingChanges(quiet_s=0.0, longest_s=0.0, limit=10, flood_s=0.2)
    for number in range(5_000):
        pending.touch(f"{number}.py")
        if number % 500 == 0:
            assert await pending.take(0.0) is None or number < 10
    assert await pending.take(time.monotonic() + PATIENCE_S) == EVERYTHING
    assert await pending.take(0.0) is None


async def test_other_names_can_be_watched(root: Path) -> None:
    (root / "skipped").mkdir()
    names = WatchedNames(lambda name: name != "skipped", lambda name: name.endswith(".py"))
    watcher = Watcher(root, times=WatchTimes(debounce_s=0.05), names=names)
    consumer = Consumer(watcher)
    try:
        assert await consumer.next() == EVERYTHING
        for name in ("skipped/a.py", "note.md", "a.py"):
            (root / name).write_text("x")
        assert await consumer.until("a.py") == {"a.py"}
    finally:
        await watcher.close()
