"""From what another system left to memories that are found: rate, memory, vectors, and dry runs.

Every import runs in a process of its own. Rates count from the first look at the source to the last commit, without the
start of the process; dry runs are the whole command.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench import bringing_in, data_folders, made_up_sources
from bench.bringing_in import FIRST_BATCHES, VAULT
from bench.figures import Figure
from bench.measurements import MIB
from bench.run import ROOT, Run
from bench.served_notes import NO_VECTORS

MEMORIES, EMBEDDED = 100_000, 10_000
RATE, SHARE, GROWN_MIB, DRY_S = 5_000.0, 0.85, 60.0, 20.0
GIGABYTE, SENTENCES = 1_000_000_000, 20


def measure(run: Run) -> Iterator[Figure]:
    """Without vectors for rate and memory; a tenth as many with them; then a gigabyte that is only looked at."""
    with run.folder("imports") as folder:
        yield from _measure_words(run, folder)
        yield _measure_vectors(run, folder)
        yield _measure_dry_run(run, folder, "jsonl", _write_lines)
        yield _measure_dry_run(run, folder, "chatgpt", made_up_sources.write_chatgpt_export)


def _prepare(folder: Path, name: str) -> Path:
    data_folders.prepare_folder(folder / name, {"ann": (VAULT,)})
    return folder / name


def _measure_words(run: Run, folder: Path) -> Iterator[Figure]:
    count, path = run.sized(MEMORIES, 2_000), folder / "words.jsonl"
    with run.report_progress(f"make {count:,} memories"):
        made_up_sources.write_memories(path, count)
    with run.report_progress(f"import {count:,} memories without vectors"):
        read = bringing_in.in_process(bringing_in.import_file, _prepare(folder, "words"), path, NO_VECTORS)
    if read.records != count:
        raise RuntimeError(f"imported {read.records} of {count}")
    raw = f"{count:,} of one to four sentences in {read.seconds:.1f} s; {count / read.cpu:,.0f} a second of CPU"
    numbers = {"seconds": read.seconds, "cpu": read.cpu, "settled": read.settled, "largest": read.largest}
    name = f"import of {count:,} memories until found by words"
    yield Figure(name, count / read.seconds, RATE, ">=", "memories/s", raw, numbers)
    grown = (read.largest - read.settled) / MIB
    raw = (
        f"largest resident memory after any batch, {read.largest / MIB:.0f} MiB, less that after the first"
        f" {FIRST_BATCHES} of {-(-count // 256)} batches, {read.settled / MIB:.0f} MiB; no vectors"
    )
    yield Figure(f"import of {count:,} memories, resident memory grown", grown, GROWN_MIB, "<=", "MiB", raw, numbers)


def _measure_vectors(run: Run, folder: Path) -> Figure:
    count, path = run.sized(EMBEDDED, 300), folder / "vectors.jsonl"
    texts = made_up_sources.write_memories(path, count, seed=25)
    with run.report_progress(f"import {count:,} memories with vectors, and embed their texts alone"):
        read = bringing_in.in_process(bringing_in.import_with_vectors, _prepare(folder, "vectors"), path, texts)
    raw = (
        f"{count:,} stored with vectors in {read.seconds:.1f} s, {count / read.seconds:.0f}/s; the same texts embedded"
        f" alone in {read.alone:.1f} s, half before and half after; by CPU {read.alone_cpu / read.cpu:.2f}"
    )
    numbers = {"seconds": read.seconds, "cpu": read.cpu, "alone": read.alone, "alone_cpu": read.alone_cpu}
    name = f"import of {count:,} memories with vectors ÷ embedder alone"
    return Figure(name, read.alone / read.seconds, SHARE, ">=", "×", raw, numbers)


def _write_lines(path: Path, size: int) -> int:
    return made_up_sources.write_memories_of_size(path, size, SENTENCES)


def _measure_dry_run(run: Run, folder: Path, source: str, write: Callable[[Path, int], int]) -> Figure:
    path, size = folder / "conversations.json", run.sized(GIGABYTE, 5_000_000)
    with run.report_progress(f"make {size / 1e6:,.0f} MB for {source}"):
        count = write(path, size)
    with run.report_progress(f"dry run of {source}"):
        seconds = time_command("import", source, str(path), "--dry-run")
    path.unlink()
    what = "lines of 20 sentences" if source == "jsonl" else "conversations of 40 messages"
    raw = f"{seconds:.1f} s for {size / 1e6:,.0f} MB, {count:,} {what}; the whole command"
    return Figure(f"dry run of 1 GB, {source}", seconds * GIGABYTE / size, DRY_S, "<=", "s", raw, {"seconds": seconds})


def time_command(*arguments: str) -> float:
    """Seconds a command of ours takes. Raises when it fails."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "server", *arguments], cwd=ROOT, check=True, capture_output=True)
    return time.perf_counter() - began
