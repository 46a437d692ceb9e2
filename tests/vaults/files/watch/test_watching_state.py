"""What becomes of a watcher when its folder or the system's means go away, and that it leaves nothing behind.

Covers vaults.files.watch.watchfiles_source.
"""

from __future__ import annotations

import asyncio
import os
import re
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

from tests.work import PATIENCE_S
from vaults.files.watch import folder_watcher, watchfiles_source
from vaults.files.watch.folder_watcher import ChangedPaths, Watcher, WatchTimes

EVERYTHING = ChangedPaths(frozenset(), rescan=True)
REPOSITORY = Path(__file__).resolve().parents[4]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "above" / "vault"
    folder.mkdir(parents=True)
    return folder


@asynccontextmanager
async def closing(watcher: Watcher) -> AsyncIterator[AsyncIterator[ChangedPaths]]:
    try:
        yield watcher.changes()
    finally:
        await watcher.close()


async def following(items: AsyncIterator[ChangedPaths]) -> ChangedPaths:
    return await asyncio.wait_for(anext(items), PATIENCE_S)


async def told(items: AsyncIterator[ChangedPaths], *paths: str) -> set[str]:
    """What is named until all of these are: this source reads in a thread of its own, in as many steps as it gets."""
    named: set[str] = set()
    while not named.issuperset(paths):
        named |= (await following(items)).paths
    return named


async def looked_at_whole(items: AsyncIterator[ChangedPaths]) -> None:
    """Wait for a look at everything; that files went before their folder may be told first."""
    while await following(items) != EVERYTHING:
        pass


async def eventually(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 - nothing of ours can tell it
            await asyncio.sleep(0.01)


def remove(root: Path) -> None:
    shutil.rmtree(root)


def rename(root: Path) -> None:
    root.rename(root.with_name("elsewhere"))


def rename_above(root: Path) -> None:
    root.parent.rename(root.parent.with_name("elsewhere"))


def put_a_file_there(root: Path) -> None:
    root.rmdir()
    root.write_text("no folder")


@pytest.mark.parametrize("mode", ["events", "poll"])
@pytest.mark.parametrize("away", [remove, rename, rename_above, put_a_file_there], ids=lambda fn: fn.__name__)
async def test_a_folder_that_goes_is_failed_and_watched_again_when_it_is_back(
    root: Path, away: Callable[[Path], None], mode: str
) -> None:
    watcher = Watcher(root, mode, times=WatchTimes(debounce_s=0.02, poll_s=60, check_s=0.02))  # type: ignore[arg-type]
    async with closing(watcher) as items:
        assert await following(items) == EVERYTHING
        away(root)
        item = asyncio.create_task(following(items))
        await eventually(lambda: watcher.state.mode == "failed")
        assert watcher.state.reason
        assert not root.is_dir(), "a watcher creates nothing"
        root.unlink(missing_ok=True)
        root.mkdir(parents=True)
        assert await item == EVERYTHING
        assert watcher.state.mode == ("events" if mode == "events" else "polling")
        if mode == "events":
            (root / "note.md").write_text("x")
            assert (await following(items)).paths == {"note.md"}


async def test_another_folder_in_its_place_is_looked_at_whole(root: Path) -> None:
    async with closing(Watcher(root, times=WatchTimes(debounce_s=0.02, check_s=0.02))) as items:
        await following(items)
        other = root.with_name("other")
        other.mkdir()
        root.rename(root.with_name("old"))
        other.rename(root)
        assert await following(items) == EVERYTHING
        (root / "note.md").write_text("x")
        assert (await following(items)).paths == {"note.md"}


async def test_a_folder_missing_at_first_is_waited_for(root: Path) -> None:
    root.rmdir()
    watcher = Watcher(root, times=WatchTimes(check_s=0.02))
    async with closing(watcher) as items:
        item = asyncio.create_task(following(items))
        await eventually(lambda: "missing" in watcher.state.reason)
        root.mkdir()
        assert await item == EVERYTHING


async def test_everything_is_looked_at_from_time_to_time(root: Path) -> None:
    watcher = Watcher(root, times=WatchTimes(debounce_s=0.02, rescan_s=0.05))
    async with closing(watcher) as items:
        for _ in range(3):
            assert await following(items) == EVERYTHING
        watcher.record_full_look(10.0)  # the next in 1,000 s
        await asyncio.sleep(0.15)
        (root / "note.md").write_text("x")
        assert (await following(items)).paths == {"note.md"}


async def test_polling_is_a_look_at_everything_at_intervals(root: Path) -> None:
    watcher = Watcher(root, "poll", times=WatchTimes(poll_s=0.05))
    async with closing(watcher) as items:
        assert await following(items) == EVERYTHING
        assert watcher.state.mode == "polling"
        assert await following(items) == EVERYTHING
        start = time.monotonic()
        watcher.record_full_look(0.03)  # a look may take a tenth of the time: the next in 0.3 s
        assert await following(items) == EVERYTHING
        assert time.monotonic() - start > 0.299


async def test_a_network_disk_is_polled_unless_events_are_asked_for(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_watcher, "find_network_disk", lambda _: "nfs4")
    for mode, chosen in (("auto", "polling"), ("events", "events")):
        watcher = Watcher(root, mode)  # type: ignore[arg-type]
        async with closing(watcher) as items:
            assert await following(items) == EVERYTHING
            assert watcher.state.mode == chosen
            assert ("nfs4" in watcher.state.reason) == (chosen == "polling")


async def test_descriptors_used_up_end_in_polling(root: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    watcher = Watcher(root)
    async with closing(watcher) as items:
        highest = max(int(entry.name) for entry in Path("/proc/self/fd").iterdir())
        taken = [os.dup(0) for _ in range(highest)]  # no gap below the limit is left
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(taken) + 1, hard))
        try:
            assert await following(items) == EVERYTHING
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            for descriptor in taken:
                os.close(descriptor)
        assert watcher.state.mode == "polling"
        assert "descriptors" in watcher.state.reason


LIMITED = """
import asyncio, pathlib, sys
from vaults.files.watch.folder_watcher import WatchTimes, Watcher
async def main(root):
    watcher = Watcher(root, times=WatchTimes(poll_s=0.05))
    items = watcher.changes()
    await anext(items)
    print(watcher.state.mode)
    for number in range(20):
        (root / str(number)).mkdir()
    while watcher.state.mode == "events":
        await anext(items)
    print(watcher.state.mode, watcher.state.reason)
    print((await anext(items)).rescan)
    await watcher.close()
asyncio.run(asyncio.wait_for(main(pathlib.Path(sys.argv[1])), 60))
"""


async def test_watches_used_up_while_it_runs_end_in_polling(root: Path) -> None:
    limited = 'echo 10 > /proc/sys/user/max_inotify_watches && exec "$@"'
    command = ["unshare", "-Ur", "sh", "-c", limited, "-", sys.executable, "-c", LIMITED, str(root)]
    try:
        done = await asyncio.to_thread(
            subprocess.run, command, capture_output=True, text=True, cwd=REPOSITORY, timeout=PATIENCE_S, check=False
        )
    except FileNotFoundError:
        pytest.skip("no unshare here")
    if "unshare" in done.stderr or "max_inotify_watches" in done.stderr:
        pytest.skip("no user namespaces here")
    assert done.stdout.splitlines() == [
        "events",
        "polling no inotify watches are left (fs.inotify.max_user_watches)",
        "True",
    ], done.stderr


def resources() -> tuple[int, int, int]:
    """Threads as Python and as the system counts them, and open files. The threads of looks stay for the next ones."""
    own, kept = Path("/proc/self"), sum(each.name.startswith("strongroom-look_") for each in threading.enumerate())
    return (
        threading.active_count() - kept,
        len(list((own / "task").iterdir())) - kept,
        len(list((own / "fd").iterdir())),
    )


def is_left_no_more_than(before: tuple[int, int, int]) -> bool:
    """Less is well: what another test began may have ended meanwhile."""
    return all(now <= then for now, then in zip(resources(), before, strict=True))


@pytest.mark.parametrize("mode", ["events", "poll"])
async def test_nothing_is_left_after_close(root: Path, mode: str) -> None:
    for number in range(50):
        (root / str(number)).mkdir()
    before, tasks = resources(), len(asyncio.all_tasks())
    for waits in (0.0, 0.001, 0.003, 0.01, 0.05):  # closed while it starts, while it walks, and when it stands
        watcher = Watcher(root, mode, times=WatchTimes(debounce_s=0.02, check_s=0.002))  # type: ignore[arg-type]
        items = watcher.changes()
        consumer = asyncio.create_task(_consume(items))
        await asyncio.sleep(waits)
        await watcher.close()
        await consumer
        assert len(asyncio.all_tasks()) == tasks
        assert watcher.state.reason == "closed"
    await eventually(lambda: is_left_no_more_than(before))


async def _consume(items: AsyncIterator[ChangedPaths]) -> None:
    async for _ in items:
        pass


async def test_nothing_is_left_when_the_consumer_is_cancelled_or_leaves(root: Path) -> None:
    before, tasks = resources(), len(asyncio.all_tasks())
    watcher = Watcher(root)
    consumer = asyncio.create_task(_consume(watcher.changes()))
    await eventually(lambda: watcher.state.mode == "events")
    consumer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await consumer
    async with aclosing(Watcher(root).changes()) as items:
        async for _ in items:
            break
    assert len(asyncio.all_tasks()) == tasks
    await eventually(lambda: is_left_no_more_than(before))


async def test_watching_costs_a_descriptor_and_no_thread(root: Path) -> None:
    for name in ("a/b", ".git/objects/ab", ".strongroom"):
        (root / name).mkdir(parents=True)
    count, threads, descriptors = resources()
    async with closing(Watcher(root, times=WatchTimes(check_s=60))) as items:
        await following(items)
        await eventually(lambda: is_left_no_more_than((count, threads, descriptors + 1)))
        assert _watched_below(root) == [".", "a", "a/b"]  # no hidden folder


def _watched_below(root: Path) -> list[str]:
    """Which of its folders anybody in this process watches. Others may be watched still, from a test before."""
    watched = {
        found[1]
        for info in Path("/proc/self/fdinfo").iterdir()
        if info.exists()
        for found in re.finditer(r"^inotify .*?\bino:(\w+)", info.read_text(), re.MULTILINE)
    }
    folders = [root, *(each for each in root.rglob("*") if each.is_dir())]
    return sorted(str(each.relative_to(root)) for each in folders if f"{each.stat().st_ino:x}" in watched)


async def test_the_source_of_other_systems_tells_the_same(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_watcher, "_choose_source", lambda: watchfiles_source.follow)
    before = resources()
    (root / ".git").mkdir()
    watcher = Watcher(root, times=WatchTimes(check_s=0.05))
    async with closing(watcher) as items:
        assert await following(items) == EVERYTHING
        assert watcher.state.mode == "events"
        (root / ".git/note.md").write_text("x")
        (root / "image.png").write_text("x")
        (root / "folder").mkdir()
        (root / "note.md").write_text("x")
        assert await told(items, "folder", "note.md") == {"folder", "note.md"}
        (root / "folder").rmdir()
        assert await told(items, "folder") <= {"folder", "note.md"}, "the end of that save may come now"
        shutil.rmtree(root)
        looked = asyncio.create_task(looked_at_whole(items))
        await eventually(lambda: watcher.state.mode == "failed")
        root.mkdir()
        await looked
    await eventually(lambda: is_left_no_more_than(before))
