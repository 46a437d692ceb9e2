"""Reading many notes for the index: a few on a thread, thousands in processes of their own.

Parsing and cutting a note takes more than a millisecond of Python, which uses one core per process; so the first scan
of a big vault is shared out. The processes get paths and return what they read; they know no database.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
from collections.abc import AsyncGenerator, Sequence

from vaults.child_processes import ChildProcess, start_process
from vaults.context import run_in
from vaults.domain.notes.index import file_reader
from vaults.domain.notes.index.file_reader import FileToRead, ReadBatch, ReaderJob
from vaults.vault import Vault

MANY_FILES = 600
"""Number of notes from which processes are used: starting them takes as long as reading some two hundred."""

MAX_PROCESSES = 4
"""Max reader processes; never more than there are cores."""

_CHILD = "from vaults.domain.notes.index.file_reader import serve_reader; serve_reader()"
"""What a process runs."""


async def read_batches(
    vault: Vault, batches: Sequence[list[FileToRead]]
) -> AsyncGenerator[tuple[int, ReadBatch], None]:
    """Read batches of notes; yields each with its number of files, in any order."""
    count = sum(map(len, batches))
    many = count >= MANY_FILES and (os.cpu_count() or 1) > 1
    stream = _read_by_processes(vault, batches) if many else _read_by_thread(vault, batches)
    async with contextlib.aclosing(stream) as found:
        async for each in found:
            yield each


def make_job(vault: Vault) -> ReaderJob:
    """The parameters for reading this vault's notes."""
    return ReaderJob(str(vault.notes.root), vault.notes.settings.max_note, vault.shared.index.passage_tokens)


async def _read_by_thread(
    vault: Vault, batches: Sequence[list[FileToRead]]
) -> AsyncGenerator[tuple[int, ReadBatch], None]:
    """Read one batch ahead of the caller, who writes the rows."""
    pool, tree, job = vault.shared.pool, vault.notes.tree, make_job(vault)
    ahead: asyncio.Task[ReadBatch] | None = None
    try:
        for number, batch in enumerate(batches):
            ahead = ahead or asyncio.create_task(run_in(pool, file_reader.read_files, tree, batch, job))
            readings = await ahead
            following = batches[number + 1] if number + 1 < len(batches) else None
            ahead = (
                asyncio.create_task(run_in(pool, file_reader.read_files, tree, following, job)) if following else None
            )
            yield len(batch), readings
    finally:
        if ahead is not None:
            await asyncio.gather(ahead, return_exceptions=True)


async def _read_by_processes(
    vault: Vault, batches: Sequence[list[FileToRead]]
) -> AsyncGenerator[tuple[int, ReadBatch], None]:
    waiting = list(reversed(batches))
    done: asyncio.Queue[tuple[int, ReadBatch] | Exception] = asyncio.Queue(2 * MAX_PROCESSES)
    count = min(MAX_PROCESSES, os.cpu_count() or 1, len(batches))
    feeding = [asyncio.create_task(_feed(vault, waiting, done), name="reader") for _ in range(count)]
    try:
        for _ in range(len(batches)):
            found = await done.get()
            if isinstance(found, Exception):
                raise found
            yield found
    finally:
        for task in feeding:
            task.cancel()
        await asyncio.gather(*feeding, return_exceptions=True)


async def _feed(
    vault: Vault, waiting: list[list[FileToRead]], done: asyncio.Queue[tuple[int, ReadBatch] | Exception]
) -> None:
    """Let one process read batch after batch. If it fails, its batches are read here."""
    job = make_job(vault)
    async with contextlib.AsyncExitStack() as stack:
        process = await start_process(_CHILD, stack)
        if process is not None:
            process.tell(job)
        while waiting:
            batch = waiting.pop()
            try:
                readings = await _request_batch(vault, process, batch) if process is not None else None
                if readings is None:
                    process = None
                    readings = await run_in(vault.shared.pool, file_reader.read_files, vault.notes.tree, batch, job)
                await done.put((len(batch), readings))
            except Exception as failure:  # noqa: BLE001  raised by the consumer
                await done.put(failure)


async def _request_batch(vault: Vault, process: ChildProcess, batch: list[FileToRead]) -> ReadBatch | None:
    """What the process read; None if it is gone."""
    answer = await process.request(batch)
    found = await run_in(vault.shared.pool, pickle.loads, answer) if answer is not None else None
    return found if isinstance(found, ReadBatch) else None
