"""A server of a cluster that is killed while it changes notes, and burns: the next one has what was acknowledged.

The quick ones run always; sweeps over system calls: ``make crash``.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from tests.crash import cluster_notes_work
from tests.crash.child import Child, strace
from tests.crash.cluster_notes_work import hold, log_of
from tests.crash.folder_log import VAULT, FolderLog
from tests.crash.notes_oracle import Files, check, files_of, notes_of
from tests.crash.notes_work import CHANGES, SEED, ask, opened
from tests.noted import folder, put
from vaults.cluster.restore import refuse_unsound, restore
from vaults.domain.notes.commit.folder_layout import lay_out_notes
from vaults.settings import StorageSettings

SWEEP = max(3, int(os.environ.get("STRONGROOM_CRASH_POINTS", "12")))
CALLS = ("pwrite64", "write", "fsync", "openat", "rename", "renameat2", "unlinkat", "mkdirat")
KINDS = ("create", "edit", "delete", "move", "policy")


@pytest.fixture
async def template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A vault whose notes are all in the log, to be copied with it for each kill."""
    data = tmp_path / "template"
    put(folder(data), SEED)
    with monkeypatch.context() as patch:
        hold(data, patch.setattr)
        async with opened(data):
            pass
    return data


def copied(template: Path, data: Path) -> None:
    shutil.copytree(template, data)
    shutil.copytree(log_of(template), log_of(data))


def elsewhere_of(data: Path) -> Path:
    """Another server's folder: all that is left of the vault is its log."""
    other = data.with_name(f"{data.name}-elsewhere")
    main = other / "vaults" / "main"
    main.mkdir(parents=True)
    for each in data.glob("control.db*"):
        shutil.copy(each, other)
    log = FolderLog(log_of(data))
    restore(log, VAULT, main / "vault.db", log.placement.head, refuse_unsound)
    lay_out_notes(main / "vault.db", main / "notes", StorageSettings())
    shutil.copytree(log_of(data), log_of(other))
    return other


async def states_of(template: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> list[Files]:
    data = template.with_name(f"clean-{kind}")
    copied(template, data)
    found = [files_of(notes_of(data))]
    with monkeypatch.context() as patch:
        hold(data, patch.setattr)
        async with opened(data) as services:
            for tool, arguments in CHANGES[kind]:
                outcome = await ask(services, tool, **arguments)
                assert outcome.ok, outcome.text
                found.append(files_of(notes_of(data)))
    assert files_of(notes_of(elsewhere_of(data))) == found[-1]
    return found


async def killed_at(
    data: Path, template: Path, kind: str, kill: tuple[str, int], states: list[Files], patch: pytest.MonkeyPatch
) -> int | None:
    """The state that another server finds; None where nothing was killed."""
    copied(template, data)
    child = await asyncio.to_thread(Child, cluster_notes_work.work, data, kind, kill)
    other = elsewhere_of(data)
    shutil.rmtree(data)
    with patch.context() as held:
        hold(other, held.setattr)
        left = await check(other, states, child.acknowledged)
    shutil.rmtree(other)
    return left if child.killed else None


@strace
@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_killed_between_two_steps_of_a_change_left_it_to_the_next_one(
    tmp_path: Path, template: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = await states_of(template, kind, monkeypatch)
    left = await killed_at(tmp_path / "data", template, kind, ("renameat2", 1), states, monkeypatch)
    assert left == 1, "the journal in the log had begun it"


@pytest.mark.crash
@strace
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_kill_at_any_call_leaves_each_change_whole_or_absent_elsewhere(
    tmp_path: Path, template: Path, kind: str, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = await states_of(template, kind, monkeypatch)
    left: list[int] = []
    for point in range(1, SWEEP + 1):
        now = await killed_at(tmp_path / f"{point}", template, kind, (call, point), states, monkeypatch)
        if now is None:
            break
        left.append(now)
    assert left or call not in ("pwrite64", "rename"), "the sweep killed nothing: is the call still made?"
