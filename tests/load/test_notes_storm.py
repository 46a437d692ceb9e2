"""Many files at once, as a checkout makes them: the index follows, and the loop stays free."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.conftest import Opening
from tests.vaults.domain.notes.notes_desk import Desk, desk_in
from vaults.domain.notes.index.extraction import compute_digest

FILES = int(os.environ.get("STRONGROOM_LOAD_FILES", "50000"))
PER_FOLDER = 250
PATIENCE_S = 300


def _write(root: Path, number: int, text: str) -> None:
    for first in range(0, number, PER_FOLDER):
        folder = root / f"part{first // PER_FOLDER}"
        folder.mkdir(exist_ok=True)
        for each in range(first, min(first + PER_FOLDER, number)):
            (folder / f"note{each}.md").write_text(f"# Note {each}\n\n{text} word{each}\n")


def _elsewhere(root: Path) -> None:
    """The same texts at other paths, in other files: another branch."""
    for folder in sorted(root.glob("part*")):
        shutil.copytree(folder, root / f"other-{folder.name}")
        shutil.rmtree(folder)


def _fewer(root: Path) -> None:
    for folder in sorted(root.glob("other-*"))[::2]:
        shutil.rmtree(folder)


def _on_disk(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): compute_digest(path.read_bytes()) for path in root.rglob("*.md")}


async def _follows(desk: Desk) -> None:
    wanted = await asyncio.to_thread(_on_disk, desk.root)
    async with asyncio.timeout(PATIENCE_S):
        while dict(await desk.vault.db.read(lambda tx: tx.all("SELECT path, hash FROM notes"))) != wanted:  # noqa: ASYNC110 - a poll
            await asyncio.sleep(0.1)


STORMS: list[Callable[[Path, int], None]] = [
    lambda root, number: _write(root, number, "first"),
    lambda root, number: _write(root, number, "second"),
    lambda root, _: _elsewhere(root),
    lambda root, _: _fewer(root),
]


async def _weather(opening: Opening, number: int, storms: Sequence[Callable[[Path, int], None]]) -> None:
    longest = 0.0

    async def beat() -> None:
        nonlocal longest
        while True:
            began = time.thread_time()  # of the loop's own work, not of what else the machine does
            await asyncio.sleep(0.01)
            longest = max(longest, time.thread_time() - began)

    async with desk_in(opening, {"notes.watch": "auto"}) as desk:
        beating, begun = asyncio.create_task(beat()), time.process_time()
        for storm in storms:
            await asyncio.to_thread(storm, desk.root, number)
            edited = await desk.ask("note_write", path="agent.md", content="agentword\n", mode="overwrite")
            assert edited.ok, edited.text
            await _follows(desk)
        beating.cancel()
        spent = time.process_time() - begun
    print(f"longest {longest:.2f} s of {spent:.2f} s")
    assert longest < spent / 4, "the loop stood still"


async def test_the_index_follows_a_checkout_of_many_files(opening: Opening) -> None:
    await _weather(opening, 2100, STORMS[::2])


@pytest.mark.load
async def test_the_index_follows_a_checkout_of_fifty_thousand_files(opening: Opening) -> None:
    await _weather(opening, FILES, STORMS)
