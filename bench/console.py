"""Pages of the console over a large vault: alone, and beside a hundred calls of agents a second."""

from __future__ import annotations

import asyncio
import gzip
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from queue import SimpleQueue

from auth.people import browser_sessions, people
from bench import baseline, data_folders, notes_vault, servers
from bench.figures import Figure
from bench.made_up_text import TextWriter
from bench.measurements import p50, quantile, to_ms
from bench.recalls import make_items
from bench.run import Run
from bench.served_notes import NO_VECTORS, READY_S
from bench.servers import HOST, Server
from bench.wire import RawConnection, RequestLoad, VaultEndpoint, drive, driver, result_of
from server.control_database import CONTROL_DB
from vaults.db.connection import Database
from vaults.db.sql import Writer

MEMORIES, NOTES = 10_000, 10_000
PAGE_S, SLOWED, FIRST_KB = 0.06, 1.03, 120.0

RATE, RECALLS = 100, 5
"""Calls a second; one of so many is a recall, the others read a memory or ask how the vault is."""

CONNECTIONS = 16
SECONDS, ROUNDS = 20.0, 3
PAGES_A_SECOND = 1.0
EACH = 40
"""Times each page is opened with nothing beside."""


@dataclass(frozen=True, slots=True)
class SignedInBrowser:
    """Opens pages of one vault for somebody who is signed in. ``cookie``: as it is sent."""

    port: int
    cookie: str

    def request(self, path: str) -> bytes:
        """The bytes of one GET."""
        head = f"GET {path} HTTP/1.1\r\nhost: {HOST}:{self.port}\r\ncookie: {self.cookie}\r\naccept: text/html\r\n"
        return f"{head}\r\n".encode()


def measure(run: Run) -> Iterator[Figure]:
    """Somebody reads pages of the vault that agents ask things of. Without a model: vectors of so many notes take half
    an hour to make, and what they cost a search is measured with recalls."""
    memories, notes = run.sized(MEMORIES, 300), run.sized(NOTES, 100)
    with run.folder("console") as folder, baseline.process_pool() as pool:
        ready = data_folders.prepare_folder(folder / "data", {"ann": ("main",)})
        with run.report_progress(f"store {memories:,} memories and make {notes:,} notes"):
            data_folders.fill(ready.data, "main", make_items(pool, memories))
            made = notes_vault.write_notes(ready.data / "vaults" / "main" / "notes", notes)
        cookie = asyncio.run(_sign_in(ready.data))
        with (
            servers.run_server(servers.SERVE, ready.data, **NO_VECTORS) as server,
            RawConnection(server.port, READY_S) as line,
        ):
            door = VaultEndpoint(server.port, "main", ready.tokens["ann"])
            browser = SignedInBrowser(server.port, f"strongroom-{server.port}={cookie}")
            with run.report_progress("index"):
                _await_ready(line, door, notes)
            pages = {name: browser.request(path) for name, path in _list_pages(line, door, made[0]).items()}
            yield from _measure_pages(run, server, pages)
            yield _measure_first_page(server, browser)
            yield from _measure_beside(run, server, pages, _list_calls(line, door))


async def _sign_in(data: Path) -> str:
    """What the cookie of a session of ann's holds."""
    control = Database(data / CONTROL_DB, data_folders.default_settings(data).settings.storage)

    def write(tx: Writer) -> str:
        people.add(tx, "ann", time.time())
        return browser_sessions.start(tx, "ann", "bench", time.time())

    try:
        return await control.write(write)
    finally:
        await control.close()


def _await_ready(line: RawConnection, door: VaultEndpoint, notes: int) -> None:
    until = time.monotonic() + READY_S
    while True:
        found = result_of(line.ask(door.call("status", {})))
        if found["notes"]["state"] == "ready":
            break
        if time.monotonic() > until:
            raise RuntimeError(f"not ready after {READY_S:g} s: {found}")
        time.sleep(0.5)
    if found["notes"]["notes"] != notes:
        raise RuntimeError(f"{found['notes']['notes']} notes of {notes}")


def _list_pages(line: RawConnection, door: VaultEndpoint, note: str) -> Mapping[str, str]:
    """Addresses by the name of the page."""
    [memory] = result_of(line.ask(door.call("memory_list", {"limit": 1})))["memories"]
    word = TextWriter(seed=3).query().replace(" ", "+")
    home = "/ui/v/main/"
    return {
        "home": home,
        "search": f"{home}search?q={word}",
        "memory": f"{home}memories/{memory['id']}",
        "notes": f"{home}notes/",
        "note": f"{home}notes/{note.replace(' ', '%20')}",
        "graph": f"{home}graph",
        "sessions": f"{home}sessions",
        "usage": f"{home}usage",
    }


def _list_calls(line: RawConnection, door: VaultEndpoint) -> list[bytes]:
    """What agents ask, in turn."""
    writer = TextWriter(seed=4)
    some = [each["id"] for each in result_of(line.ask(door.call("memory_list", {"limit": 50})))["memories"]]
    others = cycle([*(door.call("memory_get", {"ids": [each]}) for each in some), door.call("status", {})])
    return [
        door.call("recall", {"query": writer.query()}) if number % RECALLS == 0 else next(others)
        for number in range(round(RATE * SECONDS))
    ]


def _measure_pages(run: Run, server: Server, pages: Mapping[str, bytes]) -> Iterator[Figure]:
    took: dict[str, list[float]] = {name: [] for name in pages}
    with RawConnection(server.port) as line, run.report_progress("pages alone"):
        for request in pages.values():
            line.ask(request)
        for _ in range(run.sized(EACH, 5)):
            for name, request in pages.items():
                took[name].append(line.timed(request)[0])
    every = [each for some in took.values() for each in some]
    raw = "p95 of each: " + ", ".join(f"{name} {to_ms(_p95(some))}" for name, some in took.items())
    yield Figure("console, pages, p95", _p95(every) * 1000, PAGE_S * 1000, unit="ms", raw=raw, numbers=took)


def _measure_first_page(server: Server, browser: SignedInBrowser) -> Figure:
    """What a browser loads that was never here, compressed as proxies do."""
    with RawConnection(server.port) as line:
        page = line.ask(browser.request("/ui/v/main/"))
        assets = sorted(set(re.findall(rb"/ui/assets/[^\"]+", page)))
        parts = [page, *(line.ask(browser.request(each.decode())) for each in assets)]
    sizes = [len(gzip.compress(each)) / 1000 for each in parts]
    raw = f"page {sizes[0]:.1f} KB, {len(assets)} files {sum(sizes[1:]):.1f} KB, each by gzip"
    raw += f"; {sum(map(len, parts)) / 1000:.1f} KB as they are"
    return Figure("console, first page with its files", sum(sizes), FIRST_KB, unit="KB", raw=raw)


def _measure_beside(run: Run, server: Server, pages: Mapping[str, bytes], calls: Sequence[bytes]) -> Iterator[Figure]:
    """With and without pages in turns, each of the same calls."""
    calls = calls[: run.sized(len(calls), RATE)]
    warm = drive(RequestLoad(server.port, 4, calls[:RATE], 512))
    if warm.failures:
        raise RuntimeError(f"{warm.failures} calls failed: {warm.bodies[0]!r}")
    alone, beside, took = [], [], []
    requests = cycle(pages.values())
    with driver() as process, run.report_progress(f"{RATE} calls a second, with and without pages"):
        for _ in range(ROUNDS):
            alone.append(process.submit(keep_pace, server.port, calls).result())
            running = process.submit(keep_pace, server.port, calls)
            took += _open_pages(server.port, requests, running)
            beside.append(running.result())
    raw = f"{len(took)} pages, one a second, p50 {to_ms(p50(took))}; {RATE} calls a second, each fifth a recall"
    name = f"console, pages beside {RATE} calls/s, p95"
    yield Figure(name, _p95(took) * 1000, PAGE_S * 1000, unit="ms", raw=raw, numbers={"seconds": took})
    pairs = [(p50(mixed), p50(plain)) for mixed, plain in zip(beside, alone, strict=True)]
    raw = "; ".join(f"{to_ms(mixed)} ÷ {to_ms(plain)}" for mixed, plain in pairs) + ", p50 in turns; median"
    slowed = p50([mixed / plain for mixed, plain in pairs])
    yield Figure("calls beside a page a second ÷ without", slowed, SLOWED, unit="×", raw=raw)


def _open_pages(port: int, requests: Iterator[bytes], while_running: Future[list[float]]) -> list[float]:
    """Seconds of each of the pages that are opened one a second until that has ended."""
    took: list[float] = []
    with RawConnection(port) as line:
        while not while_running.done():
            took.append(line.timed(next(requests))[0])
            time.sleep(max(0.0, 1 / PAGES_A_SECOND - took[-1]))
    return took


def keep_pace(port: int, calls: Sequence[bytes]) -> list[float]:
    """Seconds of each call from when it was due: ``RATE`` of them a second, whether or not others are answered."""
    opened = [RawConnection(port) for _ in range(CONNECTIONS)]
    lines: SimpleQueue[RawConnection] = SimpleQueue()
    for each in opened:
        lines.put(each)
    began = time.perf_counter() + 0.1

    def call(number: int) -> float:
        due = began + number / RATE
        time.sleep(max(0.0, due - time.perf_counter()))
        line = lines.get()
        try:
            line.ask(calls[number])
        finally:
            lines.put(line)
        return time.perf_counter() - due

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        took = list(pool.map(call, range(len(calls))))
    for each in opened:
        each.close()
    return took


def _p95(values: Sequence[float]) -> float:
    return quantile(values, 0.95)
