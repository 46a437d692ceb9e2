"""From a folder of notes to an index of them: the first time, after a restart, and what it holds in memory.

Time counts from the server's readiness, at which nothing has looked at the vault yet; the notes are in the page cache.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import data_folders, notes_vault, served_notes
from bench.figures import Figure
from bench.measurements import MIB, p50, p99, resident_bytes, to_ms
from bench.run import Run
from bench.served_notes import NO_VECTORS, ServedNotes
from vaults.pool_rounds import REST_S, ROUND_S

NOTES, SMALL, CHANGED, RESTARTS = 10_000, 100, 100, 3
RATE, WARM_SHARE, KIB_A_NOTE = 600.0, 0.03, 4.0
REST = REST_S + 2 * ROUND_S
"""Seconds after which a vault nobody uses has given back what it can."""

ASKS_EVERY_S = 0.25
COMMON = "configuration"
"""A word many of the notes have."""


@dataclass(slots=True)
class ConcurrentSearches:
    """Keyword searches beside an index under way. ``first`` and ``found``: seconds until one was answered, and until
    one found something."""

    served: ServedNotes
    began: float = field(default_factory=time.perf_counter)
    took: list[float] = field(default_factory=list)
    first: float | None = None
    found: float | None = None
    _last: float = -math.inf

    def __call__(self) -> None:
        if time.perf_counter() - self._last < ASKS_EVERY_S:
            return
        asked = time.perf_counter()
        hits = self.served.search(COMMON, "keyword")["hits"]
        self._last = time.perf_counter()
        self.took.append(self._last - asked)
        if self.first is None:
            self.first = self._last - self.began
        if hits and self.found is None:
            self.found = self._last - self.began

    def to_text(self) -> str:
        """For the raw column."""
        if self.first is None:
            return "it was ready before a search could be asked"
        found = f"found something after {self.found:.2f} s" if self.found is not None else "none found anything"
        return (
            f"meanwhile the first keyword search was answered after {self.first:.2f} s, {found};"
            f" {len(self.took)} of them took p50 {to_ms(p50(self.took))}, p99 {to_ms(p99(self.took))}"
        )


def measure(run: Run) -> Iterator[Figure]:
    """First without a model, for index, restart and memory; then with it, when vectors are made beside."""
    count = served_notes.scaled_count(run, NOTES)
    with run.folder("notes-index") as folder:
        few, small = served_notes.prepare_vault(folder / "few")
        notes_vault.write_notes(small, SMALL)
        with run.report_progress(f"memory with {SMALL} notes"):
            base = _resting_bytes(few, SMALL)
        ready, notes = served_notes.prepare_vault(folder / "many")
        with run.report_progress(f"make {count:,} notes"):
            made = notes_vault.write_notes(notes, count)
        said = f"{_sizes(notes, made)}, {notes_vault.default_parts().origin}"
        with run.report_progress(f"first index of {count:,} notes"):
            first, figures = _measure_first(ready, count, base, said)
        yield from figures
        with run.report_progress("warm starts"):
            yield from _measure_restarts(run, ready, made, first)
        other, place = served_notes.prepare_vault(folder / "vectors")
        place.rmdir()
        notes.rename(place)
        with run.report_progress(f"first index of {count:,} notes, vectors made beside"):
            yield _measure_with_vectors(other, count, said)


def _measure_first(
    data_folder: data_folders.DataFolder, count: int, base: int, said: str
) -> tuple[float, list[Figure]]:
    with served_notes.serve_over_http(data_folder, NO_VECTORS) as served:
        beside = ConcurrentSearches(served)
        seconds = served.await_index(count, beside)
        rate = _rate("first index until keyword-searchable, no model", count, seconds, f"{said}; {beside.to_text()}")
        time.sleep(REST)
        assert served.server is not None
        held = resident_bytes(served.server.pid)
    each = (held - base) / (count - SMALL) / 1024
    raw = f"({held / MIB:.1f} − {base / MIB:.1f} MiB with {SMALL} notes) ÷ {count - SMALL:,} notes; {REST:g} s after"
    numbers = {"held": held, "base": base}
    memory = Figure(
        "resident memory per note, vectors apart",
        each,
        limit=KIB_A_NOTE,
        sense="<=",
        unit="KiB/note",
        raw=raw,
        numbers=numbers,
    )
    return seconds, [rate, memory]


def _rate(name: str, count: int, seconds: float, raw: str) -> Figure:
    whole = f"{count:,} notes in {seconds:.2f} s; {raw}"
    return Figure(
        name, count / seconds, limit=RATE, sense=">=", unit="notes/s", raw=whole, numbers={"seconds": seconds}
    )


def _measure_with_vectors(data_folder: data_folders.DataFolder, count: int, said: str) -> Figure:
    with served_notes.serve_over_http(data_folder) as served:
        beside = ConcurrentSearches(served)
        seconds = served.await_index(count, beside)
        pending = served.ask("status", {})["embedding"]["pending"]
    raw = f"{said}; {beside.to_text()}; {pending:,} passages then waited for their vector"
    return _rate("first index until keyword-searchable, default settings", count, seconds, raw)


def _resting_bytes(data_folder: data_folders.DataFolder, count: int) -> int:
    """Resident bytes of a server with a small vault, used like the big one: everything is loaded, little is held."""
    with served_notes.serve_over_http(data_folder, NO_VECTORS) as served:
        served.await_index(count)
        served.search(COMMON, "keyword")
        time.sleep(REST)
        assert served.server is not None
        return resident_bytes(served.server.pid)


def _measure_restarts(
    run: Run, data_folder: data_folders.DataFolder, made: Sequence[str], first: float
) -> Iterator[Figure]:
    rounds = run.sized(RESTARTS, 2)
    quiet = [_restart(data_folder, len(made)) for _ in range(rounds)]
    yield _share("warm start, nothing changed ÷ first index", quiet, first, "")
    changed = []
    for number in range(rounds):
        word = f"whiledown{'abcdefgh'[number]}"
        some = made[number :: max(1, len(made) // CHANGED)][:CHANGED]
        for path in some:
            _append(data_folder.data / "vaults" / served_notes.VAULT / "notes" / path, word)
        changed.append(_restart(data_folder, len(made), (word, len(some))))
    name = f"warm start, {len(some)} changed while down ÷ first index"
    yield _share(name, changed, first, "each found by what was added; ")


def _share(name: str, took: Sequence[tuple[float, float]], first: float, raw: str) -> Figure:
    agreed, whole = p50([each for each, _ in took]), p50([each for _, each in took])
    raw = (
        f"{to_ms(agreed)} from the server's readiness ({to_ms(whole)} from the start of its process) ÷ {first:.2f} s;"
        f" {raw}median of {len(took)}"
    )
    return Figure(
        name,
        agreed / first,
        limit=WARM_SHARE,
        sense="<=",
        unit="",
        raw=raw,
        numbers={"seconds": [each for each, _ in took]},
    )


def _restart(
    data_folder: data_folders.DataFolder, count: int, changed: tuple[str, int] | None = None
) -> tuple[float, float]:
    """Seconds until the index agrees, from readiness and from the start of the process. ``changed``: a word and how
    many notes must be found by it at once."""
    began = time.perf_counter()
    with served_notes.serve_over_http(data_folder, NO_VECTORS) as served:
        seconds = served.await_index(count)
        whole = time.perf_counter() - began
        if changed is not None:
            # As many as there are: what a search counts is bounded by how many it is asked for.
            found: dict[str, Any] = served.search(changed[0], "keyword", limit=2 * changed[1])
            if found["total"] != changed[1]:
                raise RuntimeError(f"called ready with {found['total']} of {changed[1]} changed notes in the index")
    return seconds, whole


def _append(path: Path, word: str) -> None:
    with path.open("ab") as file:
        file.write(f"\nChanged {word} by somebody else.\n".encode())


def _sizes(folder: Path, made: Sequence[str]) -> str:
    sizes = [(folder / path).stat().st_size for path in made]
    return f"median {p50(sizes) / 1000:.1f} kB, {sum(sizes) / 1e6:.1f} MB in all"
