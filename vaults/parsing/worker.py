"""The process that reads files: takes requests on its standard input, one after another, and answers each.

Started by ``parser_pool`` as ``python -m vaults.parsing.worker``. Imports of libraries that read formats happen here
and nowhere else.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

from vaults.formats.parsed_document import ParsedDocument, ParseFailed, ParseLimits
from vaults.parsing.confinement import confine, end_with, limit_processor_time, take_channels
from vaults.parsing.frames import read_frame, start_frame, to_json
from vaults.parsing.result_frames import ResultCodec

DocumentReader = Callable[[bytes, str, str | None, ParseLimits], ParsedDocument]


def main() -> None:
    """Serve until the input ends, or until a file took all memory there is."""
    options = json.loads(sys.argv[1])
    limits = ParseLimits(**options["limits"])
    reading, writing = take_channels()
    end_with(options["parent"])
    confine(limits.memory)
    reader: DocumentReader = import_module(options["reader"]).read_document
    worker = Worker(reader, limits)
    with os.fdopen(reading, "rb") as requests, os.fdopen(writing, "wb") as answers:
        while not worker.is_spent and (request := read_frame(requests)) is not None:
            limit_processor_time(limits.seconds)
            for message, body in worker.answer(*request):
                answers.write(start_frame(message, len(body)))
                answers.write(body)
            answers.flush()


class Worker:
    """Answers requests. ``is_spent``: its memory ran out once, and what is left of it is in pieces."""

    def __init__(self, reader: DocumentReader, limits: ParseLimits) -> None:
        self._reader = reader
        self._limits = limits
        self._codecs: dict[type[Any], ResultCodec[Any]] = {}
        self.is_spent = False

    def answer(self, request: dict[str, Any], data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The frames that answer a request, each a message and a body: a result in slices, or why there is none."""
        try:
            result = self._do(request, data)
            for frame in self._codec(type(result)).to_frames(result):
                yield to_json({"field": frame.field}), frame.body
        except ParseFailed as failure:
            yield _to_failure(failure)
        except MemoryError:
            self.is_spent = True
            yield _to_failure(ParseFailed("memory", "the file takes more memory than it may"))
        except RecursionError:
            yield _to_failure(ParseFailed("too_deep", "the file is nested too deep"))

    def _codec(self, kind: type[Any]) -> ResultCodec[Any]:
        if kind not in self._codecs:
            self._codecs[kind] = ResultCodec(kind)
        return self._codecs[kind]

    def _do(self, request: dict[str, Any], data: bytes) -> Any:
        name = request["name"]
        if request["path"] is not None:
            data = read_file(request["path"], self._limits.size)
        if request["kind"] == "outline":
            return _outline(data, name)
        parsed = self._reader(data, name, request["mime"], self._limits)
        return replace(parsed, source_hash=hashlib.sha256(data).hexdigest())


def _to_failure(failure: ParseFailed) -> tuple[bytes, bytes]:
    return to_json({"problem": failure.problem, "message": failure.message}), b""


def _outline(data: bytes, name: str) -> Any:
    from vaults.formats.detection import is_binary
    from vaults.formats.text_encoding import decode_text

    if is_binary(data):
        raise ParseFailed("unsupported", "a binary file holds no source code")
    try:
        module = import_module("vaults.code.outline")
        return module.outline_source(decode_text(data), name)
    except ImportError:
        raise ParseFailed("missing", "source code is read by strongroom[code], which is not installed") from None


def read_file(path: str, size: int) -> bytes:
    """The bytes of a regular file that does not change meanwhile. Follows no link, and waits for no pipe."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as failure:
        raise ParseFailed("damaged", f"the file cannot be opened: {failure.strerror}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ParseFailed("unsupported", "not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        before = os.fstat(file.fileno())
        if before.st_size > size:
            raise ParseFailed("too_large", f"the file has {before.st_size:,} bytes, and {size:,} may be read")
        try:
            data = file.read(size + 1)
        except OSError as failure:
            raise ParseFailed("damaged", f"the file cannot be read: {failure.strerror}") from None
        after = os.fstat(file.fileno())
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns) or len(data) != after.st_size:
        raise ParseFailed("damaged", "the file changed while it was read")
    return data


if __name__ == "__main__":
    main()
