"""Processor time of commands that somebody waits for at each turn: ``--help``, ``call`` and the hooks.

Each is a process of its own, as it is in real use; with its children, but without the server it may ask. Beside a
server over the same data folder it asks that one, else it opens the vault itself.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench import servers
from bench.data_folders import DataFolder
from bench.figures import Figure
from bench.measurements import p50, to_ms
from bench.run import ROOT, Run
from server.local_socket import find_sockets

LIMIT_S = 0.35
RUNS = 7
PROMPT = json.dumps({"session_id": "bench", "cwd": "/", "prompt": "When do our deploys run, and why then?"}).encode()
COMMANDS: Mapping[str, tuple[Sequence[str], bytes]] = {
    "call recall": (("call", "recall", '{"query": "deploys"}', "--vault", "main"), b""),
    "hook session-start": (("hook", "session-start"), PROMPT),
    "hook prompt": (("hook", "prompt"), PROMPT),
}


def measure_commands(run: Run, ready: DataFolder) -> Iterator[Figure]:
    """Medians over ``RUNS``, with a server and without."""
    runs = run.sized(RUNS, 3)
    environment = servers.server_environment(ready.data, {})
    yield _figure("strongroom --help", ("--help",), b"", environment, runs)
    with _serving(ready.data, environment):
        for name, (words, said) in COMMANDS.items():
            yield _figure(f"strongroom {name} beside a server", words, said, environment, runs)
    for name, (words, said) in COMMANDS.items():
        yield _figure(f"strongroom {name}, no server", words, said, environment, runs)


@contextmanager
def _serving(data: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """A server with the environment of the commands: told other settings, it would decline them."""
    command = (sys.executable, "-m", "server", "serve", "--port", str(servers.free_port()), "--metrics-port", "0")
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=quiet, stdout=quiet, stderr=quiet)
    try:
        until = time.monotonic() + servers.READY_S
        while not find_sockets(str(data)):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError("the server did not start")
            time.sleep(0.02)
        yield
    finally:
        process.terminate()
        process.wait()


def _figure(name: str, words: Sequence[str], said: bytes, environment: Mapping[str, str], runs: int) -> Figure:
    _cpu_of(words, said, environment)  # warm: the first makes what later starts find
    took = [_cpu_of(words, said, environment) for _ in range(runs)]
    title = f"{name}, processor time"
    return Figure(
        title, p50(took), LIMIT_S, unit="s", raw=f"{to_ms(p50(took))} (median of {runs})", numbers={"s": took}
    )


def _cpu_of(words: Sequence[str], said: bytes, environment: Mapping[str, str]) -> float:
    process = subprocess.Popen(
        (sys.executable, "-m", "server", *words),
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdin, process.stdout, process.stderr:
        process.stdin.write(said)
        process.stdin.close()
        answer, wrong = process.stdout.read(), process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    if status or wrong or (words[0] == "call" and b'"hits"' not in answer):
        raise RuntimeError(f"{' '.join(words)} failed: {wrong[-300:]!r}")
    return used.ru_utime + used.ru_stime
