"""From transcripts on the disk to turns that are found: the first pass, and one that finds nothing new.

Sessions are those of ``made_up_sources``: 300 KB and about a hundred turns each. A twentieth of
that is text that is kept; the rest is what tools were given and gave back.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from bench import bringing_in, data_folders, made_up_sources, servers
from bench.bringing_in import VAULT
from bench.figures import Figure
from bench.measurements import MIB, p50, p99
from bench.run import ROOT, Run
from bench.served_notes import NO_VECTORS
from bench.servers import Server
from bench.wire import RawConnection, VaultEndpoint, result_of

SESSIONS, SIZE = 1_000, 300_000
LONG_SESSIONS, LONG = 500, 4_000_000
MB_A_SECOND, AGAIN_S, FRESH_S = 15.0, 2.0, 5.0
ENDED, LOOKS_EVERY_S = 20, 0.05


def measure(run: Run) -> Iterator[Figure]:
    """Without vectors, memories included; the second pass over more than memory would like to hold."""
    with run.folder("harvests") as folder:
        yield _measure_first(run, folder)
        yield _measure_again(run, folder)
        yield _measure_freshness(run, folder)


def _prepare(folder: Path, name: str) -> Path:
    data_folders.prepare_folder(folder / name, {"ann": (VAULT,)})
    return folder / name


def _measure_first(run: Run, folder: Path) -> Figure:
    count, home = run.sized(SESSIONS, 10), folder / "home"
    with run.report_progress(f"make {count:,} sessions"):
        size = made_up_sources.write_sessions(home, count, SIZE)
    with run.report_progress(f"harvest {count:,} sessions"):
        read = bringing_in.in_process(bringing_in.harvest, _prepare(folder, "first"), home, NO_VECTORS)
    megabytes, grown = size / 1e6, (read.largest - read.settled) / MIB
    raw = (
        f"{megabytes:.0f} MB in {read.seconds:.1f} s, {megabytes / read.cpu:.1f} MB a second of CPU;"
        f" {read.records:,} turns, {read.records / read.seconds:,.0f}/s, memories made of them included;"
        f" {grown:.0f} MiB more resident at the end"
    )
    numbers = {"seconds": read.seconds, "cpu": read.cpu, "turns": read.records, "bytes": size}
    name = f"harvest of {count:,} sessions, no vectors"
    return Figure(name, megabytes / read.seconds, MB_A_SECOND, ">=", "MB/s", raw, numbers)


def _measure_again(run: Run, folder: Path) -> Figure:
    count, home = run.sized(LONG_SESSIONS, 5), folder / "long"
    with run.report_progress(f"make {count:,} long sessions"):
        size = made_up_sources.write_sessions(home, count, LONG)
    with run.report_progress("read them, storing nothing"):
        bringing_in.in_process(bringing_in.read_transcripts, folder / "state", home)
    with run.report_progress("read them again"):
        read = bringing_in.in_process(bringing_in.read_transcripts, folder / "state", home)
    if read.records:
        raise RuntimeError(f"{read.records} turns came twice")
    raw = f"{size / 1e9:.1f} GB in {count:,} files, nothing new; {read.seconds * 1000:.0f} ms, one look at each file"
    return Figure("second harvest of 2 GB", read.seconds, AGAIN_S, "<=", "s", raw, {"seconds": read.seconds})


def _measure_freshness(run: Run, folder: Path) -> Figure:
    """A server, ``strongroom harvest`` beside it as a person would run it, and sessions that end at any moment."""
    count, home, chance = run.sized(ENDED, 2), folder / "fresh", Random(26)
    made_up_sources.write_sessions(home, run.sized(SESSIONS // 10, 3), SIZE // 10)
    ready = data_folders.prepare_folder(folder / "server", {"ann": (VAULT,)})
    token = folder / "token"
    token.write_text(ready.tokens["ann"], encoding="utf-8")
    with (
        run.report_progress(f"{count} sessions that end while they are harvested"),
        servers.run_server(servers.SERVE, ready.data, **NO_VECTORS) as server,
        _harvesting(folder / "client", home, server, token),
        RawConnection(server.port) as line,
    ):
        endpoint = VaultEndpoint(server.port, VAULT, ready.tokens["ann"])
        took = []
        for number in range(-1, count):  # the first comes with all that was there before
            word = f"lastword{number + 1}end"
            end_session(home, number, word)
            began = time.perf_counter()
            while not _is_found(line, endpoint, word):
                time.sleep(LOOKS_EVERY_S)
            took += [time.perf_counter() - began] if number >= 0 else []
            time.sleep(chance.random() * 3)
    raw = f"p50 {p50(took):.1f} s, longest {max(took):.1f} s of {count}, pushed to a server on this machine"
    return Figure("a session's last line until it is found, p99", p99(took), FRESH_S, "<=", "s", raw, {"took": took})


def end_session(home: Path, number: int, word: str) -> None:
    """A session of two lines, the last of which holds a word."""
    folder = home / ".claude" / "projects" / "-home-ann-fresh"
    folder.mkdir(parents=True, exist_ok=True)
    said = [("user", "Is it done?"), ("assistant", f"It is, under {word}.")]
    with (folder / f"fresh-{number + 1}.jsonl").open("w", encoding="utf-8") as file:
        for role, text in said:
            file.write(json.dumps({"type": role, "message": {"role": role, "content": text}}) + "\n")


def _is_found(line: RawConnection, endpoint: VaultEndpoint, word: str) -> bool:
    asked = {"query": word, "kinds": ["transcript"], "mode": "keyword", "workspace": "all"}
    return bool(result_of(line.ask(endpoint.call("search", asked))).get("hits"))


@contextmanager
def _harvesting(data: Path, home: Path, server: Server, token: Path) -> Iterator[None]:
    address = f"http://{servers.HOST}:{server.port}"
    command = ["harvest", "--vault", VAULT, "--url", address, "--token-file", str(token)]
    process = subprocess.Popen(
        [sys.executable, "-m", "server", *command],
        cwd=ROOT,
        env=servers.server_environment(data, {}) | {"HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()
