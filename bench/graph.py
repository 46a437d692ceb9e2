"""What links cost: while notes are indexed, after a save, and when the graph is asked.

In this process, without a model: what is measured is the work on links, and not the door.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, wraps
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from bench import data_folders, notes_vault, served_notes
from bench.figures import Figure
from bench.measurements import MIB, p50, quantile, resident_bytes, to_ms
from bench.run import Run
from bench.served_notes import NO_VECTORS, VAULT
from server.services import Services, open_services
from server.tools import discover
from vaults.domain.notes.index import reconciliation
from vaults.graph import centrality, traversal
from vaults.graph.links import link_history, link_index
from vaults.graph.names import note_names
from vaults.graph.note_graph import Graph, catch_up
from vaults.vault import Vault

NOTES, LINKS_A_NOTE, SAVES, ASKS = 10_000, 6, 200, 400
WIKI = re.compile(rb"!?\[\[([^\[\]|#\n]+)[^\[\]\n]*\]\]")
SHARE, SAVE_MS, BACKLINKS_MS, PATH_MS = 15.0, 30.0, 1.0, 20.0
READY_S = 600.0
REST_S = 0.06
"""Seconds between two saves: a file changed just now may change again unseen, and is read twice."""

LINK_WORK = (
    (note_names, "store_names"), (note_names, "read_keys"), (link_index, "store_links"), (link_index, "update_names"),
    (link_index, "resolve_links_of"),
    (link_history, "count_edit"), (link_history, "record_difference"),
)  # fmt: skip
"""What a note's rows take beside its text, tags, tasks and fields."""


def measure(run: Run) -> Iterator[Figure]:
    """Build, saves, and questions, over one vault."""
    count = served_notes.scaled_count(run, NOTES)
    with run.folder("graph") as folder:
        ready, notes = served_notes.prepare_vault(folder / "data")
        with run.report_progress(f"make {count:,} notes"):
            paths = notes_vault.write_notes(notes, count)
            _thin_out(notes, paths, LINKS_A_NOTE * count)
        yield from asyncio.run(_measure_all(run, ready, notes, paths))


def _thin_out(folder: Path, paths: Sequence[str], wanted: int) -> None:
    """Make plain words of so many links that ``wanted`` are left: notes as people write them have fewer than these."""
    texts = {path: (folder / path).read_bytes() for path in paths}
    there = sum(len(WIKI.findall(text)) for text in texts.values())
    chance = Random(3)
    for path, text in texts.items():
        fewer = WIKI.sub(lambda found: found[0] if chance.random() * there < wanted else found[1], text)
        (folder / path).write_bytes(fewer)


async def _measure_all(
    run: Run, data_folder: data_folders.DataFolder, notes: Path, paths: Sequence[str]
) -> list[Figure]:
    loaded = data_folders.default_settings(data_folder.data, **{**NO_VECTORS, "notes.watch": "off"})
    async with open_services(loaded.settings, data_folder.data, discover()) as services:
        with run.report_progress("index them"), _count_link_work() as spent:
            began = _cpu_seconds()
            await _wait_until_indexed(services, len(paths))
            whole = _cpu_seconds() - began
        async with services.pool.lease(services.registry_cache.entry(VAULT)) as vault:
            said = await _size(vault)
            built = _build_figures(spent, whole, said)
            with run.report_progress("saves"):
                saved = await _saves(vault, notes, paths, run.sized(SAVES, 10))
            with run.report_progress("questions"):
                asked = await _questions(vault, run.sized(ASKS, 20), said)
    return [built, *saved, *asked]


def _cpu_seconds() -> float:
    """Of this process and of those that read for it and have ended."""
    return sum(os.times()[:4])


async def _size(vault: Vault) -> str:
    links = await vault.db.read(lambda tx: tx.value("SELECT COUNT(*) FROM note_links"))
    notes = await vault.db.read(lambda tx: tx.value("SELECT COUNT(*) FROM notes"))
    return f"{notes:,} notes, {links:,} links"


async def _wait_until_indexed(services: Services, count: int) -> None:
    until = time.monotonic() + READY_S
    async with services.pool.lease(services.registry_cache.entry(VAULT)) as vault:
        while await vault.db.read(lambda tx: tx.value("SELECT COUNT(*) FROM notes")) < count:
            if time.monotonic() > until:
                raise RuntimeError(f"not indexed after {READY_S:g} s")
            await asyncio.sleep(0.05)
        if not await vault.notes.wait_for_index(READY_S):
            raise RuntimeError("the first look at the notes does not end")


@dataclass(slots=True)
class LinkWorkTime:
    """Processor seconds in what is measured; a function inside another is counted once."""

    seconds: float = 0.0
    _inside: bool = field(default=False)

    def counting(self, work: Callable[..., Any]) -> Callable[..., Any]:
        """``work``, with its time counted."""

        @wraps(work)
        def counted(*args: Any, **named: Any) -> Any:
            if self._inside:
                return work(*args, **named)
            self._inside, began = True, time.thread_time()
            try:
                return work(*args, **named)
            finally:
                self.seconds += time.thread_time() - began
                self._inside = False

        return counted


@contextmanager
def _count_link_work() -> Iterator[LinkWorkTime]:
    spent = LinkWorkTime()
    patches = [mock.patch.object(module, name, spent.counting(getattr(module, name))) for module, name in LINK_WORK]
    for patch in patches:
        patch.start()
    try:
        yield spent
    finally:
        for patch in patches:
            patch.stop()


def _build_figures(work_time: LinkWorkTime, whole: float, said: str) -> Figure:
    raw = f"{work_time.seconds:.2f} of {whole:.2f} s CPU; {said}"
    return Figure("links, share of the first index", 100 * work_time.seconds / whole, SHARE, unit="%", raw=raw)


async def _saves(vault: Vault, notes: Path, paths: Sequence[str], count: int) -> list[Figure]:
    """Notes that get a link, a task, a tag and, one in four, another title; each is indexed, and the graph and its
    names are made to know of it."""
    chance, took, caught, cpu = Random(5), [], [], []
    await vault.db.read(vault.graph_cache.gazetteer)
    for number in range(count):
        path, other = chance.choice(paths), chance.choice(paths)
        added = f"\n- [ ] see [[{other.removesuffix('.md')}]] #fresh{number}\n" + ("" if number % 4 else "\n# Anew\n")
        with (notes / path).open("ab") as file:
            file.write(added.encode())
        await asyncio.sleep(REST_S)
        began, before = time.perf_counter(), time.process_time()
        await reconciliation.reconcile_paths(vault, [path])
        middle = time.perf_counter()
        await vault.db.read(vault.graph_cache.at)
        took.append(time.perf_counter() - began)
        caught.append(time.perf_counter() - middle)
        cpu.append(time.process_time() - before)
    longest = f"p50 {to_ms(p50(took))}, longest {to_ms(max(took))} of {count}"
    raw = f"{longest}; CPU p50 {to_ms(p50(cpu))}, p95 {to_ms(quantile(cpu, 0.95))}; file to rows, commit and graph"
    saved = quantile(took, 0.95) * 1000
    return [
        Figure("one saved note → links, tasks, tags, entities, p95", saved, SAVE_MS, unit="ms", raw=raw),
        Figure(
            "the graph caught up after a save, p50", p50(caught) * 1000, unit="ms",
            raw=f"p95 {to_ms(quantile(caught, 0.95))}",
        ),
    ]  # fmt: skip


async def _questions(vault: Vault, count: int, said: str) -> list[Figure]:
    graph = await vault.db.read(vault.graph_cache.at)
    return [
        await _backlinks(vault, graph, count, said),
        _paths(graph, count, said),
        await _memory(vault, said),
        await _scores(vault, said),
    ]


async def _time_call(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


async def _backlinks(vault: Vault, graph: Graph, count: int, said: str) -> Figure:
    chance, numbers = Random(6), sorted(graph.nodes)
    took = []
    for _ in range(count):
        number = chance.choice(numbers)
        took.append(await _time_call(partial(vault.db.read, partial(link_index.read_backlinks, note=number))))
    hub = max(numbers, key=lambda number: len(graph.into.get(number, ())))
    most = await _time_call(lambda: vault.db.read(lambda tx: link_index.read_backlinks(tx, hub)))
    raw = f"p95 {to_ms(quantile(took, 0.95))}; of the most linked, {len(graph.into[hub])} notes, {to_ms(most)}; {said}"
    return Figure("backlinks of a note, p50", p50(took) * 1000, BACKLINKS_MS, unit="ms", raw=raw)


def _paths(graph: Graph, count: int, said: str) -> Figure:
    chance, numbers, took, steps = Random(7), sorted(graph.nodes), [], []
    for _ in range(count):
        one, other = chance.sample(numbers, 2)
        began = time.perf_counter()
        way = traversal.find_shortest_path(graph, one, other, 10, "out")
        took.append(time.perf_counter() - began)
        steps.append(len(way) - 1 if way else 0)
    none = steps.count(0)
    raw = f"p50 {to_ms(p50(took))}, longest {to_ms(max(took))}; {count} pairs, {none} without a path, {said}"
    return Figure("path across the graph, p95", quantile(took, 0.95) * 1000, PATH_MS, unit="ms", raw=raw)


async def _memory(vault: Vault, said: str) -> Figure:
    import tracemalloc

    def fresh(tx: Any) -> tuple[float, int, Graph]:
        began = time.perf_counter()
        graph = catch_up(tx, Graph())
        took = time.perf_counter() - began
        del graph
        tracemalloc.start()
        graph = catch_up(tx, Graph())
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return took, held, graph

    took, held, _ = await vault.db.read(fresh)
    raw = f"made in {to_ms(took)}; the process holds {resident_bytes(os.getpid()) / MIB:.0f} MiB; {said}"
    return Figure("the graph in memory", held / MIB, unit="MiB", raw=raw)


async def _scores(vault: Vault, said: str) -> Figure:
    linked = await vault.db.read(centrality.read_edges)
    began = time.process_time()
    found = centrality.compute_centrality(linked)
    took = time.process_time() - began
    return Figure("scores of all notes, CPU", took * 1000, unit="ms", raw=f"{len(found):,} notes with links; {said}")
