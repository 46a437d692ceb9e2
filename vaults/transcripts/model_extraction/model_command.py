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
from typing import Any, cast

from vaults.context import run_to_completion
from vaults.files.permissions import make_private_folder
from vaults.transcripts.model_extraction.language_model import MAX_ANSWER, BadAnswer, ModelReply, ModelUnavailable

GRACE_S = 2.0
"""Seconds a command that is told to end may take for it, before it is killed."""


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
        loop = asyncio.get_running_loop()
        try:
            transport, protocol = await loop.subprocess_exec(
                _CommandProtocol,
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
                await protocol.exchange(prompt.encode("utf-8", "replace"))
        except TimeoutError:
            raise ModelUnavailable(f"the command did not answer within {self.timeout_s:g} s") from None
        finally:
            await run_to_completion(protocol.end(self.grace_s))
        return _to_reply(protocol, transport.get_returncode())

    async def close(self) -> None:
        """Nothing is left open between two calls."""


class _CommandProtocol(asyncio.SubprocessProtocol):
    """What goes in and out of a process, and when it ends. (The streams of asyncio say that only once the pipes are
    closed, and a child that is left behind keeps them open.)"""

    def __init__(self) -> None:
        self.printed = bytearray()
        self.is_too_long = False
        self._exited, self._said_all = asyncio.Event(), asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self._group = self._transport.get_pid()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        del fd
        self.is_too_long = self.is_too_long or len(self.printed) + len(data) > MAX_ANSWER
        if self.is_too_long:
            self._signal(signal.SIGKILL)  # nobody reads the rest
        else:
            self.printed += data

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        del exc  # of the prompt's pipe: it may know its answer before it has read all
        if fd == 1:
            self._said_all.set()

    def process_exited(self) -> None:
        self._exited.set()

    async def exchange(self, prompt: bytes) -> None:
        """Hand over the prompt, and wait until the process has ended and all it printed is here."""
        stdin = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(0))
        stdin.write(prompt)
        stdin.write_eof()
        await self._exited.wait()
        self._signal(signal.SIGKILL)
        await self._said_all.wait()

    async def end(self, grace_s: float) -> None:
        """Nobody of its group goes on: told to end if the process itself still runs, then killed."""
        if not self._exited.is_set():
            self._signal(signal.SIGTERM)
            await self._wait_for_exit(grace_s)
        # Processes it started may have outlived it. No other group can have got this number in between: it is not
        # given away while anybody is in the group, and nobody waits here long enough for numbers to come round.
        self._signal(signal.SIGKILL)
        await self._wait_for_exit(grace_s)
        self._transport.close()

    async def _wait_for_exit(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._exited.wait()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._group, number)


def _to_reply(protocol: _CommandProtocol, code: int | None) -> ModelReply:
    if protocol.is_too_long:
        raise BadAnswer("the answer is too long")
    if code != 0:
        raise ModelUnavailable(f"the command ended with {code}")
    try:
        return ModelReply(protocol.printed.decode())
    except UnicodeDecodeError:
        raise BadAnswer("the answer is not UTF-8") from None
