"""Reading files without a process for it: to start one takes longer than most tests, and few are about it."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any, TypeVar

from vaults.formats.parsed_document import ParseFailed
from vaults.parsing.frames import to_json
from vaults.parsing.result_frames import ResultCodec, ResultFrame
from vaults.parsing.worker import Worker
from vaults.parsing.worker_process import WorkerOptions

Result = TypeVar("Result")

_ONE_AT_A_TIME = ThreadPoolExecutor(1, "file-reading")
"""As the libraries that read formats want it."""


class WorkerHere:
    """What ``ParserPool`` asks of a ``WorkerProcess``, done in this process: the same requests and the same frames, but
    for the pipe, the confinement and the patience."""

    def __init__(self, options: WorkerOptions, owner: str) -> None:
        self._worker = Worker(import_module(options.reader).read_document, options.limits)
        self.owner = owner
        self.files = 0
        self.is_usable = True

    @classmethod
    async def start(cls, options: WorkerOptions, owner: str) -> WorkerHere:
        return cls(options, owner)

    async def ask(self, codec: ResultCodec[Result], request: dict[str, Any], data: bytes) -> Result:
        self.files += 1
        asked = json.loads(to_json(request))
        loop = asyncio.get_running_loop()
        frames = await loop.run_in_executor(_ONE_AT_A_TIME, lambda: list(self._worker.answer(asked, data)))
        items: dict[str, list[Any]] = {}
        for message, body in frames:
            said = json.loads(message)
            if "problem" in said:
                raise ParseFailed(said["problem"], said["message"])
            result = codec.take(ResultFrame(said["field"], body), items)
            if result is not None:
                return result
        raise AssertionError("an answer without an end")

    def kill(self) -> None:
        self.is_usable = False

    async def end(self) -> None:
        self.kill()
