"""What suggested links and links set on write cost in a vault of 5,000 notes, through ``dispatch`` in this process.

The texts are of 500 words, cut from made notes. Vectors are made up and kept for them: what the model itself takes to
read a text is no part of it, what comparing it with every note takes is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auth.principal import owner
from auth.roles import Role
from bench import data_folders, notes_vault, served_notes
from bench.figures import Figure
from bench.measurements import p50, quantile, to_ms
from bench.run import Run
from bench.served_notes import NO_VECTORS, VAULT
from server.call import Caller
from server.dispatch import dispatch
from server.services import Services, open_services
from server.tools import discover
from vaults.db.sql import Writer
from vaults.domain.graph import graph_jobs
from vaults.graph import entity_vectors
from vaults.graph.entity_vectors import UnembeddedNote
from vaults.graph.note_graph import Graph
from vaults.markdown.parser import parse_outline
from vaults.vault import Vault

NOTES, WORDS, TEXTS = 5_000, 500, 24
WIDTH, MODEL = 384, "made up"
SUGGEST_MS, WRITE_MS = 100.0, 15.0
READY_S = 600.0
FOLDER = "Asked"


def measure(run: Run) -> Iterator[Figure]:
    """Suggestions first, then notes that are written with and without links set on them."""
    with run.folder("linking") as folder:
        ready, notes = served_notes.prepare_vault(folder / "data")
        count = served_notes.scaled_count(run, NOTES)
        notes_vault.write_notes(notes, count)
        texts = _texts(run.sized(TEXTS, 6))
        for number, text in enumerate(texts):
            (notes / FOLDER).mkdir(exist_ok=True)
            (notes / _path(number)).write_text(text, encoding="utf-8")
        with run.report_progress(f"link texts of {WORDS} words in {count:,} notes"):
            yield from asyncio.run(_measure_calls(ready.data, count, texts))


def _texts(count: int) -> list[str]:
    made = notes_vault.make_notes(3 * count + 50, 5, notes_vault.default_parts())
    words: list[str] = []
    found: list[str] = []
    for _, data in made:
        words += data.decode("utf-8-sig").split(" ")
        while len(words) >= WORDS and len(found) < count:
            found.append(" ".join(words[:WORDS]))
            words = words[WORDS:]
    return found


def _path(number: int) -> str:
    return f"{FOLDER}/Text number {number}.md"


@dataclass(frozen=True, slots=True)
class _CallTime:
    """Seconds of a call: on the clock, and of the processor."""

    wall: float
    processor: float


async def _measure_calls(data: Path, count: int, texts: Sequence[str]) -> list[Figure]:
    async with _open_vault(data, count + len(texts)) as (services, vault):
        await _vectors(vault, texts)
        await graph_jobs.update_centrality(vault)
        asked = [{"action": "suggest", "path": _path(number)} for number in range(len(texts))]
        first = await _time_call(services, "links", asked[0])
        suggested = [await _time_call(services, "links", each) for each in asked[1:]]
        written = {linked: await _time_writes(services, texts[linked::2], linked=linked) for linked in (False, True)}
    return [_suggestion_figure(first, suggested, count), _write_figure(written, count)]


@asynccontextmanager
async def _open_vault(data: Path, count: int) -> AsyncIterator[tuple[Services, Vault]]:
    loaded = data_folders.default_settings(data, **NO_VECTORS)
    async with (
        open_services(loaded.settings, data, discover()) as services,
        services.pool.lease(services.registry_cache.entry(VAULT)) as vault,
    ):
        until = time.monotonic() + READY_S
        while vault.notes.now.phase != "ready":
            if time.monotonic() > until:
                raise RuntimeError(f"not indexed after {READY_S:g} s: {vault.notes.now}")
            await asyncio.sleep(0.1)
        held = await vault.db.read(lambda tx: tx.value("SELECT COUNT(*) FROM notes"))
        if held != count:
            raise RuntimeError(f"{held} notes of {count}")
        yield services, vault


async def _vectors(vault: Vault, texts: Sequence[str]) -> None:
    """A vector for each note, and for each text as it will be asked."""
    import numpy as np

    about = {_path(number): text for number, text in enumerate(texts)}

    def write(tx: Writer, graph: Graph) -> None:
        rows = np.random.default_rng(3).standard_normal((len(graph.nodes), WIDTH)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        made = []
        for row, node in zip(rows, graph.nodes.values(), strict=True):
            text = entity_vectors.compose_text(node, _body(about.get(node.path, "")))
            made.append((UnembeddedNote(node.number, "", 0, None), entity_vectors.hash_text(text), row.tobytes()))
        tx.run("INSERT INTO vault_info (key, value) VALUES ('model', :model)", {"model": MODEL})
        entity_vectors.store_vectors(tx, MODEL, made)

    graph = await vault.db.read(vault.graph_cache.at)
    await vault.db.write(lambda tx: write(tx, graph))


def _body(text: str) -> str:
    return text[parse_outline(text).body_start :]


async def _time_call(services: Services, tool: str, arguments: Mapping[str, Any]) -> _CallTime:
    caller = Caller(owner("cli"), VAULT, Role.ADMIN, "cli", preset="full")
    wall, processor = time.perf_counter(), time.process_time()
    outcome = await dispatch(services, caller, tool, dict(arguments))
    took = _CallTime(time.perf_counter() - wall, time.process_time() - processor)
    if not outcome.ok or (tool == "links" and outcome.content.get("warnings")):
        raise RuntimeError(f"{tool}: {outcome.text}")
    return took


async def _time_writes(services: Services, texts: Sequence[str], *, linked: bool) -> list[_CallTime]:
    """New notes with these texts."""
    name = "linked" if linked else "plain"
    took = []
    for number, text in enumerate(texts):
        note = {"path": f"Written/{name} {number}.md", "content": text, "auto_link": linked}
        took.append(await _time_call(services, "note_write", note))
    return took[2:]


def _suggestion_figure(first: _CallTime, took: Sequence[_CallTime], count: int) -> Figure:
    processor = [each.processor for each in took]
    wall = [each.wall for each in took]
    return Figure(
        f"suggestions for {WORDS} words, {count:,} notes (processor)",
        1000 * p50(processor),
        SUGGEST_MS,
        unit="ms",
        raw=f"p50 {to_ms(p50(wall))} on the clock, p95 {to_ms(quantile(wall, 0.95))};"
        f" the first, which learns the vault, {to_ms(first.wall)}",
        numbers={"processor_s": processor, "wall_s": wall, "first_s": first.wall},
    )


def _write_figure(took: Mapping[bool, Sequence[_CallTime]], count: int) -> Figure:
    middle = {linked: p50([each.processor for each in several]) for linked, several in took.items()}
    return Figure(
        f"links set on write, {WORDS} words, {count:,} notes (processor)",
        1000 * max(0.0, middle[True] - middle[False]),
        WRITE_MS,
        unit="ms",
        raw=f"p50 {to_ms(middle[True])} a write with, {to_ms(middle[False])} without",
        numbers={str(linked): [each.processor for each in several] for linked, several in took.items()},
    )
