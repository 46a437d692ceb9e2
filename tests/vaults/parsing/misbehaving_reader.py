"""What a worker is given instead of the readers of formats: does what the file tells it to, however bad."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from vaults.formats.parsed_document import ParsedDocument, ParsedPart, ParseFailed, ParseLimits
from vaults.parsing.result_frames import MAX_FRAME


def read_document(data: bytes, name: str, mime: str | None, limits: ParseLimits) -> ParsedDocument:
    """A document, unless the file wants something else."""
    del mime
    act = ACTS.get(data.decode())
    said = act(name, limits) if act else data.decode()
    return ParsedDocument("text", "text/plain", (ParsedPart(str(said)),))


def hang(name: str, limits: ParseLimits) -> None:
    time.sleep(3600)


def spin(name: str, limits: ParseLimits) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (0, resource.RLIM_INFINITY))
    while True:
        pass


def eat(name: str, limits: ParseLimits) -> None:
    eaten = []
    while True:
        eaten.append(bytearray(16 << 20))


def crash(name: str, limits: ParseLimits) -> None:
    ctypes.string_at(0)


def leave(name: str, limits: ParseLimits) -> None:
    os._exit(0)


def recurse(name: str, limits: ParseLimits) -> None:
    recurse(name, limits)


def refuse(name: str, limits: ParseLimits) -> None:
    raise ParseFailed("encrypted", "the file is encrypted")


def prattle(name: str, limits: ParseLimits) -> str:
    sys.stdout.write("x" * 100_000)
    sys.stdout.flush()
    os.write(1, b"\xff" * 100_000)
    os.write(2, b"\xff" * 100_000)
    subprocess.run(["/bin/echo", "child"], check=False)
    return "said nothing"


def flood(name: str, limits: ParseLimits) -> str:
    return "x" * MAX_FRAME


def lie(name: str, limits: ParseLimits) -> None:
    """Answer in the worker's stead, with what no worker says."""
    for number in range(3, 20):
        try:
            os.write(number, b"\xff" * 4096)
        except OSError:
            continue


def describe(name: str, limits: ParseLimits) -> str:
    """What this process may do."""
    try:
        with tempfile.TemporaryFile() as file:
            file.write(b"x")
        wrote = True
    except OSError:
        wrote = False
    return json.dumps(
        {
            "environment": sorted(os.environ),
            "core": resource.getrlimit(resource.RLIMIT_CORE),
            "memory": resource.getrlimit(resource.RLIMIT_AS),
            "files": resource.getrlimit(resource.RLIMIT_NOFILE),
            "niceness": os.nice(0),
            "input": os.read(0, 10).decode(),
            "folder": str(Path.cwd()),
            "wrote": wrote,
            "session": os.getsid(0) == os.getpid(),
        }
    )


def tell_process(name: str, limits: ParseLimits) -> int:
    return os.getpid()


ACTS = {
    each.__name__: each
    for each in (hang, spin, eat, crash, leave, recurse, refuse, prattle, flood, lie, describe, tell_process)
}
