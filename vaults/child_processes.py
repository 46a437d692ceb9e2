"""Processes of this very interpreter that compute and do nothing else: they get pickled messages and answer each.

What takes seconds of Python would keep the event loop waiting for the interpreter, on whatever thread it runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import vaults
from vaults.context import run_to_completion

LENGTH_PREFIX = struct.Struct("<Q")
"""Precedes every message between the processes: its length."""

_PACKAGE_ROOT = Path(vaults.__file__).parents[1]
"""Where the packages lie: a process imports them from here, installed or not."""


def encode_message(value: object) -> bytes:
    """A message with its length prefix."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return LENGTH_PREFIX.pack(len(data)) + data


def receive_message(source: BinaryIO) -> object | None:
    """The next message; None once the parent has closed the pipe or died."""
    head = source.read(LENGTH_PREFIX.size)
    if len(head) < LENGTH_PREFIX.size:
        return None
    (length,) = LENGTH_PREFIX.unpack(head)
    return pickle.loads(source.read(length))  # type: ignore[no-any-return]  # noqa: S301  from our own parent


def answer_messages(
    answer: Callable[[object], object], source: BinaryIO | None = None, target: BinaryIO | None = None
) -> None:
    """What a process does: answer message after message until the parent closes the pipe or dies."""
    source, target = source or sys.stdin.buffer, target or sys.stdout.buffer
    while (message := receive_message(source)) is not None:
        target.write(encode_message(answer(message)))
        target.flush()


class ChildProcess:
    """One such process, from the parent's side."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._process.returncode

    async def wait(self) -> int:
        """Its exit code, once it has ended."""
        return await self._process.wait()

    def tell(self, message: object) -> None:
        """Send a message that has no answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(encode_message(message))

    async def request(self, message: object) -> bytes | None:
        """The answer to a message, still pickled; None if the process is gone."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self.tell(message)
            await self._process.stdin.drain()
            (length,) = LENGTH_PREFIX.unpack(await self._process.stdout.readexactly(LENGTH_PREFIX.size))
            return await self._process.stdout.readexactly(length)
        except (OSError, EOFError, asyncio.IncompleteReadError):
            return None

    async def end(self) -> None:
        """Kill it, whatever it does, and return once it is gone, also where whoever asks is cancelled meanwhile."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        if self._process.stdin is not None:
            self._process.stdin.close()
        await run_to_completion(self._process.wait())


async def start_process(code: str, stack: contextlib.AsyncExitStack) -> ChildProcess | None:
    """A process that runs ``code``, an import and a call; it ends with the stack. None where there is no room for one.
    Not with -m: its answers would be pickled as classes of __main__."""
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL,
            cwd=_PACKAGE_ROOT, start_new_session=True,
        )  # fmt: skip
    except OSError:  # out of processes or memory
        return None
    child = ChildProcess(process)
    stack.push_async_callback(child.end)
    return child
