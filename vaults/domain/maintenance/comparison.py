"""Comparing a whole database, part by part: a small one on a thread, any other in processes, so that whoever is served
meanwhile waits for none of it."""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial

from vaults.child_processes import ChildProcess, answer_messages, receive_message, start_process
from vaults.context import run_in
from vaults.db.failures import damaged_error
from vaults.domain.maintenance.comparison_parts import ComparedDatabase, ComparisonPart, MemoriesPart, split
from vaults.domain.maintenance.disagreements import Disagreements
from vaults.errors import StrongroomError, VaultQuarantined, VaultUnavailable
from vaults.paces import paced, unpaced

MANY_BYTES = 32 << 20
"""Bytes of a database from which processes are used: to start two takes as long as comparing some 15 MB."""

MAX_PROCESSES = 4
"""Never more than there are cores."""

NICENESS = 10
"""Callers come first."""

CHILD = "from vaults.domain.maintenance.comparison import serve; serve()"

OnCompared = Callable[[int, int], None]
"""Called now and then: memories compared so far, of how many."""


async def compare(database: ComparedDatabase, thread: Executor, progress: OnCompared) -> Disagreements:
    """What disagrees. Raises ``VaultQuarantined`` where the file is damaged, ``VaultUnavailable``."""
    parts = await run_in(thread, split, database)
    run = _Run(database, deque(parts), sum(map(_count_memories, parts)), progress)
    if database.path.stat().st_size >= MANY_BYTES:
        await run.share_out()
    while run.waiting:  # all of them, unless processes took them
        part = run.waiting.popleft()
        run.take(part, await run_in(thread, part.compare, database, paced))
    return run.found


def _count_memories(part: ComparisonPart) -> int:
    return part.span.count if isinstance(part, MemoriesPart) else 0


class _Run:
    """One comparison under way."""

    def __init__(
        self, database: ComparedDatabase, waiting: deque[ComparisonPart], total: int, progress: OnCompared
    ) -> None:
        self.database, self.waiting, self.found = database, waiting, Disagreements()
        self._total, self._done, self._progress = total, 0, progress

    def take(self, part: ComparisonPart, found: Disagreements) -> None:
        """Add what a part found."""
        self.found.add(found)
        if count := _count_memories(part):
            self._done += count
            self._progress(self._done, self._total)

    async def share_out(self) -> None:
        """Let processes compare what waits; where none can be started, it goes on waiting."""
        async with AsyncExitStack() as stack:
            count = min(MAX_PROCESSES, os.cpu_count() or 1, len(self.waiting))
            started = [await start_process(CHILD, stack) for _ in range(count)]
            feeding = [asyncio.create_task(self._feed(process)) for process in started if process is not None]
            try:
                await asyncio.gather(*feeding)
            finally:
                for task in feeding:
                    task.cancel()
                await asyncio.gather(*feeding, return_exceptions=True)

    async def _feed(self, process: ChildProcess) -> None:
        process.tell(self.database)
        while self.waiting:
            part = self.waiting.popleft()
            answer = await process.request(part)
            if answer is None:
                raise VaultUnavailable("a process that compares ended early", hint="look at memory; verify again")
            found = pickle.loads(answer)  # noqa: S301  of our own child
            if isinstance(found, _Failed):
                raise found.to_error()
            self.take(part, found)


@dataclass(frozen=True, slots=True)
class _Failed:
    """Why a process could not compare a part. Words of ours or the name of a class: nothing that is stored."""

    message: str
    is_damage: bool

    def to_error(self) -> StrongroomError:
        return damaged_error() if self.is_damage else VaultUnavailable(f"it could not be compared: {self.message}")


def serve() -> None:
    """What a process does: it is told of a database, then compares part after part of it."""
    os.nice(NICENESS)
    database = receive_message(sys.stdin.buffer)
    assert isinstance(database, ComparedDatabase)
    answer_messages(partial(_answer, database))


def _answer(database: ComparedDatabase, message: object) -> Disagreements | _Failed:
    try:
        return message.compare(database, unpaced)  # type: ignore[attr-defined, no-any-return]
    except VaultQuarantined as failure:
        return _Failed(failure.message, is_damage=True)
    except StrongroomError as failure:
        return _Failed(failure.message, is_damage=False)
    except Exception as failure:  # noqa: BLE001  the parent raises it
        return _Failed(type(failure).__name__, is_damage=False)
