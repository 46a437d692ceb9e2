"""An archive of a gigabyte: how fast it is made, what it takes, and what 16 writers notice of it.

The command runs beside a server, as an operator's does. Writers do the same number of stores without a backup and
beside one, in turns, so that what else the machine does falls on both. Vectors are mixtures of real ones.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path

from bench import baseline, bulk_rows, data_folders, servers, wire
from bench.figures import Figure
from bench.made_up_text import TextWriter
from bench.measurements import MIB, to_ms
from bench.run import ROOT, Run
from bench.wire import RequestLoad, VaultEndpoint

MEMORIES = 230_000
"""Some 4.4 KB each: a gigabyte."""

REAL = 500
LOOK_S = 0.005
WRITERS, STORES, TURNS, WARM = 16, 6_000, 3, 200
MB_S, PACE, LATER_MS, MEMORY_MIB = 150.0, 0.9, 100.0, 40.0


@dataclass(slots=True)
class _Stores:
    """Seconds of each store of some turns, and those turns' stores a second."""

    seconds: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Backup:
    """What the command said, and its largest memory."""

    size: int
    seconds: float
    peak: int


def measure(run: Run) -> Iterator[Figure]:
    """On request: filling the vault takes minutes."""
    memories, stores = run.sized(MEMORIES, 5_000), run.sized(STORES, 400)
    with run.folder("backup") as folder, baseline.process_pool() as pool, wire.driver() as driver:
        ready = data_folders.prepare_folder(folder / "data", {"ann": ("main", "empty")})
        with run.report_progress(f"store {memories:,} memories"):
            fill_vault(pool, ready.data, memories)
        empty = _back_up(ready.data, "empty")
        with run.report_progress("back it up, alone"):
            yield from _measure_alone(_back_up(ready.data, "main"), empty)
        with (
            run.report_progress(f"back it up beside {WRITERS} writers"),
            servers.run_server(servers.SERVE, ready.data) as server,
        ):
            door = VaultEndpoint(server.port, "main", ready.tokens["ann"])
            yield from _measure_beside(driver, door, ready.data, stores)


def fill_vault(pool: ProcessPoolExecutor, data: Path, memories: int) -> None:
    import numpy as np

    writer = TextWriter(seed=17)
    some = [writer.sentence() for _ in range(REAL)]
    real = np.frombuffer(pool.submit(baseline.embed_all, some).result(), np.float32).reshape(-1, 384)
    vectors = data_folders.mixtures(real, memories)
    bulk_rows.fill(
        data, "main", ((f"{writer.sentence()} {n}", v) for n, v in zip(range(memories), vectors, strict=False))
    )


def _measure_alone(done: _Backup, empty: _Backup) -> Iterator[Figure]:
    rate = done.size / 1e6 / done.seconds
    raw = f"{done.size / 1e6:,.0f} MB in {done.seconds:.2f} s: copied, checked, compressed, synced, read back"
    yield Figure("backup of a vault, alone", rate, MB_S, ">=", "MB/s", raw, {"size": done.size})
    more = (done.peak - empty.peak) / MIB
    raw = f"peak {done.peak / MIB:.0f} MiB, of an empty vault {empty.peak / MIB:.0f} MiB"
    yield Figure("memory a large backup takes besides", more, MEMORY_MIB, "<=", "MiB", raw)


def _measure_beside(driver: ProcessPoolExecutor, door: VaultEndpoint, data: Path, count: int) -> Iterator[Figure]:
    writer, quiet, beside, made = TextWriter(seed=18), _Stores(), _Stores(), list[_Backup]()
    _store(driver, door, writer, WARM)
    for _ in range(TURNS):
        _add(quiet, driver, door, writer, count)
        made += _add_beside(beside, driver, door, writer, count, data)
    alone, with_it = statistics.median(quiet.rates), statistics.median(beside.rates)
    raw = f"{with_it:.0f} ÷ {alone:.0f} stores a second, medians of {TURNS} turns of {count:,}; {len(made)} backups"
    yield Figure(f"pace of {WRITERS} writers beside backups ÷ without", with_it / alone, PACE, ">=", "×", raw)
    longest, without = max(beside.seconds), max(quiet.seconds)
    raw = f"{to_ms(longest)} beside, {to_ms(without)} without"
    yield Figure("longest store beside backups − without", (longest - without) * 1000, LATER_MS, "<=", "ms", raw)
    rate = statistics.median(each.size / 1e6 / each.seconds for each in made)
    yield Figure(f"backup of a vault beside {WRITERS} writers", rate, unit="MB/s", raw=f"median of {len(made)}")


def _store(driver: ProcessPoolExecutor, door: VaultEndpoint, writer: TextWriter, count: int) -> wire.LoadResult:
    return driver.submit(wire.drive, _load(door, writer, count)).result()


def _load(door: VaultEndpoint, writer: TextWriter, count: int) -> RequestLoad:
    requests = [door.call("remember", {"content": writer.sentence()}) for _ in repeat(None, count)]
    return RequestLoad(door.port, WRITERS, requests, keep=100)


def _add(to: _Stores, driver: ProcessPoolExecutor, door: VaultEndpoint, writer: TextWriter, count: int) -> None:
    _count(to, _store(driver, door, writer, count))


def _count(to: _Stores, done: wire.LoadResult) -> None:
    if done.failures:
        raise RuntimeError(f"{done.failures} stores failed")
    to.seconds += done.seconds
    to.rates.append(len(done.seconds) / done.wall)


def _add_beside(
    to: _Stores, driver: ProcessPoolExecutor, door: VaultEndpoint, writer: TextWriter, count: int, data: Path
) -> list[_Backup]:
    """One backup after the other until the stores are done; the last one may outlast them."""
    working = driver.submit(wire.drive, _load(door, writer, count))
    made = [_back_up(data, "main")]
    while not working.done():
        made.append(_back_up(data, "main"))
    _count(to, working.result())
    return made


def _back_up(data: Path, vault: str) -> _Backup:
    command = [sys.executable, "-m", "server", "backup", "--vault", vault, "--json"]
    process = subprocess.Popen(
        command, cwd=ROOT, env=servers.server_environment(data, {}), stdout=subprocess.PIPE, text=True
    )
    peak = 0
    while process.poll() is None:
        # Not by its usage at the end: that counts the moment before it became another program, when it was this one.
        peak = max(peak, _peak_bytes(process.pid))
        time.sleep(LOOK_S)
    said, _ = process.communicate()
    if process.returncode:
        raise RuntimeError("the backup failed")
    (run,) = json.loads(said)["backups"]
    Path(run["path"]).unlink()
    return _Backup(run["of_bytes"], run["seconds"], peak)


def _peak_bytes(pid: int) -> int:
    """The largest resident memory so far; 0 where it has just ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0
