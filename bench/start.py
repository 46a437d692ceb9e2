"""From the start of a process to an answered ``tools/list``, over stdio and HTTP, beside importing what it is built on.

Each is started in turns, on a data folder that was served before, files in the page cache and byte code compiled: the
start of everybody who works with it. Wall time is what a client waits; processor time is told beside it, since it
varies less on a machine with other work.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import data_folders, servers, wire
from bench.commands import measure_commands
from bench.data_folders import DataFolder
from bench.figures import Figure
from bench.measurements import cpu_seconds, p50, to_ms
from bench.run import ROOT, Run

LIMIT = 1.3
RUNS = 9
IMPORTS = "import mcp.server.lowlevel, starlette.applications, uvicorn"
WAIT_S = 30.0
POLL_S = 0.005
"""Between two attempts to connect to a server that starts."""


@dataclass(frozen=True, slots=True)
class _Took:
    """Seconds of one start."""

    wall: float
    cpu: float


def measure(run: Run) -> Iterator[Figure]:
    """Medians of starts in turns."""
    with run.folder("start") as folder:
        ready = data_folders.prepare_folder(folder / "data", {"ann": ("main",)})
        commands = list(measure_commands(run, ready))
        ways: dict[str, Callable[[], _Took]] = {
            "stdio": lambda: _start_stdio(ready),
            "HTTP": lambda: _start_http(ready),
            "imports": _import,
        }
        with run.report_progress("cold start"):
            for start in ways.values():
                start(), start()  # warm: the first makes what later starts find
            turns = [{name: start() for name, start in ways.items()} for _ in range(run.sized(RUNS, 3))]
    for name in ("stdio", "HTTP"):
        yield _figure(f"cold start to tools/list over {name} ÷ bare imports", turns, name, lambda took: took.wall)
        yield _figure(f"the same over {name}, processor time", turns, name, lambda took: took.cpu)
    yield from commands


def _figure(title: str, turns: Sequence[dict[str, _Took]], name: str, of: Callable[[_Took], float]) -> Figure:
    ours, theirs = [of(turn[name]) for turn in turns], [of(turn["imports"]) for turn in turns]
    raw = f"{to_ms(p50(ours))} ÷ {to_ms(p50(theirs))} (medians of {len(turns)}; `{IMPORTS}`)"
    numbers = {"start_s": ours, "import_s": theirs}
    return Figure(title, p50(ours) / p50(theirs), LIMIT, unit="×", raw=raw, numbers=numbers)


def _start_stdio(ready: DataFolder) -> _Took:
    asked = json.dumps(wire.message("tools/list", {})).encode() + b"\n"
    began = time.perf_counter()
    with _process(ready.data, "stdio") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(asked)
        process.stdin.flush()
        return _took(process, began, process.stdout.readline())


def _start_http(ready: DataFolder) -> _Took:
    port = servers.free_port()
    asked = wire.VaultEndpoint(port, "main", ready.tokens["ann"]).request("tools/list", {})
    began = time.perf_counter()
    with _process(ready.data, "serve", "--port", str(port), "--metrics-port", "0") as process:
        while True:
            try:
                with wire.RawConnection(port, WAIT_S) as connection:
                    return _took(process, began, connection.ask(asked))
            except ConnectionRefusedError:
                if process.poll() is not None or time.perf_counter() > began + WAIT_S:
                    raise
                time.sleep(POLL_S)


def _took(process: subprocess.Popen[bytes], began: float, answer: bytes) -> _Took:
    took = _Took(time.perf_counter() - began, cpu_seconds(process.pid))
    if b'"remember"' not in answer:
        raise RuntimeError(f"no listing: {answer[:300]!r}")
    return took


@contextmanager
def _process(data: Path, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        (sys.executable, "-m", "server", *command),
        cwd=ROOT,
        env=_with_bytecode(servers.server_environment(data, {})),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _import() -> _Took:
    began = time.perf_counter()
    process = subprocess.Popen((sys.executable, "-c", IMPORTS), cwd=ROOT, env=_with_bytecode(os.environ))
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        raise RuntimeError(f"`{IMPORTS}` failed")
    return _Took(time.perf_counter() - began, used.ru_utime + used.ru_stime)


def _with_bytecode(environment: Mapping[str, str]) -> dict[str, str]:
    """So that the warm starts leave their byte code, as everywhere else."""
    return {name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"}
