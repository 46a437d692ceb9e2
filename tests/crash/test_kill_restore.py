"""Restores killed at any call: the vault is the one that stood there or the restored one, whole."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ops.backup import restore_leftovers
from ops.backup.archive_writer import write_archive
from ops.backup.staging import stage
from ops.backup.subject import read_subject
from server import vault_admin
from server.services import Services
from tests.crash.child import Child, strace
from tests.crash.notes_work import ask, opened
from tests.crash.restore_work import work
from tests.ops.backup.restoring import as_owner_of
from vaults.domain.maintenance.verification import verify

SWEEP = max(3, int(os.environ.get("STRONGROOM_CRASH_POINTS", "12")))
THEN, SINCE = "thenword", "sinceword"
State = Mapping[str, Any]


async def _state(services: Services) -> State:
    """What the vault says: memories and notes."""
    memories = (await ask(services, "memory_list", limit=200, max_tokens=50_000)).content["memories"]
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        report = await verify(vault)
        assert report.agrees, report
        root = vault.notes.root
        assert await vault.db.run_on_writer(lambda raw: raw.execute("PRAGMA integrity_check").fetchall()) == [("ok",)]
    notes = {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*.md")
        if ".strongroom" not in path.parts
    }
    return {"memories": sorted(each["content"] for each in memories), "notes": notes}


async def _fill(services: Services, word: str) -> None:
    for number in range(5):
        assert (await ask(services, "remember", content=f"{word} memory {number}")).ok
        note = {"path": f"notes/{number}.md", "content": f"# {word} {number}\n", "mode": "overwrite"}
        assert (await ask(services, "note_write", **note)).ok
    assert (await ask(services, "note_write", path=f"only-{word}.md", content=word)).ok


async def _archive(services: Services, to: Path) -> Path:
    subject = await read_subject(
        services.control, services.data, services.registry_cache.entry("main"),
        version="1", storage=services.settings.storage, notes=services.settings.notes,
    )  # fmt: skip
    (to / "staged").mkdir(parents=True)
    staged = await asyncio.to_thread(stage, subject, to / "staged")
    return (await asyncio.to_thread(write_archive, staged, to)).path


class Ground:
    """A template to copy for each kill, an archive, and the two states there may be."""

    def __init__(self, template: Path, archive: Path, then: State, since: State) -> None:
        self.template, self.archive, self.then, self.since = template, archive, then, since

    def lay_out(self) -> Path:
        """A fresh copy where the template was made: a folder served in place is registered by its path."""
        data = self.template.with_name("work")
        shutil.rmtree(data, ignore_errors=True)
        shutil.copytree(self.template, data, symlinks=True)
        return data / "data"


async def _ground(tmp_path: Path, in_place: bool) -> Ground:
    work_folder = tmp_path / "work"
    data = work_folder / "data"
    data.mkdir(parents=True)
    if in_place:
        from server.services import open_services
        from server.settings import load
        from server.tools import discover
        from tests.fakes import HashEmbedder

        (work_folder / "mine").mkdir()
        loaded = load(data, flags={"storage.reserve_mb": 0}, environment={})
        async with open_services(loaded.settings, data, discover(), load_model=HashEmbedder) as services:
            await vault_admin.create(services, "main", work_folder / "mine")
    async with opened(data) as services:
        await _fill(services, THEN)
        archive = await _archive(services, tmp_path / "archive")
        then = await _state(services)
        await _fill(services, SINCE)
        since = await _state(services)
    template = tmp_path / "template"
    shutil.move(work_folder, template)
    return Ground(template, archive, then, since)


async def _kill(ground: Ground, kill: tuple[str, int]) -> str | None:
    """Which state the killed process left; None if it was not killed."""
    data = ground.lay_out()
    child = await asyncio.to_thread(Child, work, data, str(ground.archive), kill)
    for parent in (data / "vaults", data.parent / "mine"):
        restore_leftovers.sweep(parent)
        if parent.exists():
            left = [each.name for each in parent.iterdir() if each.name.startswith((".restoring", ".replaced"))]
            assert not left, (kill, left)
    async with opened(data) as services:
        state = await _state(services)
    assert state in (ground.then, ground.since), (kill, child.killed, state)
    if child.acknowledged:
        assert state == ground.then, "it was said to be restored"
    return ("then" if state == ground.then else "since") if child.killed else None


@strace
@pytest.mark.parametrize("in_place", [False, True])
async def test_a_restore_killed_at_the_exchange_leaves_one_vault_whole(tmp_path: Path, in_place: bool) -> None:
    ground = await _ground(tmp_path, in_place)
    assert await _kill(ground, ("renameat2", 1)) == "since"


CALLS = ("renameat2", "renameat", "fsync", "syncfs", "unlink", "unlinkat", "pwrite64", "openat")


@pytest.mark.crash
@strace
@pytest.mark.parametrize(
    ("call", "in_place"), [*((call, False) for call in CALLS), *((call, True) for call in (*CALLS, "rename"))]
)
async def test_a_restore_killed_at_any_call_leaves_one_vault_whole(tmp_path: Path, call: str, in_place: bool) -> None:
    ground = await _ground(tmp_path, in_place)
    data = ground.lay_out()
    whole = await asyncio.to_thread(Child, work, data, str(ground.archive), (call, 0))
    assert whole.calls, f"no {call} is made any more"
    left = [
        await _kill(ground, (call, point))
        for point in sorted({1 + round(n * (whole.calls - 1) / max(1, SWEEP - 1)) for n in range(SWEEP)})
    ]
    assert any(left), "the sweep killed nothing"


@pytest.mark.crash
@strace
@pytest.mark.parametrize("call", ["renameat", "fsync", "unlink", "pwrite64"])
async def test_a_new_vault_whose_restore_was_killed_is_there_whole_or_not_at_all(tmp_path: Path, call: str) -> None:
    ground = await _ground(tmp_path, in_place=False)
    kind = f"{ground.archive}:copy"
    whole = await asyncio.to_thread(Child, work, ground.lay_out(), kind, (call, 0))
    assert whole.calls, f"no {call} is made any more"
    killed = 0
    for point in sorted({1 + round(n * (whole.calls - 1) / max(1, SWEEP - 1)) for n in range(SWEEP)}):
        data = ground.lay_out()
        child = await asyncio.to_thread(Child, work, data, kind, (call, point))
        killed += child.killed
        async with opened(data) as services:
            known = services.registry_cache.known("copy")
            assert known or not child.acknowledged, point
            assert sorted(each.name for each in (data / "vaults").iterdir()) == ["copy", "main"][not known :], point
            assert await _state(services) == ground.since
            if known:
                said = (await as_owner_of(services, "copy")("memory_list", limit=200, max_tokens=50_000)).content
                assert sorted(each["content"] for each in said["memories"]) == ground.then["memories"], point
    assert killed, "the sweep killed nothing"
