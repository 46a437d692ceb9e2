"""Processor time of one recall by who spends it, and a picture of several measurements.

``python -m bench.anatomy NAME`` measures, adds a bar called NAME to ``docs/search-time.json``, and draws
``docs/search-time.svg`` anew.

One client, one call after the other: over HTTP for the loop as a whole, then in this process, where each stage can be
timed on its own thread. What is timed is the same function before and after a change, whatever it does inside.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import baseline, data_folders, recalls, servers, wire
from bench.made_up_text import TextWriter
from bench.run import ROOT, Run
from bench.search_time_picture import draw
from bench.wire import RequestLoad, VaultEndpoint
from server.call import Caller
from server.dispatch import dispatch
from server.rendering import answers
from server.services import open_services
from server.tools import discover
from vaults.db import connection, sql
from vaults.embed.onnx_engine import OnnxEmbedder

MEMORIES, QUERIES, WARM = 2_106, 300, 60
TABLE, PICTURE = ROOT / "docs" / "search-time.json", ROOT / "docs" / "search-time.svg"
STAGES = ("model", "SQLite", "Python on the readers' threads", "search and tool in the loop", "answer", "HTTP")


def main(name: str) -> None:
    """Measure, and add a bar."""
    known = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
    known[name] = measure(Run())
    TABLE.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    PICTURE.write_text(draw(known), encoding="utf-8")


def measure(run: Run) -> dict[str, float]:
    """Milliseconds of the processor by stage, for one fresh query among as many memories as four conversations have."""
    with run.folder("anatomy") as folder, baseline.process_pool() as pool, wire.driver() as driver:
        ready = data_folders.prepare_folder(folder / "data", {"ann": ("main",)})
        data_folders.fill(ready.data, "main", recalls.make_items(pool, MEMORIES))
        loop_ms = _measure_loop(driver, ready)
        alone = asyncio.run(_measure_stages(ready.data))
    alone["HTTP"] = loop_ms - alone["loop"]
    return {stage: round(alone[stage], 2) for stage in STAGES}


def _measure_loop(driver: ProcessPoolExecutor, ready: data_folders.DataFolder) -> float:
    """Milliseconds of the server's main thread, which runs the loop, for each recall over HTTP."""
    writer = TextWriter(seed=77)
    with servers.run_server(servers.SERVE, ready.data) as server:
        door = VaultEndpoint(server.port, "main", ready.tokens["ann"])
        asked = [door.call("recall", {"query": writer.query()}) for _ in range(WARM + QUERIES)]
        driver.submit(wire.drive, RequestLoad(door.port, 1, asked[:WARM])).result()
        before = _main_thread_ns(server.pid)
        driver.submit(wire.drive, RequestLoad(door.port, 1, asked[WARM:])).result()
        return (_main_thread_ns(server.pid) - before) / QUERIES / 1e6


def _main_thread_ns(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text(encoding="ascii").split()[0])


async def _measure_stages(data: Path) -> dict[str, float]:
    loaded, writer = data_folders.default_settings(data), TextWriter(seed=78)
    async with open_services(loaded.settings, data, discover()) as services:
        role = services.role_in(owner := _owner(), "main")
        assert role is not None
        caller = Caller(principal=owner, vault="main", role=role, transport="http", era=wire.MODERN, request_id="bench")
        asked = [writer.query() for _ in range(WARM + QUERIES)]
        for query in asked[:WARM]:
            await dispatch(services, caller, "recall", {"query": query})
        with _timing() as spent:
            before = time.thread_time_ns()
            for query in asked[WARM:]:
                outcome = await dispatch(services, caller, "recall", {"query": query})
                assert outcome.ok, outcome.text
            spent["loop"] = time.thread_time_ns() - before
    ms = {stage: ns / QUERIES / 1e6 for stage, ns in spent.items()}
    return {
        **ms,
        "Python on the readers' threads": ms["readers"] - ms["SQLite"],
        "search and tool in the loop": ms["loop"] - ms["answer"],
    }


def _owner() -> Any:
    from auth.principal import owner

    return owner("loopback")


@contextmanager
def _timing() -> Iterator[Counter[str]]:
    """Nanoseconds of their own thread that functions take, by stage, while the block runs."""
    spent: Counter[str] = Counter()
    timed: list[tuple[Any, str, str]] = [
        (connection, "_run_in_snapshot", "readers"),
        (sql.Reader, "all", "SQLite"),
        (sql.Reader, "one", "SQLite"),
        (sql.Reader, "value", "SQLite"),
        (OnnxEmbedder, "embed", "model"),
        (answers, "_render_both", "answer"),
        (answers, "_fit_to_budget", "answer"),
    ]
    kept = [(place, name, getattr(place, name)) for place, name, _ in timed]
    try:
        for place, name, stage in timed:
            setattr(place, name, _timed(getattr(place, name), spent, stage))
        yield spent
    finally:
        for place, name, original in kept:
            setattr(place, name, original)


def _timed(call: Callable[..., Any], spent: Counter[str], stage: str) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        before = time.thread_time_ns()
        try:
            return call(*args, **kwargs)
        finally:
            spent[stage] += time.thread_time_ns() - before

    return run


if __name__ == "__main__":
    main(sys.argv[1])
