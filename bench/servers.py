"""Servers as processes of their own, always ended."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from bench.data_folders import UNLIMITED
from bench.run import ROOT

HOST = "127.0.0.1"
READY_S = 60.0
END_S = 15.0

SERVE = ("-m", "server", "serve")
"""The project's own command."""

SITE = ("-m", "bench.site")
"""The same application, with a bare route and the tools of the bench beside it."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers."""

    pid: int
    port: int
    metrics_port: int

    def metric(self, line: str) -> float:
        """The value of one series of ``/metrics``, named as it is printed there; 0 when it is not there."""
        for text in self.exposition().splitlines():
            name, _, value = text.rpartition(" ")
            if name == line:
                return float(value)
        return 0.0

    def exposition(self) -> str:
        """``/metrics`` as it is."""
        return get(self.metrics_port, "/metrics")[1].decode()


@contextmanager
def run_server(command: Sequence[str], data: Path, **flags: Any) -> Iterator[Server]:
    """Run ``python command`` on ``data``. Its log goes into a pipe that is read as fast as it comes."""
    port, metrics_port = free_port(), free_port()
    ports = {"server.port": port, "ops.metrics_port": metrics_port}
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env=server_environment(data, {**UNLIMITED, **flags, **ports}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    last = _drain(process.stdout)
    try:
        _await_ready(process, port, last)
        yield Server(process.pid, port, metrics_port)
    finally:
        _end(process)


def server_environment(data: Path, flags: Mapping[str, Any]) -> dict[str, str]:
    """Ours, without settings of a server that may be running here, and with ``flags`` as settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("STRONGROOM_")}
    named = {f"STRONGROOM_{name.upper().replace('.', '__', 1)}": str(value) for name, value in flags.items()}
    return {**kept, **named, "STRONGROOM_DATA": str(data)}


def pin(pid: int, core: int) -> None:
    """Keep a process and its threads-to-be on one core, where there are two."""
    if hasattr(os, "sched_setaffinity") and len(os.sched_getaffinity(0)) > 1:
        cores = sorted(os.sched_getaffinity(0))
        for task in Path(f"/proc/{pid}/task").iterdir():
            os.sched_setaffinity(int(task.name), {cores[core % len(cores)]})


def get(port: int, path: str, timeout: float = 10.0) -> tuple[int, bytes]:
    """One plain GET."""
    connection = http.client.HTTPConnection(HOST, port, timeout=timeout)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def free_port() -> int:
    """One nobody listens on now."""
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


def _drain(pipe: IO[bytes]) -> deque[bytes]:
    last: deque[bytes] = deque(maxlen=8)

    def read() -> None:
        while piece := os.read(pipe.fileno(), 1 << 16):
            last.append(piece)

    threading.Thread(target=read, name="log", daemon=True).start()
    return last


def _await_ready(process: subprocess.Popen[bytes], port: int, last: deque[bytes]) -> None:
    until = time.monotonic() + READY_S
    while time.monotonic() < until and process.poll() is None:
        try:
            if get(port, "/health/ready")[0] == 200:
                return
        except OSError:
            time.sleep(0.02)
    raise RuntimeError(f"the server did not start: {b''.join(last)[-2000:].decode(errors='replace')}")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
