"""``python -m bench``: measure, print a table, write ``bench/out/bench.json``."""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import machine, report
from bench.figures import Figure
from bench.run import OUT, Run

PARTS = {
    "door": "the price of the HTTP door",
    "recalls": "recall among 10,000 and 100,000 memories",
    "searchers": "16 searchers at once",
    "stores": "remember with one and with 32 clients",
    "writers": "16 writers and 16 searchers at once, and memory meanwhile",
    "packs": "context and session_resume among 10,000 memories",
    "recording": "session and event of a call",
    "start": "cold start over stdio and HTTP, and commands somebody waits for",
    "memory": "resident memory",
    "vaults": "1,000 vaults, 64 open",
    "console": "pages of the console, alone and beside 100 calls a second",
    "streams": "200 open pages of the console that hear of changes",
    "lag": "loop lag beside an import",
    "imports": "imports of 100,000 memories, and dry runs of a gigabyte",
    "harvests": "harvests of 1,000 sessions, and second passes",
    "documents": "ingest of 1,000 PDFs of ten pages",
    "silence": "longest silence of the loop beside long notes",
    "locomo": "four real conversations",
    "notes_index": "first index, restarts and memory of 10,000 notes",
    "notes_saves": "from a save outside to a search that finds it",
    "notes_edits": "one-line edits of long notes",
    "notes_moves": "moving a note with 1,000 backlinks",
    "linking": "suggested links and links set on write",
    "graph": "links of 10,000 notes, and what is asked of them",
    "collections": "50 folders of 2,000 files: start, rest, and saves that are found",
    "evictions": "100,000 passages of documents beside memories, and letting them go",
    "code": "a million lines of code, and where things are defined",
    "backup": "an archive of a gigabyte, alone and beside 16 writers",
    "salvage": "what comes back of a damaged vault of 100,000 memories",
    "verifies": "verify of a gigabyte beside calls",
    "restore": "restoring 100,000 memories from an archive",
    "snapshots": "scheduled backups of a gigabyte, the second of which finds nothing changed",
    "scale": "search among a million passages",
    "change_log": "bytes, CPU and delay of the change log",
    "audit": "what an entry costs, and ten million of them",
    "cluster": "several servers over one PostgreSQL, beside one by itself; a server killed, all restarted",
}
ON_REQUEST = {
    "audit",
    "backup",
    "cluster",
    "collections",
    "evictions",
    "restore",
    "salvage",
    "verifies",
    "scale",
    "snapshots",
}
"""Parts that take minutes: measured when they are named, or small with ``--quick``."""

QUICK = 0.1


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0, also where a limit is missed; with ``--strict`` 1 then. A part that fails ends in 2."""
    given = _arguments(argv)
    from server.settings import export_environment

    export_environment()
    run = Run(QUICK if given.quick else 1.0, given.data, given.out)
    began, before = time.monotonic(), machine.load_average()
    figures = [figure for name in given.only or _default_parts(given) for figure in _measure_part(name, run)]
    about = {
        "machine": machine.describe_machine(),
        "load_before": before,
        "load_after": machine.load_average(),
        "seconds": time.monotonic() - began,
        "scale": run.scale,
    }
    report.write_json(given.out / "bench.json", figures, about)
    print((report.markdown if given.markdown else report.plain)(figures, about))
    if any(figure.value is None and figure.raw.startswith("failed") for figure in figures):
        return 2
    return int(given.strict and any(figure.met is False for figure in figures))


def _default_parts(args: argparse.Namespace) -> list[str]:
    return [name for name in PARTS if args.quick or name not in ON_REQUEST]


def _measure_part(name: str, run: Run) -> Iterator[Figure]:
    print(f"{name}: {PARTS[name]}", file=sys.stderr, flush=True)
    try:
        yield from importlib.import_module(f"bench.{name}").measure(run)
    except Exception as failure:  # noqa: BLE001  the other parts are measured all the same
        print(f"  {type(failure).__name__}: {failure}", file=sys.stderr)
        yield Figure(PARTS[name], None, raw=f"failed: {type(failure).__name__}: {failure}"[:300])


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=[*PARTS], metavar="NAME", help=f"some of: {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that everything works")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a limit is missed")
    parser.add_argument("--markdown", action="store_true", help="print the table as docs/figures.md has it")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the LoCoMo conversations")
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help="where bench.json goes")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
