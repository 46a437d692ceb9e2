"""From another program's save of a note to a search that finds what it wrote."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from bench import notes_parts, notes_vault, raw_files, served_notes
from bench.figures import Figure
from bench.measurements import p50, quantile, to_ms
from bench.run import Run
from bench.served_notes import NO_VECTORS, ServedNotes

NOTES, MEANT, SAMPLES = 10_000, 500, 48
LIMITS = {"keyword": 0.4, "semantic": 1.0}
"""Seconds."""

POLL_S, GIVEN_UP_S = 0.01, 20.0
REST_S = (0.5, 0.9)
"""Seconds between two saves, never the same: neither side may fall into step with the other's clock."""

FOLDER = "Probes"


def measure(run: Run) -> Iterator[Figure]:
    """By word among 10,000 notes without a model, then by word and by meaning among 500 with all their vectors."""
    samples = run.sized(SAMPLES, 6)
    yield from _measure_among(run, served_notes.scaled_count(run, NOTES), samples, ("keyword",), NO_VECTORS)
    yield from _measure_among(run, run.sized(MEANT, 100), samples, ("keyword", "semantic"), {})


def _measure_among(
    run: Run, count: int, samples: int, modes: Sequence[str], flags: Mapping[str, Any]
) -> Iterator[Figure]:
    with run.folder("notes-saves") as folder:
        ready, notes = served_notes.prepare_vault(folder / "data")
        notes_vault.write_notes(notes, count)
        probes = _write_probes(notes, samples * len(modes))
        with served_notes.serve_over_http(ready, flags) as served:
            with run.report_progress(f"index {count:,} notes"):
                served.await_index(count + len(probes))
                if not flags:
                    served.await_vectors()
            with run.report_progress(f"{samples} saves from outside each, found by {' and by '.join(modes)}"):
                for number, mode in enumerate(modes):
                    yield _time_to_find(served, probes[number :: len(modes)], mode, count)


def _write_probes(folder: Path, count: int) -> list[str]:
    """Notes to be changed, like the others but with plain names."""
    made = notes_vault.make_notes(count, 2, notes_vault.default_parts())
    (folder / FOLDER).mkdir()
    paths = []
    for number, (_, data) in enumerate(made):
        paths.append(f"{FOLDER}/probe-{number:03d}.md")
        (folder / paths[-1]).write_bytes(data)
    return paths


def _time_to_find(served: ServedNotes, probes: Sequence[str], mode: str, count: int) -> Figure:
    chance = Random(f"{mode} {count}")
    took: dict[str, list[float]] = {style: [] for style in STYLES}
    for number, path in enumerate(probes):
        served.pause(chance.uniform(*REST_S))
        style = list(STYLES)[number % len(STYLES)]
        took[style].append(_time_save(served, path, mode, (style, _make_unmatched(served, path, mode, chance))))
    every = [seconds for some in took.values() for seconds in some]
    styles = "; ".join(f"{style} p50 {to_ms(p50(some))}, longest {to_ms(max(some))}" for style, some in took.items())
    watching = served.notes()["watching"]
    raw = f"p50 {to_ms(p50(every))}, longest {to_ms(max(every))} of {len(every)} saves; {styles}; watching: {watching}"
    name = f"saved outside → {mode} search finds it, {count:,} notes, p95"
    return Figure(
        name,
        quantile(every, 0.95) * 1000,
        limit=LIMITS[mode] * 1000,
        sense="<=",
        unit="ms",
        raw=raw,
        numbers={"seconds": took},
    )


def _time_save(served: ServedNotes, path: str, mode: str, how: tuple[str, str]) -> float:
    """Seconds from the end of the save to the end of the search that found it."""
    style, sentence = how
    STYLES[style](served.folder / path, f"\n# {sentence.split()[1].capitalize()}\n\n{sentence}\n".encode())
    began = time.perf_counter()
    while not served.finds(path, sentence, mode):
        if time.perf_counter() - began > GIVEN_UP_S:
            raise RuntimeError(f"{path} ({style}) is not found by {mode} {GIVEN_UP_S:g} s after its save")
        served.pause(POLL_S)
    return time.perf_counter() - began


def _save_in_place(path: Path, added: bytes) -> None:
    """As many plain editors do: truncate and write."""
    path.write_bytes(path.read_bytes() + added)


def _save_by_append(path: Path, added: bytes) -> None:
    """As a script does."""
    with path.open("ab") as file:
        file.write(added)


def _save_by_rename(path: Path, added: bytes) -> None:
    """As careful editors do: a new file takes the place of the old one."""
    raw_files.write_atomically(path, path.read_bytes() + added)


STYLES: Mapping[str, Callable[[Path, bytes], None]] = {
    "in place": _save_in_place,
    "appended": _save_by_append,
    "renamed over": _save_by_rename,
}


def _make_unmatched(served: ServedNotes, path: str, mode: str, chance: Random) -> str:
    """A sentence that does not find the note yet: by meaning there is always some nearest note."""
    for _ in range(20):
        sentence = make_sentence(mode, chance)
        if not served.finds(path, sentence, mode):
            return sentence
    raise RuntimeError(f"{path} is found by everything")


def make_sentence(mode: str, chance: Random) -> str:
    """Words nobody wrote before, or a matter no other note is about."""
    if mode == "keyword":
        return f"Called {' '.join(notes_parts.invent_word(chance) for _ in range(3))}."
    who, does, what, where = (chance.choice(some) for some in MATTERS)
    return f"The {who} {does} the {what} in {where} in {chance.randint(1500, 1900)}."


MATTERS = (
    ("heron", "bishop", "baker", "sailor", "widow", "miller", "fox", "queen", "surgeon", "shepherd", "juggler"),
    ("stole", "buried", "painted", "married", "drowned", "blessed", "ate", "sang about", "inherited", "auctioned"),
    ("cheese", "violin", "orchard", "goat", "cathedral", "ferry", "piano", "diamond", "pumpkin", "whale", "umbrella"),
    ("Lisbon", "Bergen", "Cairo", "Kyoto", "Lima", "Riga", "Samarkand", "Cork", "Naples", "Havana", "Tbilisi"),
)
