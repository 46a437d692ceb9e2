"""From transcripts on the disk to turns that are found: the first pass, and one that finds nothing new.

Sessions are those of ``made_up_sources``: 300 KB and about a hundred turns each. A twentieth of
that is text that is kept; the rest is what tools were given and gave back.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench import bringing_in, data_folders, made_up_sources
from bench.bringing_in import VAULT
from bench.figures import Figure
from bench.measurements import MIB
from bench.run import Run
from bench.served_notes import NO_VECTORS

SESSIONS, SIZE = 1_000, 300_000
LONG_SESSIONS, LONG = 500, 4_000_000
MB_A_SECOND, AGAIN_S = 15.0, 2.0


def measure(run: Run) -> Iterator[Figure]:
    """Without vectors, memories included; the second pass over more than memory would like to hold."""
    with run.folder("harvests") as folder:
        yield _measure_first(run, folder)
        yield _measure_again(run, folder)


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
