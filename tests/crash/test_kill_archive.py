"""Processes killed while an archive is written. Sweeps: ``make crash``, with ``STRONGROOM_CRASH_POINTS`` points of each
call, spread over all there are."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from ops.backup.archive_reader import open_archive
from ops.backup.partial_files import SUFFIX
from tests.crash.archive_work import work
from tests.crash.child import Child, strace
from tests.crash.notes_work import ask, opened

POINTS = max(3, int(os.environ.get("STRONGROOM_CRASH_POINTS", "12")) // 2)


@pytest.fixture
async def template(tmp_path: Path) -> Path:
    """A vault with a memory and notes, and one archive of it."""
    data = tmp_path / "template"
    (data / "to").mkdir(parents=True)
    async with opened(data, {"notes.watch": "off"}) as services:
        assert (await ask(services, "remember", content="the harbour pilot comes at nine")).ok
        for number in range(3):
            assert (await ask(services, "note_write", path=f"n{number}.md", content="# N\n" + "line " * 9000)).ok
    assert not Child(work, data, "archive").killed
    return data


def archives(data: Path) -> list[str]:
    """Every file that claims to be an archive is one, to its last byte."""
    found = sorted(each.name for each in (data / "to").glob("*.tar.zst"))
    for name in found:
        assert open_archive(data / "to" / name).verify().counts["memories"] == 1
    return found


def state(data: Path) -> dict[str, bytes]:
    """The vault's own files, but those SQLite makes while it is open."""
    folder = data / "vaults"
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))
    }


@pytest.mark.crash
@strace
@pytest.mark.parametrize("call", ["write", "pwrite64", "fsync", "renameat2", "unlink", "mkdir", "openat"])
async def test_a_kill_at_any_step_leaves_no_half_archive_and_the_vault_as_it_was(
    tmp_path: Path, template: Path, call: str
) -> None:
    shutil.copytree(template, tmp_path / "count")
    undisturbed = await asyncio.to_thread(Child, work, tmp_path / "count", "archive", (call, 0))
    assert not undisturbed.killed
    assert undisturbed.calls, "the call is not made any more"
    (older,), vault = archives(template), state(template)
    kills = 0
    for point in sorted({1 + round(n * (undisturbed.calls - 1) / (POINTS - 1)) for n in range(POINTS)}):
        data = tmp_path / f"{point}"
        shutil.copytree(template, data)
        child = await asyncio.to_thread(Child, work, data, "archive", (call, point))
        kills += child.killed
        stood = archives(data)
        assert older in stood
        assert state(data) == vault
        assert len(stood) == 2 or child.killed
        assert not (await asyncio.to_thread(Child, work, data, "archive")).killed
        assert len(archives(data)) == len(stood) + 1
        assert not list((data / "to").glob(f".*{SUFFIX}"))
        assert not list((data / "backup-scratch").glob("scratch-*"))
        shutil.rmtree(data)
    assert kills, "the sweep killed nothing"
