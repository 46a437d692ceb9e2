"""A consumer that looks only where it is told ends up knowing the folder as it is."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.work import PATIENCE_S
from vaults.files.watch.folder_watcher import ChangedPaths, Watcher, WatchTimes

# Another process, so that it runs between any two steps of the watcher.
CHURN = """
import pathlib, random, shutil, sys, time
root, seed, steps = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
dice = random.Random(seed)
def folder():
    place = root
    for _ in range(dice.randrange(4)):
        place = place / dice.choice("abc")
    return place
for _ in range(steps):
    act, one, two = dice.randrange(12), folder(), folder()
    try:
        if act < 5:
            one.mkdir(parents=True, exist_ok=True)
            (one / f"{dice.randrange(4)}.md").write_text(str(dice.random()))
        elif act < 7:
            one.rename(two / dice.choice("abc"))
        elif act == 7:
            two.mkdir(parents=True, exist_ok=True)
            (one / f"{dice.randrange(4)}.md").rename(two / f"{dice.randrange(4)}.md")
        elif act == 8:
            (one / f"{dice.randrange(4)}.md").unlink()
        elif act == 9 and one != root:
            shutil.rmtree(one)
        elif act == 10:
            if sum(1 for _ in one.rglob("*")) < 30:
                shutil.copytree(one, root.parent / "copy")
                (root.parent / "copy").rename(two / dice.choice("abc"))
        else:
            time.sleep(dice.random() / 100)
    except (OSError, shutil.Error):
        shutil.rmtree(root.parent / "copy", ignore_errors=True)
"""


STEPS = "1500"


def looked(root: Path, path: str) -> dict[str, int]:
    """Every note at or below ``path``, with the moment of its last change."""
    place = root / path
    if not place.is_dir():
        return {path: place.stat().st_mtime_ns} if place.exists() else {}
    found = {}
    for folder, _, names in os.walk(place):
        for name in names:
            note = Path(folder, name)
            found[str(note.relative_to(root))] = note.stat().st_mtime_ns
    return found


class Reader:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.known: dict[str, int] = {}
        self.rescans = 0

    def look(self, changed: ChangedPaths) -> None:
        self.rescans += changed.rescan
        for path in [""] if changed.rescan else changed.paths:
            inside = f"{path}/" if path else ""
            self.known = {
                known: seen for known, seen in self.known.items() if known != path and not known.startswith(inside)
            }
            self.known |= self._retried(path)

    def _retried(self, path: str) -> dict[str, int]:
        while True:
            try:
                return looked(self.root, path)
            except OSError:
                continue  # it changed under us: we are told again

    async def follow(self, watcher: Watcher) -> None:
        async for changed in watcher.changes():
            self.look(changed)


@pytest.mark.parametrize("seed", [1, 2])
async def test_churn_of_files_and_folders_is_followed_without_a_rescan(tmp_path: Path, seed: int) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    watcher, reader = Watcher(root, times=WatchTimes(debounce_s=0.02, rescan_s=1_000)), Reader(root)
    following = asyncio.create_task(reader.follow(watcher))
    await asyncio.sleep(0.05)
    churn = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHURN, str(root), str(seed), STEPS,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    assert await churn.wait() == 0
    try:
        async with asyncio.timeout(PATIENCE_S):
            while reader.known != looked(root, ""):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
    except TimeoutError:
        assert reader.known == looked(root, "")
    finally:
        await watcher.close()
        await following
    assert reader.known
    assert reader.rescans == 1, "the first one"
