"""From the start of a process to an answered ``tools/list`` over stdio, beside importing what it is built on."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import data_folders, servers, wire
from bench.figures import Figure
from bench.measurements import p50, to_ms
from bench.run import ROOT, Run

LIMIT = 1.5
RUNS = 7
IMPORTS = "import mcp.server.lowlevel, starlette.applications"
WAIT_S = 30.0


def measure(run: Run) -> Iterator[Figure]:
    """Both are started in turns, files in the page cache, byte code compiled; medians of wall time."""
    with run.folder("start") as folder:
        data = data_folders.prepare_folder(folder / "data", {"ann": ("main",)}).data
        with run.report_progress("cold start over stdio"):
            _time_to_listing(data), _time_imports()  # warm
            pairs = [(_time_to_listing(data), _time_imports()) for _ in range(run.sized(RUNS, 3))]
    ours, theirs = p50([each for each, _ in pairs]), p50([each for _, each in pairs])
    raw = f"{to_ms(ours)} ÷ {to_ms(theirs)} (medians of {len(pairs)}; `{IMPORTS}`)"
    numbers = {"start_s": [each for each, _ in pairs], "import_s": [each for _, each in pairs]}
    yield Figure(
        "cold start to tools/list over stdio ÷ bare imports", ours / theirs, LIMIT, unit="×", raw=raw, numbers=numbers
    )


def _time_to_listing(data: Path) -> float:
    """Seconds until the listing was there, its tools counted."""
    asked = wire.message("tools/list", {})
    began = time.perf_counter()
    process = subprocess.Popen(
        _command("-m", "server", "stdio"),
        cwd=ROOT,
        env=servers.server_environment(data, {}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.flush()
        line = process.stdout.readline()
        seconds = time.perf_counter() - began
        _, said = process.communicate(timeout=WAIT_S)
        if b'"remember"' not in line:
            raise RuntimeError(f"no listing: {line[:300]!r} {said[-1000:].decode(errors='replace')}")
        return seconds
    finally:
        process.kill()
        process.wait()


def _time_imports() -> float:
    began = time.perf_counter()
    subprocess.run(_command("-c", IMPORTS), cwd=ROOT, check=True)
    return time.perf_counter() - began


def _command(*arguments: str) -> Sequence[str]:
    return (sys.executable, *arguments)
