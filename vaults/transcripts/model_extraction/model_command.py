"""A model behind a command: prompt on its standard input, answer on its standard output.

It runs without a shell, in a group of processes and a folder of its own, with an environment of what it needs. Whatever
it does, nothing of its group is left when ``ask`` returns; a process that leaves the group on purpose is its own.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vaults.context import run_to_completion
from vaults.files.permissions import make_private_folder
from vaults.transcripts.model_extraction.language_model import MAX_ANSWER, BadAnswer, ModelReply, ModelUnavailable

GRACE_S = 2.0
"""Seconds a command that is told to end may take for it, before it is killed."""

_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class ModelCommand:
    """``folder``: where it runs, empty and made if it is missing, so that a program that looks for a project finds
    none. What it writes to its standard error goes nowhere: it may hold what it was asked."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    timeout_s: float
    grace_s: float = GRACE_S

    async def ask(self, prompt: str, schema: dict[str, Any]) -> ModelReply:
        """What it printed, if it ended with 0; the prompt itself says what is wanted."""
        del schema
        make_private_folder(self.folder)
        try:
            process = await asyncio.create_subprocess_exec(
                *self.argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                cwd=self.folder,
                env=dict(self.environment),
                start_new_session=True,
            )
        except (OSError, ValueError):
            raise ModelUnavailable("the command cannot be started") from None
        try:
            async with asyncio.timeout(self.timeout_s):
                printed = await _talk(process, prompt.encode("utf-8", "replace"))
        except TimeoutError:
            raise ModelUnavailable(f"the command did not answer within {self.timeout_s:g} s") from None
        finally:
            await run_to_completion(self._end(process))
        if process.returncode != 0:
            raise ModelUnavailable(f"the command ended with {process.returncode}")
        try:
            return ModelReply(printed.decode())
        except UnicodeDecodeError:
            raise BadAnswer("the answer is not UTF-8") from None

    async def close(self) -> None:
        """Nothing is left open between two calls."""

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        """Nobody of its group goes on: asked first if the command itself still runs, then killed."""
        if process.returncode is None:
            _signal_group(process.pid, signal.SIGTERM)
            with suppress(TimeoutError):
                async with asyncio.timeout(self.grace_s):
                    await process.wait()
        # Processes it started may have outlived it. No other group can have got this number in between: it is not
        # given away while anybody is in the group, and nobody waits here long enough for numbers to come round.
        _signal_group(process.pid, signal.SIGKILL)
        with suppress(TimeoutError):
            async with asyncio.timeout(self.grace_s):
                await process.wait()


async def _talk(process: asyncio.subprocess.Process, prompt: bytes) -> bytes:
    """Write the prompt, read the answer, wait for the end; all at once, since neither pipe holds a whole text."""
    assert process.stdin is not None
    assert process.stdout is not None
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_write(process.stdin, prompt))
        reading = tasks.create_task(_read(process.stdout, process.pid))
        await process.wait()
        _signal_group(process.pid, signal.SIGKILL)  # one that was left behind would hold the pipe open
    printed = reading.result()
    if printed is None:
        raise BadAnswer("the answer is too long")
    return printed


async def _write(stdin: asyncio.StreamWriter, prompt: bytes) -> None:
    with suppress(ConnectionError):  # it may know its answer before it has read all
        stdin.write(prompt)
        await stdin.drain()
    with suppress(ConnectionError):
        stdin.close()
        await stdin.wait_closed()


async def _read(stdout: asyncio.StreamReader, group: int) -> bytes | None:
    """What was printed; None for more than an answer may have, of which nobody reads the rest."""
    printed = bytearray()
    while piece := await stdout.read(_PIECE):
        printed += piece
        if len(printed) > MAX_ANSWER:
            _signal_group(group, signal.SIGKILL)
            return None
    return bytes(printed)


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
