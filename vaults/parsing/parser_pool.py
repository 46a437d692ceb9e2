"""Reads files in worker processes: started on need, each with one file at a time, ended when nobody needs them.

A worker reads the files of one owner: what a hostile file makes of it must not show in another vault.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from vaults.errors import Overloaded
from vaults.formats.parsed_document import ParsedDocument, ParseFailed, ParseLimits
from vaults.parsing.result_frames import ResultCodec
from vaults.parsing.worker_process import WorkerOptions, WorkerProcess
from vaults.settings import IngestSettings

if TYPE_CHECKING:
    from vaults.code.code_outline import CodeOutline

READER = "vaults.formats.document_reader"

MAX_WAITING = 64
"""Max files that wait for a worker."""

MAX_WAITING_BYTES = 64 * 1024 * 1024
"""Max bytes of these together, unless it is a single one."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class WorkerLifetime:
    """When workers end: after ``idle_s`` seconds without a file, and after so many ``files``, because what libraries
    leak adds up."""

    idle_s: float = 20.0
    files: int = 500


class ParserPool:
    """At most ``workers`` files are read at once. ``reader`` is the module that reads them; only tests name another."""

    def __init__(
        self, settings: IngestSettings | None = None, lifetime: WorkerLifetime | None = None, reader: str = READER
    ) -> None:
        settings = settings or IngestSettings()
        self._options = WorkerOptions(to_limits(settings), reader)
        self._lifetime = lifetime or WorkerLifetime()
        self._most = settings.workers
        self._turns = asyncio.Semaphore(settings.workers)
        self._idle: list[WorkerProcess] = []
        self._idle_timer: asyncio.TimerHandle | None = None
        self._busy: set[WorkerProcess] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._waiting = 0
        self._waiting_bytes = 0

    @property
    def worker_count(self) -> int:
        """Workers that run now."""
        return len(self._idle) + len(self._busy)

    def of(self, owner: str) -> FileParsers:
        """The parsers of one owner, such as a vault."""
        return FileParsers(self, owner)

    async def close(self) -> None:
        """End all workers. The pool starts others if it is used again."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        for worker in (*self._idle, *self._busy):
            self._retire(worker)
        self._idle.clear()
        while self._ending:
            await asyncio.wait(self._ending)

    async def ask(self, owner: str, codec: ResultCodec[Result], request: dict[str, Any], data: bytes) -> Result:
        """What a worker of this owner answers."""
        most = self._options.limits.size
        if len(data) > most:
            raise ParseFailed("too_large", f"the file has {len(data):,} bytes, and {most:,} may be read")
        async with self._turn(len(data)), self._worker(owner) as worker:
            return await worker.ask(codec, request, data)

    @asynccontextmanager
    async def _turn(self, size: int) -> AsyncIterator[None]:
        if self._waiting >= MAX_WAITING or (self._waiting and self._waiting_bytes + size > MAX_WAITING_BYTES):
            raise Overloaded("too many files wait to be read", retry_after_s=5.0)
        self._waiting += 1
        self._waiting_bytes += size
        try:
            await self._turns.acquire()
        finally:
            self._waiting -= 1
            self._waiting_bytes -= size
        try:
            yield
        finally:
            self._turns.release()

    @asynccontextmanager
    async def _worker(self, owner: str) -> AsyncIterator[WorkerProcess]:
        worker = self._take_idle(owner) or await WorkerProcess.start(self._options, owner)
        self._busy.add(worker)
        try:
            yield worker
        finally:
            self._busy.discard(worker)
            self._give_back(worker)

    def _take_idle(self, owner: str) -> WorkerProcess | None:
        """The worker of this owner that was busy last. Where there is none, another owner's makes room."""
        for worker in [each for each in self._idle if not each.is_usable]:
            self._drop_idle(worker)
        own = [worker for worker in self._idle if worker.owner == owner]
        if own:
            self._idle.remove(own[-1])
            return own[-1]
        if self._idle and self.worker_count >= self._most:
            self._drop_idle(self._idle[0])
        return None

    def _drop_idle(self, worker: WorkerProcess) -> None:
        self._idle.remove(worker)
        self._retire(worker)

    def _give_back(self, worker: WorkerProcess) -> None:
        if not worker.is_usable or worker.files >= self._lifetime.files:
            self._retire(worker)
            return
        self._idle.append(worker)
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self._idle_timer = asyncio.get_running_loop().call_later(self._lifetime.idle_s, self._end_idle)

    def _end_idle(self) -> None:
        for worker in self._idle:
            self._retire(worker)
        self._idle.clear()

    def _retire(self, worker: WorkerProcess) -> None:
        worker.kill()
        ending = asyncio.get_running_loop().create_task(worker.end())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)


@dataclass(frozen=True, slots=True)
class FileParsers:
    """Reads the files of one owner."""

    pool: ParserPool
    owner: str

    async def parse(self, data: bytes, name: str, *, mime: str | None = None) -> ParsedDocument:
        """What a file says. ``name`` and ``mime`` help to find its format where its bytes do not say. Raises
        ``ParseFailed``, and ``Overloaded`` where too many wait already."""
        request = {"kind": "parse", "name": name, "mime": mime, "path": None}
        return await self.pool.ask(self.owner, _document_codec(), request, data)

    async def parse_file(self, path: Path, name: str) -> ParsedDocument:
        """What a file on this machine says; the worker opens it, and follows no link. Raises as :meth:`parse`."""
        request = {"kind": "parse", "name": name, "mime": None, "path": str(path.absolute())}
        return await self.pool.ask(self.owner, _document_codec(), request, b"")

    async def outline(self, data: bytes, name: str) -> CodeOutline:
        """The symbols of source code. Raises as :meth:`parse`."""
        request = {"kind": "outline", "name": name, "mime": None, "path": None}
        return await self.pool.ask(self.owner, _outline_codec(), request, data)


@cache
def _document_codec() -> ResultCodec[ParsedDocument]:
    return ResultCodec(ParsedDocument)


@cache
def _outline_codec() -> ResultCodec[CodeOutline]:
    from vaults.code.code_outline import CodeOutline

    return ResultCodec(CodeOutline)


def to_limits(settings: IngestSettings) -> ParseLimits:
    """What one file may cost by the settings."""
    return ParseLimits(
        seconds=settings.parse_seconds,
        memory=settings.parse_memory,
        size=settings.max_file,
        pages=settings.max_pages,
    )
