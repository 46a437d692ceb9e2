"""Moving a note many others link to, beside reading and atomically writing those others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import notes_vault, raw_files, served_notes
from bench.figures import Figure
from bench.measurements import p50, to_ms
from bench.run import Run
from bench.served_notes import NO_VECTORS, ServedNotes

BACKLINKS, ROUNDS, LIMIT = 1_000, 4, 3.0
OLD = "Hubs/The old hub.md"
PAUSE_S = 1.5
"""Longer than the watcher takes to look at what a move wrote."""


def measure(run: Run) -> Iterator[Figure]:
    """Without a model on both sides: the vectors of 1,000 changed notes follow later. One round warms up."""
    count = run.sized(BACKLINKS, 100)
    for door, opened in (("in process", served_notes.serve_in_process), ("over HTTP", served_notes.serve_over_http)):
        with run.folder("notes-moves") as folder:
            ready, notes = served_notes.prepare_vault(folder / "data")
            sources = linking_vault(notes, count)
            copies = raw_files.copy_files(notes, sources, folder / "raw")
            with opened(ready, NO_VECTORS) as served:
                served.await_index(count + 1)
                with run.report_progress(f"move a note with {count:,} backlinks, {door}"):
                    took = _time_moves(served, copies, sources, run.sized(ROUNDS, 2))
        moves, bare = p50([each for each, _ in took]), p50([each for _, each in took])
        raw = f"{to_ms(moves)} ÷ {to_ms(bare)} to read and atomically write {count:,} notes; medians of {len(took)}"
        name = f"move, {count:,} backlinks, {door} ÷ bare rewriting"
        yield Figure(name, moves / bare, LIMIT, unit="×", raw=raw, numbers={"pairs": took})


def linking_vault(folder: Path, count: int) -> list[str]:
    """``count`` notes that each link once to ``OLD``, which is there too; the paths of the linking ones."""
    made = notes_vault.write_notes(folder, count, seed=3)
    for number, path in enumerate(made):
        with (folder / path).open("ab") as file:
            file.write(notes_vault.make_linking_paragraph(OLD, number).encode())
    (folder / OLD).parent.mkdir()
    (folder / OLD).write_text("# The old hub\n\nEverybody links here.\n", encoding="utf-8")
    return made


def _time_moves(
    served: ServedNotes, copies: Sequence[Path], sources: Sequence[str], rounds: int
) -> list[tuple[float, float]]:
    """Seconds of the move and of the bare rewriting, which take turns."""
    took, here = [], OLD
    for number in range(rounds + 1):
        there = f"Hubs {number}/Hub renamed {number}.md"
        served.pause(PAUSE_S)
        moved = served.timed("note_move", {"path": here, "to": there, "update_backlinks": True})[0]
        check(served.folder, sources, here, there)
        served.pause(PAUSE_S)
        took.append((moved, raw_files.time_rewrite(copies)))
        here = there
    return took[1:]


def check(folder: Path, sources: Sequence[str], old: str, new: str) -> None:
    """Every link leads to the new place and none to the old one. Raises ``RuntimeError``."""
    was, now = (f"{Path(path).stem}" for path in (old, new))
    for path in sources:
        text = (folder / path).read_text(encoding="utf-8-sig")
        if was in text or now not in text:
            raise RuntimeError(f"{path} still links to the old place, or nowhere")
    if (folder / old).exists() or not (folder / new).exists():
        raise RuntimeError("the note is not where it was moved to")
