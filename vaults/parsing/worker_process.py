"""One worker as the server sees it: started, asked one question at a time, and killed when it does not behave."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from vaults.formats.parsed_document import ParseFailed, ParseLimits
from vaults.parsing.frames import HEAD, MAX_JSON, start_frame, to_json
from vaults.parsing.result_frames import MAX_FRAME, ResultCodec, ResultFrame

ROOT = Path(__file__).resolve().parents[2]
"""Where the packages of this program are: the only folder a worker is told of."""

BYTES_PER_CHARACTER = 6
"""Bytes of JSON a character may take, above which an answer is no honest one."""

_WRITE = 256 * 1024
_PROBLEMS = ("unsupported", "encrypted", "damaged", "too_large", "too_deep", "empty", "memory", "missing")

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """``reader``: the module whose ``read_document`` reads files."""

    limits: ParseLimits
    reader: str


class WorkerProcess:
    """A running worker. Use :meth:`start`."""

    def __init__(self, process: asyncio.subprocess.Process, options: WorkerOptions, owner: str) -> None:
        self._process = process
        self.owner = owner
        """Whose files it reads."""
        self._limits = options.limits
        self.files = 0
        """Files it was asked about."""
        self._is_killed = False

    @classmethod
    async def start(cls, options: WorkerOptions, owner: str) -> WorkerProcess:
        """Start a worker with an empty environment, in a session of its own: what ends the server's terminal is the
        server's to handle. Raises ``ParseFailed`` where no process can be started."""
        told = {"limits": asdict(options.limits), "reader": options.reader, "parent": os.getpid()}
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-B", "-P", "-m", "vaults.parsing.worker", to_json(told).decode()),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,  # what a library prints may quote the file
                cwd="/",
                env={"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT), "MALLOC_ARENA_MAX": "2"},
                start_new_session=True,
            )
        except OSError:
            raise ParseFailed("crashed", "no process could be started to read the file") from None
        return cls(process, options, owner)

    @property
    def is_usable(self) -> bool:
        """Whether it can be asked."""
        return self._process.returncode is None and not self._is_killed

    async def ask(self, codec: ResultCodec[Result], request: dict[str, Any], data: bytes) -> Result:
        """The worker's answer. Raises ``ParseFailed``; a worker that did not answer as it should is killed then."""
        self.files += 1
        is_sound = False
        try:
            async with asyncio.timeout(self._limits.seconds):
                await self._send(to_json(request), data)
                message = await self._read_answer(codec)
            is_sound = True
        except TimeoutError:
            raise ParseFailed("timeout", f"reading the file took more than {self._limits.seconds:g} s") from None
        except (EOFError, OSError, ValueError, KeyError, TypeError):
            raise await self._explain_end() from None
        finally:
            if not is_sound:
                self.kill()
        if isinstance(message, ParseFailed):
            raise message
        return message

    async def _send(self, message: bytes, data: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        stdin.write(start_frame(message, len(data)))
        view = memoryview(data)
        for start in range(0, len(view), _WRITE):  # in slices: the transport copies what it cannot write at once
            stdin.write(view[start : start + _WRITE])
            await stdin.drain()
        await stdin.drain()

    async def _read_answer(self, codec: ResultCodec[Result]) -> Result | ParseFailed:
        items: dict[str, list[Any]] = {}
        room = self._limits.characters * BYTES_PER_CHARACTER + MAX_FRAME
        while True:
            said, body = await self._read_frame(min(room, MAX_FRAME))
            room -= len(body) + HEAD.size
            if "problem" in said:
                if said["problem"] not in _PROBLEMS:
                    raise ValueError(said)
                self._is_killed = said["problem"] == "memory"  # then it ends by itself
                return ParseFailed(said["problem"], str(said["message"])[:500])
            result = codec.take(ResultFrame(said["field"], body), items)
            if result is not None:
                return result

    async def _read_frame(self, most: int) -> tuple[dict[str, Any], bytes]:
        stdout = self._process.stdout
        assert stdout is not None
        size, body_size = HEAD.unpack(await stdout.readexactly(HEAD.size))
        if size > MAX_JSON or body_size > most:
            raise ValueError("an answer too long to be one")
        said: dict[str, Any] = json.loads(await stdout.readexactly(size))
        return said, await stdout.readexactly(body_size)

    async def _explain_end(self) -> ParseFailed:
        """Why there was no answer."""
        self.kill()
        with suppress(TimeoutError):
            async with asyncio.timeout(5.0):
                await self._process.wait()
        if self._process.returncode == -getattr(signal, "SIGXCPU", 0):
            return ParseFailed("timeout", f"reading the file took more than {self._limits.seconds:g} s")
        return ParseFailed("crashed", "the parser crashed over the file")

    def kill(self) -> None:
        """End it now."""
        self._is_killed = True
        if self._process.returncode is None:
            # Not Process.kill, which would take from asyncio's watcher the news that the process has ended. The group:
            # what took a worker over may have started others.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def end(self) -> None:
        """End it, and wait until it is gone."""
        self.kill()
        await self._process.wait()
        # An answer that was longer than anybody read holds its pipe open: asyncio closes it at its end, which is not
        # read either.
        self._process._transport.close()  # type: ignore[attr-defined]
