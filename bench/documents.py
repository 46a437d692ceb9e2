"""From PDF files on the disk to passages that are found: rate, and what it adds to the memory of the server.

The files are read in by the functions that ``strongroom ingest`` uses, three on their way at once, in a process of
its own; the processes that parse are its children, and not counted in its memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench import bringing_in, data_folders, made_up_pdfs
from bench.bringing_in import VAULT
from bench.figures import Figure
from bench.measurements import MIB
from bench.run import Run
from bench.served_notes import NO_VECTORS

FILES, PAGES = 1_000, 10
RATE, GROWN_MIB = 12.0, 80.0


def measure(run: Run) -> Iterator[Figure]:
    """Without vectors."""
    count = run.sized(FILES, 20)
    with run.folder("documents") as folder:
        with run.report_progress(f"make {count:,} PDFs"):
            size = made_up_pdfs.write_pdfs(folder / "papers", count, PAGES)
        data_folders.prepare_folder(folder / "data", {"ann": (VAULT,)})
        with run.report_progress(f"read in {count:,} PDFs"):
            read = bringing_in.in_process(bringing_in.read_in, folder / "data", folder / "papers", NO_VECTORS)
    if read.records != count:
        raise RuntimeError(f"stored {read.records} of {count}")
    numbers = {"seconds": read.seconds, "cpu": read.cpu, "settled": read.settled, "largest": read.largest}
    raw = (
        f"{count:,} of {PAGES} pages, {size / 1e6:.1f} MB, in {read.seconds:.1f} s until found by words;"
        f" {1000 * read.cpu / count:.0f} ms of CPU each in the server, parsers besides"
    )
    name = f"ingest of {count:,} PDFs of {PAGES} pages, no vectors"
    yield Figure(name, count / read.seconds, RATE, ">=", "documents/s", raw, numbers)
    grown = (read.largest - read.settled) / MIB
    raw = f"largest {read.largest / MIB:.0f} MiB, before the first {read.settled / MIB:.0f} MiB; parsers not counted"
    yield Figure(f"ingest of {count:,} PDFs, resident memory grown", grown, GROWN_MIB, "<=", "MiB", raw, numbers)
