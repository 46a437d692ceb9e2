"""A process that does a piece of work under a tracer, and is killed at one of its system calls."""

from __future__ import annotations

import multiprocessing
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from tests.work import PATIENCE_S

Work = Callable[[str, str, dict[str, Any], Connection], None]
"""Opens a data folder, says ``ready``, waits for the word, does what is asked for and says each step by number."""

strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
forking = multiprocessing.get_context("forkserver")
forking.set_forkserver_preload(
    [
        f"tests.crash.{name}"
        for name in ("notes_work", "cluster_notes_work", "continuity_work", "backup_work", "restore_work")
    ]
)


class Child:
    """A process that does ``work`` on a data folder. ``kill``: the system call before which it is killed, and the how
    manieth in one thread; 0: none, they are counted in ``calls``."""

    def __init__(self, work: Work, data: Path, kind: str, kill: tuple[str, int] | None = None, **flags: Any) -> None:
        self.calls = 0
        self.said: list[tuple[Any, Any]] = []
        self._ours, theirs = forking.Pipe()
        self._process = forking.Process(target=work, args=(str(data), kind, flags, theirs))
        self._process.start()
        theirs.close()
        assert self._next() is not None
        with self._traced(kill):
            self._ours.send("go")
            while self._next() is not None:
                pass
            self._process.join(PATIENCE_S)
        self.killed = ("closed", None) not in self.said
        self.acknowledged = [id_ for number, id_ in self.said if isinstance(number, int)]

    def _next(self) -> tuple[Any, Any] | None:
        try:
            assert self._ours.poll(PATIENCE_S), "the child hangs"
            self.said.append(self._ours.recv())
        except (EOFError, ConnectionResetError):
            return None
        return self.said[-1]

    @contextmanager
    def _traced(self, kill: tuple[str, int] | None) -> Iterator[None]:
        if kill is None:
            yield
            return
        call, when = kill
        with tempfile.NamedTemporaryFile("r") as trace:
            inject = ["-e", f"inject={call}:signal=KILL:when={when}"] if when else []
            yield from self._under(["-o", trace.name, "-e", f"trace={call}", *inject])
            self.calls = max(Counter(line.split()[0] for line in trace if call in line).values(), default=0)

    def _under(self, options: list[str]) -> Iterator[None]:
        command = ["strace", "-f", *options, "-p", str(self._process.pid)]
        tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert tracer.stderr is not None
        assert "attached" in tracer.stderr.readline()
        try:
            yield
        finally:
            tracer.communicate(timeout=PATIENCE_S)
