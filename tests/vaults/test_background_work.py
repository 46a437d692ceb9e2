"""Tasks of an open vault start once, only with the lease, and end when the vault closes. A defect in one is told.

Covers vaults.background_defects and vaults.vault.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from server.services import Services
from vaults import background_work
from vaults.background_defects import BackgroundDefects
from vaults.background_work import BackgroundWork, LastingTask
from vaults.db.lease import Lease
from vaults.db.sql import Reader
from vaults.errors import VaultUnavailable
from vaults.observer import NullObserver
from vaults.vault import BackgroundJob, Vault


class Counted(NullObserver):
    """Notes which tasks had a defect."""

    def __init__(self) -> None:
        self.tasks: list[str] = []

    def on_background_defect(self, task: str) -> None:
        self.tasks.append(task)


def noting() -> BackgroundDefects:
    return BackgroundDefects(NullObserver())


class Work:
    """Counts its runs; each waits for ``go``."""

    def __init__(self) -> None:
        self.runs = 0
        self.go = asyncio.Event()

    async def run(self) -> None:
        self.runs += 1
        await self.go.wait()


async def test_work_that_falls_due_while_work_runs_is_done_after_it(tmp_path: Path) -> None:
    work = Work()
    background = BackgroundWork(Lease(tmp_path / ".lease"), work.run, noting())
    background.start()
    await asyncio.sleep(0)
    background.start()
    background.start()
    assert background.is_busy
    work.go.set()
    assert background.due_work is not None
    await background.due_work
    assert work.runs == 2
    assert not background.is_busy
    await background.stop()


async def test_what_calls_made_due_is_looked_for_once_after_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background_work, "SOON_S", 0.0)
    work = Work()
    work.go.set()
    background = BackgroundWork(Lease(tmp_path / ".lease"), work.run, noting())
    background.start_soon()
    background.start_soon()
    assert background.is_busy, "nobody must take the vault for idle meanwhile"
    assert background.due_work is None, "not before the call was answered"
    while background.due_work is None:  # noqa: ASYNC110  a timer tells nobody
        await asyncio.sleep(0)
    await background.due_work
    assert work.runs == 1
    assert not background.is_busy
    await background.stop()


async def test_who_waits_for_due_work_does_not_wait_for_its_start(tmp_path: Path) -> None:
    work = Work()
    work.go.set()
    background = BackgroundWork(Lease(tmp_path / ".lease"), work.run, noting())
    background.start_soon()
    await background.wait()
    assert work.runs == 1
    background.start_soon()
    await background.stop()
    assert not background.is_busy
    background.start_soon()
    assert not background.is_busy, "nothing begins once it was stopped"


async def test_nothing_that_needs_the_lease_runs_without_it(tmp_path: Path) -> None:
    other = Lease(tmp_path / ".lease")
    assert other.try_acquire()
    work = Work()
    background = BackgroundWork(Lease(tmp_path / ".lease"), work.run, noting(), [LastingTask("follow_notes", work.run)])
    background.start()
    background.resume_lasting_tasks()
    assert background.due_work is None
    assert not background.lasting_tasks
    background.run_follow_up(work.run)
    background.run_follow_up(work.run)  # dropped: one is under way
    await asyncio.sleep(0)
    assert work.runs == 1
    await background.stop()
    assert background.follow_up is not None
    assert background.follow_up.cancelled()
    other.release()


async def test_nothing_begins_and_no_lease_is_taken_once_it_was_stopped(tmp_path: Path) -> None:
    """A call that still has a closed vault in hand asks for it, and so may a round of the pool."""
    lease, work = Lease(tmp_path / ".lease"), Work()
    work.go.set()
    background = BackgroundWork(lease, work.run, noting(), [LastingTask("follow_notes", work.run, lambda: True)])
    await background.stop()
    background.start()
    background.start_later(0)
    background.resume_lasting_tasks()
    background.run_follow_up(work.run)
    assert not background.is_ours()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not work.runs
    assert not lease.held


async def test_a_lasting_task_that_failed_begins_again_and_one_that_returned_does_not(tmp_path: Path) -> None:
    outcomes: list[Exception | None] = [VaultUnavailable("not now"), None]

    async def last() -> None:
        if (outcome := outcomes.pop(0)) is not None:
            raise outcome

    background = BackgroundWork(Lease(tmp_path / ".lease"), last, noting(), [LastingTask("follow_notes", last)])
    for left in (1, 0, 0):
        background.resume_lasting_tasks()
        await asyncio.wait(background.lasting_tasks.values())
        assert len(outcomes) == left
    assert not background.has_lasting_task
    await background.stop()


async def test_a_lasting_task_that_returned_begins_again_once_it_is_wanted(tmp_path: Path) -> None:
    work, wanted = Work(), [True, False]
    work.go.set()
    background = BackgroundWork(
        Lease(tmp_path / ".lease"), work.run, noting(), [LastingTask("follow_notes", work.run, wanted.pop)]
    )
    for runs in (1, 1, 2):
        background.resume_lasting_tasks()
        await asyncio.wait(background.lasting_tasks.values())
        assert work.runs == runs
    await background.stop()


async def test_a_defect_of_a_lasting_task_or_a_follow_up_is_counted_and_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken() -> None:
        raise ZeroDivisionError("what a memory says")

    seen = Counted()
    background = BackgroundWork(
        Lease(tmp_path / ".lease"), broken, BackgroundDefects(seen, of="main"), [LastingTask("follow_notes", broken)]
    )
    for _ in range(2):
        background.resume_lasting_tasks()
        await asyncio.wait(background.lasting_tasks.values())
    background.run_follow_up(broken)
    assert background.follow_up is not None
    await background.follow_up
    assert seen.tasks == ["follow_notes", "follow_notes", "follow_up"]
    assert background.defects.current["follow_notes"].times == 2
    assert "what a memory says" not in str(background.defects.current)
    assert [each.getMessage() for each in caplog.records] == [
        "background task follow_notes failed (vault: main)",
        "background task follow_up failed (vault: main)",
    ]
    await background.stop()


async def test_what_is_down_is_no_defect_and_one_that_ended_well_is_over() -> None:
    seen = Counted()
    defects = BackgroundDefects(seen)

    async def end_with(failure: Exception | None) -> None:
        if failure is not None:
            raise failure

    with pytest.raises(VaultUnavailable):
        await defects.outlive("retention", end_with(VaultUnavailable("not now")))
    assert not seen.tasks
    await defects.outlive("retention", end_with(KeyError()))
    assert list(defects.current) == ["retention"]
    await defects.outlive("retention", end_with(None))
    assert not defects.current


async def test_one_snapshot_tells_which_jobs_are_due(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Reader] = []

    def is_due(tx: Reader) -> bool:
        asked.append(tx)
        return False

    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await vault.background.wait()
        monkeypatch.setattr(vault, "_jobs", [BackgroundJob("retention", is_due, nothing)] * 3)
        vault.start_background_work()
        await vault.background.wait()
    assert len(asked) == 3
    assert all(tx is asked[0] for tx in asked)


async def test_a_job_that_an_earlier_one_makes_due_is_done_in_the_same_round(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    async def first(_: Vault) -> None:
        done.append("first")

    async def second(_: Vault) -> None:
        done.append("second")

    jobs = [
        BackgroundJob("retention", lambda _: not done, first),
        BackgroundJob("retention", lambda _: done == ["first"], second),
    ]
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await vault.background.wait()
        monkeypatch.setattr(vault, "_jobs", jobs)
        vault.start_background_work()
        await vault.background.wait()
    assert done == ["first", "second"]


async def nothing(_: Vault) -> None:
    raise AssertionError("it was not due")
