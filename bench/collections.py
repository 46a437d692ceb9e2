"""Fifty folders of two thousand files beside the notes: what they add to a start, cost at rest, and how soon a save in
one of them is found.
"""

from __future__ import annotations

import json
import shutil
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from bench import data_folders, notes_parts, servers
from bench.data_folders import DataFolder
from bench.figures import Figure
from bench.made_up_text import TextWriter
from bench.measurements import cpu_seconds, p50, quantile, to_ms
from bench.run import Run
from bench.served_notes import NO_VECTORS
from bench.wire import RawConnection, VaultEndpoint, result_of

VAULT = "main"
FOLDERS, FILES, STARTS, SAVES = 50, 2_000, 5, 48
ADDED_S, IDLE_SHARE, FOUND_MS = 1.0, 0.01, 300.0
IDLE_S, LOOK_S, QUIET_SHARE = 30.0, 3.0, 0.05
"""Seconds over which rest is measured, and of the looks at whether it has begun: less than that share of a core."""

READ_S, REST_S, POLL_S, GIVEN_UP_S = 3_600.0, (0.5, 0.9), 0.01, 20.0


@dataclass(frozen=True, slots=True)
class _Served:
    """A server that answered a first recall so many seconds after it was begun."""

    pid: int
    endpoint: VaultEndpoint
    answered: float

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """A call over a connection of its own: one that rests for long is closed."""
        return _ask(self.endpoint, tool, arguments)


def _ask(endpoint: VaultEndpoint, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    with RawConnection(endpoint.port, READ_S) as line:
        return result_of(line.ask(endpoint.call(tool, arguments)))


def measure(run: Run) -> Iterator[Figure]:
    """Without vectors. Half of the folders hold Markdown, half source code."""
    folders, files = run.sized(FOLDERS, 4), run.sized(FILES, 50)
    with run.folder("collections") as folder:
        plain = data_folders.prepare_folder(folder / "without", {"ann": (VAULT,)})
        held = DataFolder(folder / "with", plain.tokens)
        shutil.copytree(plain.data, held.data)
        roots = _write_folders(folder / "files", folders, files)
        flags = NO_VECTORS | {"collections.roots": json.dumps([str(folder / "files")])}
        with run.report_progress(f"read in {folders} folders of {files:,} files"), _serve(held, flags) as served:
            _add_all(served, roots, folders * files)
        with run.report_progress("start with and without them"):
            yield _measure_start(plain, held, flags, run.sized(STARTS, 1))
        with _serve(held, flags) as served:
            with run.report_progress("wait for rest, and measure it"):
                yield _measure_rest(served)
            for kind in ("code", "markdown"):
                with run.report_progress(f"saves in a folder of {kind}"):
                    yield _measure_saves(served, kind, roots, run.sized(SAVES, 4))


def _write_folders(root: Path, folders: int, files: int) -> dict[str, tuple[str, Path]]:
    """Kind and root of each collection, by name."""
    writer, roots = TextWriter(seed=7), {}
    for number in range(folders):
        kind, ending, make = (("markdown", "md", _make_page), ("code", "py", _make_module))[number % 2]
        roots[f"{kind}-{number:02}"] = (kind, root / f"{kind}-{number:02}")
        for file in range(files):
            path = root / f"{kind}-{number:02}" / f"part-{file % 20:02}" / f"file_{file:04}.{ending}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(make(writer, file), encoding="utf-8")
    return roots


def _make_page(writer: TextWriter, number: int) -> str:
    return f"# Page {number}\n\n{writer.sentence()} {writer.sentence()}\n\n## Details\n\n{writer.sentence()}\n"


def _make_module(writer: TextWriter, number: int) -> str:
    doc = f'"""{writer.sentence()}"""'
    return f"{doc}\n\n\ndef compute_{number}(value):\n    {doc}\n    return value\n"


@contextmanager
def _serve(held: DataFolder, flags: Mapping[str, Any]) -> Iterator[_Served]:
    began = time.perf_counter()
    with servers.run_server(servers.SERVE, held.data, **flags) as server:
        endpoint = VaultEndpoint(server.port, VAULT, held.tokens["ann"])
        _ask(endpoint, "recall", {"query": "harbour"})
        yield _Served(server.pid, endpoint, time.perf_counter() - began)


def _add_all(served: _Served, roots: Mapping[str, tuple[str, Path]], files: int) -> None:
    for name, (kind, root) in roots.items():
        served.ask("collections", action="add", name=name, kind=kind, root=str(root))
    until = time.monotonic() + READ_S
    while True:
        found = served.ask("collections", max_tokens=100_000)["collections"]
        if all(each["state"] == "ready" for each in found):
            break
        if time.monotonic() > until:
            raise RuntimeError(f"not read after {READ_S:g} s: {found[0]}")
        time.sleep(0.5)
    if (read := sum(each["files"] for each in found)) != files:
        raise RuntimeError(f"read {read} of {files} files")


def _measure_start(plain: DataFolder, held: DataFolder, flags: Mapping[str, Any], times: int) -> Figure:
    """Started in turns, files in the page cache; medians."""
    took: tuple[list[float], list[float]] = ([], [])
    for turn in range(times):
        for which in (0, 1) if turn % 2 else (1, 0):
            with _serve((plain, held)[which], flags) as served:
                took[which].append(served.answered)
    without, beside = map(statistics.median, took)
    raw = f"to the first answer {to_ms(beside)}, without them {to_ms(without)} (medians of {times})"
    numbers = {"with_s": took[1], "without_s": took[0]}
    return Figure("collections: added to a start", beside - without, ADDED_S, "<=", "s", raw, numbers)


def _measure_rest(served: _Served) -> Figure:
    began = time.monotonic()
    while (share := _share_of_a_core(served.pid, LOOK_S)) > QUIET_SHARE:
        if time.monotonic() - began > READ_S:
            raise RuntimeError(f"at rest it takes {share:.2f} of a core")
    waited = time.monotonic() - began - LOOK_S
    share = _share_of_a_core(served.pid, IDLE_S)
    raw = f"of a core, over {IDLE_S:g} s; all of them looked at {waited:.0f} s after the start"
    return Figure("collections: idle server", 100 * share, 100 * IDLE_SHARE, "<=", "%", raw)


def _share_of_a_core(pid: int, seconds: float) -> float:
    began, before = time.monotonic(), cpu_seconds(pid)
    time.sleep(seconds)
    return (cpu_seconds(pid) - before) / (time.monotonic() - began)


def _measure_saves(served: _Served, kind: str, roots: Mapping[str, tuple[str, Path]], count: int) -> Figure:
    """Appended to, by another program, and asked for by a word that nobody wrote before."""
    chance, name = Random(kind), next(name for name, (each, _) in roots.items() if each == kind)
    paths = sorted(path for path in roots[name][1].rglob("*") if path.is_file())
    took = []
    for path in chance.sample(paths, count):
        time.sleep(chance.uniform(*REST_S))
        took.append(_time_save(served, path, kind, "".join(notes_parts.invent_word(chance) for _ in range(2))))
    raw = f"p50 {to_ms(p50(took))}, longest {to_ms(max(took))} of {count} saves"
    title = f"collections: saved file of {kind} → found, p95"
    return Figure(title, 1000 * quantile(took, 0.95), FOUND_MS, "<=", "ms", raw, {"seconds": took})


def _time_save(served: _Served, path: Path, kind: str, word: str) -> float:
    added = f"\n\ndef {word}():\n    return 1\n" if kind == "code" else f"\n{word} it said.\n"
    with path.open("a", encoding="utf-8") as file:
        file.write(added)
    began = time.perf_counter()
    while not _finds(served, path, word):
        if time.perf_counter() - began > GIVEN_UP_S:
            raise RuntimeError(f"{path} is not found {GIVEN_UP_S:g} s after its save")
        time.sleep(POLL_S)
    return time.perf_counter() - began


def _finds(served: _Served, path: Path, word: str) -> bool:
    hits: Sequence[Mapping[str, Any]] = served.ask("search", query=word, mode="keyword")["hits"]
    return any(path.name in f"{hit['title']} {hit.get('place')}" for hit in hits)
