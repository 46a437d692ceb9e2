"""Processes killed while they change notes. The quick ones run always; sweeps over system calls: ``make crash``.

``STRONGROOM_CRASH_POINTS`` says how many kill points of each call are tried, spread over all there are.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from server.services import Services
from tests.crash.child import Child, strace
from tests.crash.notes_oracle import Files, agrees, check, files_of, notes_of
from tests.crash.notes_work import CHANGES, HUB, MOVED, SEED, ask, opened, work
from tests.noted import folder, put
from vaults.graph.links import link_history

ROOT = Path(__file__).resolve().parents[2]
SWEEP = max(3, int(os.environ.get("STRONGROOM_CRASH_POINTS", "12")))  # the last of two may be a call too far
CALLS = (
    "pwrite64",
    "write",
    "fsync",
    "fdatasync",
    "openat",
    "rename",
    "renameat",
    "renameat2",
    "unlinkat",
    "linkat",
    "mkdirat",
)
MIDST = dict.fromkeys(("create", "edit", "delete", "move", "fix", "policy", "merge"), "renameat2")
"""Calls between the steps of a change, after its journal entry."""

ALWAYS = ("pwrite64", "fsync", "renameat2")
"""Calls that no change can do without."""

GIT = {"notes.history": "auto"}


async def states_of(template: Path, kind: str) -> list[Files]:
    """The files before the changes of a kind, and after each of them."""
    data = template.with_name(f"clean-{kind}")
    shutil.copytree(template, data)
    found: list[Files] = [files_of(notes_of(data))]
    async with opened(data) as services:
        for tool, arguments in CHANGES[kind]:
            outcome = await ask(services, tool, **arguments)
            assert outcome.ok, outcome.text
            found.append(files_of(notes_of(data)))
    shutil.rmtree(data)
    return found


@pytest.fixture
async def template(tmp_path: Path) -> Path:
    """A vault whose notes are all indexed, to be copied for each kill."""
    data = tmp_path / "template"
    put(folder(data), SEED)
    async with opened(data):
        pass
    return data


async def _killed_at(data: Path, template: Path, kind: str, kill: tuple[str, int], states: list[Files]) -> int | None:
    """The state that a run which was killed has left; None when it was not killed."""
    shutil.copytree(template, data)
    child = await asyncio.to_thread(Child, work, data, kind, kill)
    left = await check(data, states, child.acknowledged)
    shutil.rmtree(data)
    return left if child.killed else None


@strace
@pytest.mark.parametrize(("kind", "call"), MIDST.items())
async def test_a_kill_between_two_steps_of_a_change_carries_it_through(
    tmp_path: Path, template: Path, kind: str, call: str
) -> None:
    states = await states_of(template, kind)
    left = await _killed_at(tmp_path / "data", template, kind, (call, 1), states)
    assert left == 1, "the journal had begun it"


@strace
async def test_a_kill_while_a_kill_is_being_recovered_from_changes_nothing(tmp_path: Path, template: Path) -> None:
    await _killed_twice(tmp_path, template, ("renameat2", 3), ("renameat2", 2))


@strace
async def test_what_is_known_of_a_note_follows_it_through_a_move_that_was_killed(
    tmp_path: Path, template: Path
) -> None:
    data = tmp_path / "data"
    shutil.copytree(template, data)
    async with opened(data) as services:
        edit = {"path": HUB, "section": "Plan", "content": "to [[log]] editword5"}
        assert (await ask(services, "note_edit", **edit)).ok
        number = await _number(services, HUB)
    assert (await asyncio.to_thread(Child, work, data, "move", ("renameat2", 1))).killed
    async with opened(data) as services, services.pool.lease(services.registry_cache.entry("main")) as vault:
        assert await _number(services, MOVED) == number, "its scores, vectors and passages stay its own"
        assert await vault.db.read(lambda tx: link_history.read_edits(tx, MOVED)) == 2
        came = "SELECT target, added FROM link_history WHERE path = ? ORDER BY seq"
        assert ("log", 1) in await vault.db.read(lambda tx: tx.all(came, (MOVED,)))
        await agrees(vault, files_of(notes_of(data)))


async def _number(services: Services, path: str) -> int:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        return int(await vault.db.read(lambda tx: tx.value("SELECT seq FROM notes WHERE path = ?", (path,))))


@pytest.mark.crash
@strace
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", CHANGES)
async def test_a_kill_at_any_call_leaves_each_change_whole_or_absent(
    tmp_path: Path, template: Path, kind: str, call: str
) -> None:
    states = await states_of(template, kind)
    left: list[int] = []
    for point in range(1, SWEEP + 1):
        now = await _killed_at(tmp_path / f"{point}", template, kind, (call, point), states)
        if now is None:
            break
        left.append(now)
    assert left or call not in ALWAYS, "the sweep killed nothing: is the call still made?"


@pytest.mark.crash
@strace
@pytest.mark.parametrize("call", ["pwrite64", "write", "fsync", "renameat", "renameat2", "unlinkat"])
@pytest.mark.parametrize("first", range(1, 8, 3))
async def test_a_second_kill_at_any_call_of_the_recovery(tmp_path: Path, template: Path, first: int, call: str) -> None:
    for point in range(1, SWEEP + 1):
        if not await _killed_twice(tmp_path / f"{point}", template, ("renameat2", first), (call, point)):
            break


async def _killed_twice(tmp_path: Path, template: Path, first: tuple[str, int], second: tuple[str, int]) -> bool:
    """A move killed in its midst, and the process that recovers from it too, if it comes so far."""
    tmp_path.mkdir(exist_ok=True)
    states = await states_of(template, "move")
    data = tmp_path / "data"
    shutil.copytree(template, data)
    assert (await asyncio.to_thread(Child, work, data, "move", first)).killed
    recovering = await asyncio.to_thread(Child, work, data, "open", second)
    assert await check(data, states) == 1
    shutil.rmtree(data)
    return recovering.killed


@strace
@pytest.mark.parametrize(
    "point", [2, pytest.param(1, marks=pytest.mark.crash), pytest.param(5, marks=pytest.mark.crash)]
)
async def test_what_another_process_was_killed_in_is_finished_by_the_one_that_lives(
    tmp_path: Path, template: Path, point: int
) -> None:
    states = await states_of(template, "move")
    data = tmp_path / "data"
    shutil.copytree(template, data)
    async with opened(data) as services:
        assert (await asyncio.to_thread(Child, work, data, "move", ("renameat2", point))).killed
        # An edit of a note in the midst of it: at once, or after a look at what the other process has left.
        edits = [await ask(services, "note_edit", path="linking/from4.md", content="editword9") for _ in range(2)]
        assert edits[-1].ok, edits[-1].text
        words = sum(edit.ok for edit in edits)
    after = dict(states[1])
    after["linking/from4.md"] += b"\neditword9\n" * words
    assert await check(data, [after]) == 0


@pytest.mark.crash
@strace
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize(
    "call", ["openat", "write", "fsync", "rename", "unlink", "link", "mkdir", "pwrite64", "renameat2"]
)
async def test_a_kill_while_git_is_written_loses_no_commit(tmp_path: Path, template: Path, call: str) -> None:
    states = await states_of(template, "edit")
    for point in range(1, 4 * SWEEP + 1, 4):
        data = tmp_path / f"{point}"
        shutil.copytree(template, data)
        child = await asyncio.to_thread(Child, work, data, "edit", (call, point), **GIT)
        _age_locks(data)
        left = await check(data, states, child.acknowledged, **GIT)
        await asyncio.to_thread(_holds, data, states[left])
        shutil.rmtree(data)
        if not child.killed:
            break


def _age_locks(data: Path) -> None:
    """As after a minute: a reference's lock that a kill left is respected for half of one, as somebody may hold it."""
    for lock in (data / "vaults" / "main" / "history.git").rglob("refs/strongroom/*.lock"):
        os.utime(lock, (time.time() - 60, time.time() - 60))


def _holds(data: Path, files: Files) -> None:
    """The repository is sound, free of locks, and its last commit holds what the tools left."""
    repository = data / "vaults" / "main" / "history.git"
    assert not list(repository.rglob("*.lock"))
    git = ["git", "--git-dir", str(repository)]
    refs = subprocess.run([*git, "for-each-ref", "--format=%(objectname)"], check=False, capture_output=True, text=True)
    if not refs.stdout:
        assert files["log.md"] == SEED["log.md"].encode()
        return
    subprocess.run([*git, "fsck", "--strict"], check=True, capture_output=True)
    held = subprocess.run([*git, "show", f"{refs.stdout.split()[-1]}:log.md"], check=True, capture_output=True).stdout
    assert held == files["log.md"]
