"""A one-line edit of a long note, beside reading and atomically writing the same bytes.

In process the call goes through ``dispatch``, without a model; over HTTP to a server with default settings, all
vectors made. Between two edits there is a pause in which the watcher looks at what was written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from bench import data_folders, notes_vault, raw_files, served_notes
from bench.figures import Figure
from bench.measurements import p50, to_ms
from bench.run import Run
from bench.served_notes import NO_VECTORS, ServedNotes

SIZES = {1_000: (3.0, 30), 100_000: (5.0, 8)}
"""Lines: the limit, and edits of each kind."""

NOTE = "Long note.md"
PAUSE_S = 0.35
WARM = 2
KINDS = ("add", "replace")


def measure(run: Run) -> Iterator[Figure]:
    """The limit is on the call in process; what the door adds is told beside it."""
    for lines, (limit, edits) in SIZES.items():
        yield from _measure_size(run, run.sized(lines, 500), limit, max(edits if run.scale == 1 else 3, 3))


def _measure_size(run: Run, lines: int, limit: float, edits: int) -> Iterator[Figure]:
    text = notes_vault.make_long_note(lines)
    for door in ("in process", "over HTTP"):
        with run.folder("notes-edits") as folder:
            ready, notes = served_notes.prepare_vault(folder / "data")
            (notes / NOTE).write_text(text, encoding="utf-8", newline="")
            copy = raw_files.copy_files(notes, [NOTE], folder / "raw")[0]
            inside = door == "in process"
            with _open_served(ready, inside=inside) as served, run.report_progress(f"edit {lines:,} lines, {door}"):
                served.await_index(1)
                if not inside:
                    served.await_vectors()
                took = _time_edits(served, copy, lines, edits)
                check(served.folder / NOTE, text, edits + WARM)
        yield figure(f"one-line edit, {lines:,} lines, {door}", took, limit if inside else None, len(text))


def _open_served(data_folder: data_folders.DataFolder, *, inside: bool) -> AbstractContextManager[ServedNotes]:
    return (
        served_notes.serve_in_process(data_folder, NO_VECTORS) if inside else served_notes.serve_over_http(data_folder)
    )


def _time_edits(served: ServedNotes, copy: Path, lines: int, edits: int) -> dict[str, list[float]]:
    """Seconds of each kind of edit and of the bare rewriting, which take turns."""
    took: dict[str, list[float]] = {name: [] for name in (*KINDS, "bare")}
    for number in range(edits + WARM):
        for kind in KINDS:
            served.pause(PAUSE_S)
            took[kind].append(served.timed("note_edit", arguments(kind, lines, number))[0])
            took["bare"].append(raw_files.time_rewrite([copy]))
    return {name: seconds[WARM * (2 if name == "bare" else 1) :] for name, seconds in took.items()}


def arguments(kind: str, lines: int, number: int) -> dict[str, Any]:
    """Of the edit with this number: one more line in the middle section, or its first line changed."""
    where = {"path": NOTE, "action": kind, "section": notes_vault.middle_heading(lines)}
    if kind == "add":
        return {**where, "content": f"Added entry {number}", "position": "append", "format": "plain"}
    return {**where, "search": f"State: step {number}.", "replacement": f"State: step {number + 1}."}


def check(path: Path, before: str, edits: int) -> None:
    """Every edit is in the file and nothing else changed: the figure would be worth nothing otherwise."""
    lines = path.read_bytes().decode().split("\n")
    added = [line for line in lines if line.startswith("Added entry ")]
    rest = [line for line in lines if line and not line.startswith("Added entry ")]
    wanted = [line for line in before.replace("State: step 0.", f"State: step {edits}.").split("\n") if line]
    if added != [f"Added entry {number}" for number in range(edits)] or rest != wanted:
        raise RuntimeError(f"the edited note is not what {edits} edits of each kind make of it")


def figure(name: str, took: dict[str, list[float]], limit: float | None, size: int) -> Figure:
    """Of the two kinds the slower one counts."""
    bare = p50(took["bare"])
    middle = {kind: p50(took[kind]) for kind in KINDS}
    raw = (
        f"{', '.join(f'{kind} {to_ms(seconds)}' for kind, seconds in middle.items())} ÷ {to_ms(bare)} for"
        f" reading and atomically writing {size:,} bytes; medians of {len(took['add'])}"
    )
    return Figure(f"{name} ÷ bare rewriting", max(middle.values()) / bare, limit, unit="×", raw=raw, numbers=took)
