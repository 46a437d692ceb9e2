"""How long the event loop is silent while a long or odd note is written, edited, moved, read and followed."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from auth.principal import owner
from auth.roles import Role
from bench import data_folders
from bench.figures import Figure
from bench.measurements import to_ms
from bench.run import Run
from server.call import Caller
from server.dispatch import dispatch
from server.services import Services, open_services
from server.settings import load
from server.tools import discover

LIMIT_S, EVERY_S, TIMES = 0.1, 0.002, 3
SIZE = 3_000_000
"""Characters of a note: what a request may bring is 4 MB."""

SETTLE_S = 0.3
"""Seconds waited after each call for what it set off."""

SHAPES: dict[str, Callable[[int], str]] = {
    "headings": lambda n: "".join(f"# H {i}\n" for i in range(n // 12)),
    "backtick runs": lambda n: " ".join("`" * (1 + i % 140) + "a" for i in range(n // 75)),
    "one line": lambda n: "word " * (n // 5),
    "one word": lambda n: "x" * n,
    "tags": lambda n: "".join(f"#tag{i} " for i in range(n // 12)),
    "comment openers": lambda n: "a <!-- " * (n // 7),
    "links": lambda n: "".join(f"[[Note {i}]] [a](b{i}.md)\n" for i in range(n // 30)),
    "tasks": lambda n: "".join(f"- [ ] task {i} #t\n" for i in range(n // 20)),
    "properties": lambda n: "---\n" + "".join(f"k{i}: {{a: [{i}, 'b']}}\n" for i in range(min(n, 2_500))) + "---\n",
}

AskTool = Callable[..., Awaitable[Any]]


def measure(run: Run) -> Iterator[Figure]:
    """A callback comes back every 2 ms; the longest gap between two counts. Each call is measured ``TIMES`` times and
    the least is taken: what else runs on the machine makes gaps as well."""
    with run.folder("silence") as folder:
        yield asyncio.run(_measure_all(run, data_folders.prepare_folder(folder / "data", {"ann": ("main",)}).data))


async def _measure_all(run: Run, data: Path) -> Figure:
    worst: dict[str, float] = {}
    async with _open_caller(data) as (services, ask):
        notes = await _root(services)
        for name, shape in SHAPES.items():
            text = shape(run.sized(SIZE, 20_000))
            with run.report_progress(f"silence of the loop, {name}"):
                rounds = [await _run_round(ask, notes, name, text, number) for number in range(TIMES)]
            worst |= {f"{name}, {step}": min(each[step] for each in rounds) for step in rounds[0]}
    last = sorted(worst, key=lambda each: -worst[each])[:3]
    raw = f"longest of {len(worst)}: " + ", ".join(f"{each} {to_ms(worst[each])}" for each in last)
    value = worst[last[0]] * 1000
    return Figure(
        "loop silent beside long notes, longest",
        value,
        limit=LIMIT_S * 1000,
        sense="<",
        unit="ms",
        raw=raw,
        numbers=worst,
    )


async def _run_round(ask: AskTool, notes: Path, name: str, text: str, number: int) -> dict[str, float]:
    path = f"{name} {number}"
    steps: dict[str, Callable[[], Awaitable[Any]]] = {
        "note_write": lambda: ask("note_write", path=path, content=text),
        "note_edit": lambda: ask("note_edit", path=path, action="add", content="- more [[words]]"),
        "a search of note_edit": lambda: ask("note_edit", path=path, action="replace", search="?!?", replacement="x"),
        "frontmatter_update": lambda: ask("frontmatter_update", path=path, set={"one": [1, "two"]}),
        "note_read": lambda: ask("note_read", path=path, part="sections", pattern="(H|9)+$"),
        "note_move": lambda: ask("note_move", path=path, to=f"moved/{path}"),
        "graph": lambda: ask("graph", action="neighbors", path=f"moved/{path}"),
        "a save outside": lambda: asyncio.to_thread((notes / f"outside {path}.md").write_text, text),
    }
    return {step: await _longest_silence(call) for step, call in steps.items()}


async def _longest_silence(call: Callable[[], Awaitable[Any]]) -> float:
    longest = 0.0

    async def beat() -> None:
        nonlocal longest
        last = time.perf_counter()
        while True:
            await asyncio.sleep(EVERY_S)
            now = time.perf_counter()
            longest, last = max(longest, now - last - EVERY_S), now

    beating = asyncio.create_task(beat())
    try:
        await call()
        await asyncio.sleep(SETTLE_S)
    finally:
        beating.cancel()
    return longest


@asynccontextmanager
async def _open_caller(data: Path) -> AsyncIterator[tuple[Services, AskTool]]:
    loaded = load(data, environment={})
    caller = Caller(owner("cli"), "main", Role.ADMIN, "cli")
    async with open_services(loaded.settings, data, discover()) as services:

        async def ask(tool: str, /, **arguments: Any) -> Any:
            return await dispatch(services, caller, tool, arguments)

        await ask("note_write", path="first", content="what is loaded for a note is loaded")
        await ask("search", query="loaded")
        gc.freeze()  # as the server does
        yield services, ask


async def _root(services: Services) -> Path:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        return vault.notes.root
