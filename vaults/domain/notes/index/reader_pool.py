"""Reading many notes for the index: a few on a thread, thousands in processes of their own.

To parse and cut a note takes more than a millisecond of Python, which runs on one core at a time in a process; so the
first look at a big vault is shared out. The processes get paths and give back what was read; they know no database.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import sys
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from vaults.context import run_in
from vaults.domain.notes.index import file_reader
from vaults.domain.notes.index.file_reader import Job, Readings, Wanted
from vaults.vault import Vault

MANY = 600
"""Notes from which processes are started: that takes as long as reading some two hundred."""

PROCESSES = 4
"""At most, and no more than there are cores."""

_CHILD = "from vaults.domain.notes.index.file_reader import serve; serve()"
"""What a process runs. Not as a module: what it gives back would be of one called __main__."""


async def read_all(vault: Vault, batches: Sequence[list[Wanted]]) -> AsyncGenerator[tuple[int, Readings], None]:
    """Read batches of notes, and how many each was of; in any order."""
    count = sum(map(len, batches))
    many = count >= MANY and (os.cpu_count() or 1) > 1
    stream = _by_processes(vault, batches) if many else _by_thread(vault, batches)
    async with contextlib.aclosing(stream) as found:
        async for each in found:
            yield each


def job_of(vault: Vault) -> Job:
    """What reading this vault's notes takes."""
    return Job(str(vault.notes.root), vault.notes.settings.max_note, vault.shared.index.passage_tokens)


async def _by_thread(vault: Vault, batches: Sequence[list[Wanted]]) -> AsyncGenerator[tuple[int, Readings], None]:
    """One batch ahead of whoever writes them down."""
    pool, tree, job = vault.shared.pool, vault.notes.tree, job_of(vault)
    ahead: asyncio.Task[Readings] | None = None
    try:
        for number, batch in enumerate(batches):
            ahead = ahead or asyncio.create_task(run_in(pool, file_reader.read, tree, batch, job))
            readings = await ahead
            following = batches[number + 1] if number + 1 < len(batches) else None
            ahead = asyncio.create_task(run_in(pool, file_reader.read, tree, following, job)) if following else None
            yield len(batch), readings
    finally:
        if ahead is not None:
            await asyncio.gather(ahead, return_exceptions=True)


async def _by_processes(vault: Vault, batches: Sequence[list[Wanted]]) -> AsyncGenerator[tuple[int, Readings], None]:
    waiting = list(reversed(batches))
    done: asyncio.Queue[tuple[int, Readings] | Exception] = asyncio.Queue(2 * PROCESSES)
    count = min(PROCESSES, os.cpu_count() or 1, len(batches))
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
    vault: Vault, waiting: list[list[Wanted]], done: asyncio.Queue[tuple[int, Readings] | Exception]
) -> None:
    """Have one process read batch after batch. When it fails, whatever it was given is read here."""
    job = job_of(vault)
    async with contextlib.AsyncExitStack() as stack:
        process: asyncio.subprocess.Process | None = await _started(job, stack)
        while waiting:
            batch = waiting.pop()
            try:
                readings = await _asked(vault, process, batch) if process is not None else None
                if readings is None:
                    process = None
                    readings = await run_in(vault.shared.pool, file_reader.read, vault.notes.tree, batch, job)
                await done.put((len(batch), readings))
            except Exception as failure:  # noqa: BLE001  raised where it is waited for
                await done.put(failure)


async def _started(job: Job, stack: contextlib.AsyncExitStack) -> asyncio.subprocess.Process | None:
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _CHILD, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL,
            cwd=Path(__file__).parents[3], start_new_session=True,
        )  # fmt: skip
    except OSError:  # no more processes or memory here: it is read in this one
        return None
    stack.push_async_callback(_end, process)
    assert process.stdin is not None
    process.stdin.write(file_reader.packed(job))
    return process


async def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    if process.stdin is not None:
        process.stdin.close()
    await process.wait()


async def _asked(vault: Vault, process: asyncio.subprocess.Process, batch: list[Wanted]) -> Readings | None:
    """What a process read; None when it is gone."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(file_reader.packed(batch))
        await process.stdin.drain()
        (length,) = file_reader.LENGTH.unpack(await process.stdout.readexactly(file_reader.LENGTH.size))
        answer = await run_in(vault.shared.pool, pickle.loads, await process.stdout.readexactly(length))
    except (OSError, EOFError, asyncio.IncompleteReadError):
        return None
    return answer if isinstance(answer, Readings) else None
