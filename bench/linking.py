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
from bench.measurements import in_ms, p50, quantile
from bench.run import Run
from bench.served_notes import NO_VECTORS, VAULT
from server.call import Caller
from server.dispatch import dispatch
from server.services import Services, open_services
from server.tools import discover
from vaults.db.sql import Writer
from vaults.domain.graph import graph_jobs
from vaults.graph import entity_vectors
from vaults.graph.entity_vectors import Waiting
from vaults.graph.note_graph import Graph
from vaults.markdown.parser import skimmed
from vaults.vault import Vault

NOTES, WORDS, TEXTS = 5_000, 500, 24
WIDTH, MODEL = 384, "made up"
SUGGEST_MS, WRITE_MS = 100.0, 15.0
READY_S = 600.0
FOLDER = "Asked"


def measure(run: Run) -> Iterator[Figure]:
    """Suggestions first, then notes that are written with and without links set on them."""
    with run.folder("linking") as folder:
        ready, notes = served_notes.prepared(folder / "data")
        count = served_notes.sized(run, NOTES)
        notes_vault.make(notes, count)
        texts = _texts(run.sized(TEXTS, 6))
        for number, text in enumerate(texts):
            (notes / FOLDER).mkdir(exist_ok=True)
            (notes / _path(number)).write_text(text, encoding="utf-8")
        with run.told(f"link texts of {WORDS} words in {count:,} notes"):
            yield from asyncio.run(_measured(ready.data, count, texts))


def _texts(count: int) -> list[str]:
    made = notes_vault.notes(3 * count + 50, 5, notes_vault.default_parts())
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
class _Took:
    """Seconds of a call: on the clock, and of the processor."""

    wall: float
    processor: float


async def _measured(data: Path, count: int, texts: Sequence[str]) -> list[Figure]:
    async with _opened(data, count + len(texts)) as (services, vault):
        await _vectors(vault, texts)
        await graph_jobs.rescore(vault)
        asked = [{"action": "suggest", "path": _path(number)} for number in range(len(texts))]
        first = await _timed(services, "links", asked[0])
        suggested = [await _timed(services, "links", each) for each in asked[1:]]
        written = {linked: await _written(services, texts[linked::2], linked=linked) for linked in (False, True)}
    return [_suggested(first, suggested, count), _on_write(written, count)]


@asynccontextmanager
async def _opened(data: Path, count: int) -> AsyncIterator[tuple[Services, Vault]]:
    loaded = data_folders.settings_of(data, **NO_VECTORS)
    async with (
        open_services(loaded.settings, data, discover()) as services,
        services.pool.lease(services.roster.entry(VAULT)) as vault,
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
            text = entity_vectors.text_of(node, _body(about.get(node.path, "")))
            made.append((Waiting(node.number, "", 0, None), entity_vectors.hash_of(text), row.tobytes()))
        tx.run("INSERT INTO vault_info (key, value) VALUES ('model', ?)", (MODEL,))
        entity_vectors.put(tx, MODEL, made)

    graph = await vault.db.read(vault.atlas.at)
    await vault.db.write(lambda tx: write(tx, graph))


def _body(text: str) -> str:
    return text[skimmed(text).body_start :]


async def _timed(services: Services, tool: str, arguments: Mapping[str, Any]) -> _Took:
    caller = Caller(owner("cli"), VAULT, Role.ADMIN, "cli", preset="full")
    wall, processor = time.perf_counter(), time.process_time()
    outcome = await dispatch(services, caller, tool, dict(arguments))
    took = _Took(time.perf_counter() - wall, time.process_time() - processor)
    if not outcome.ok or (tool == "links" and outcome.content.get("warnings")):
        raise RuntimeError(f"{tool}: {outcome.text}")
    return took


async def _written(services: Services, texts: Sequence[str], *, linked: bool) -> list[_Took]:
    """New notes with these texts."""
    name = "linked" if linked else "plain"
    took = []
    for number, text in enumerate(texts):
        note = {"path": f"Written/{name} {number}.md", "content": text, "auto_link": linked}
        took.append(await _timed(services, "note_write", note))
    return took[2:]


def _suggested(first: _Took, took: Sequence[_Took], count: int) -> Figure:
    processor = [each.processor for each in took]
    wall = [each.wall for each in took]
    return Figure(
        f"suggestions for {WORDS} words, {count:,} notes (processor)",
        1000 * p50(processor),
        SUGGEST_MS,
        unit="ms",
        raw=f"p50 {in_ms(p50(wall))} on the clock, p95 {in_ms(quantile(wall, 0.95))};"
        f" the first, which learns the vault, {in_ms(first.wall)}",
        numbers={"processor_s": processor, "wall_s": wall, "first_s": first.wall},
    )


def _on_write(took: Mapping[bool, Sequence[_Took]], count: int) -> Figure:
    middle = {linked: p50([each.processor for each in several]) for linked, several in took.items()}
    return Figure(
        f"links set on write, {WORDS} words, {count:,} notes (processor)",
        1000 * max(0.0, middle[True] - middle[False]),
        WRITE_MS,
        unit="ms",
        raw=f"p50 {in_ms(middle[True])} a write with, {in_ms(middle[False])} without",
        numbers={str(linked): [each.processor for each in several] for linked, several in took.items()},
    )
