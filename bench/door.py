"""The price of the door: a tool that does nothing and a listing, beside a bare route of the same process.

The bare route is Starlette alone: it is sent the very bytes of the tool call, parses their JSON and answers JSON. The
raw column also gives the price of a GET without any body, for scale.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from bench import data_folders, servers, wire
from bench.figures import Figure
from bench.measurements import cpu_seconds, p50, p99, to_ms
from bench.run import Run
from bench.site import BARE
from bench.wire import HANDSHAKE, LoadResult, RequestLoad, VaultEndpoint

CONNECTIONS = 16
ROUNDS = 7
LIMITS = {"noop": 6.0, "list": 2.0, "handshake": 12.0}
TITLES = {
    "noop": "HTTP no-op tool, 2026-07-28, CPU ÷ bare route",
    "list": "HTTP tools/list, CPU ÷ bare route",
    "handshake": "HTTP no-op tool, 2025-11-25, CPU ÷ bare route",
}
COUNTS = {"get": 4000, "bare": 4000, "noop": 2000, "list": 4000, "handshake": 1000}
"""Requests of a round: about half a second of the server's time each."""


def measure(run: Run) -> Iterator[Figure]:
    """CPU per request over rounds that take turns; the least of each side counts, as noise only ever adds."""
    with run.folder("door") as folder:
        ready = data_folders.prepare_folder(folder / "data", {"ann": ("main",)})
        with servers.run_server(servers.SITE, ready.data) as server, wire.driver() as pool:
            servers.pin(server.pid, 0)
            pool.submit(_pin_here).result()
            requests = _requests(VaultEndpoint(server.port, "main", ready.tokens["ann"]))
            send = partial(_run_round, pool, server, requests)
            with run.report_progress("the door: 16 connections, everything on"):
                send(run.sized(500))  # warm
                rounds = [send(None, run.scale) for _ in range(run.sized(ROUNDS, 3))]
    yield from _figures(rounds)


def _requests(endpoint: VaultEndpoint) -> dict[str, bytes]:
    return {
        "get": wire.plain_get(endpoint.port, BARE),
        "bare": endpoint.request("tools/call", {"name": "noop", "arguments": {"number": 7}}, path=BARE),
        "noop": endpoint.call("noop", {"number": 7}),
        "list": endpoint.request("tools/list", {}),
        "handshake": endpoint.call("noop", {"number": 7}, HANDSHAKE),
    }


def _pin_here() -> None:
    servers.pin(os.getpid(), 1)


Sample = Mapping[str, tuple[float, LoadResult]]


def _run_round(
    pool: ProcessPoolExecutor,
    server: servers.Server,
    requests: Mapping[str, bytes],
    count: int | None = None,
    scale: float = 1.0,
) -> Sample:
    """Microseconds of the server's CPU per request, and what the driver saw, by kind."""
    sample = {}
    for kind, request in requests.items():
        many = [request] * (count or max(100, round(COUNTS[kind] * scale)))
        before = cpu_seconds(server.pid)
        driven = pool.submit(wire.drive, RequestLoad(server.port, CONNECTIONS, many, 64)).result()
        sample[kind] = ((cpu_seconds(server.pid) - before) / len(many) * 1e6, driven)
        if driven.failures or b'"error"' in driven.bodies[0]:
            raise RuntimeError(f"{kind}: {driven.failures} failures, {driven.bodies[0]!r}")
    return sample


def _figures(rounds: list[Sample]) -> Iterator[Figure]:
    least = {kind: min(sample[kind][0] for sample in rounds) for kind in rounds[0]}
    for kind, limit in LIMITS.items():
        paired = p50([sample[kind][0] / sample["bare"][0] for sample in rounds])
        best = min((sample[kind][1] for sample in rounds), key=lambda driven: driven.wall)
        speed = f"{len(best.seconds) / best.wall:.0f}/s, p50 {to_ms(p50(best.seconds))}, p99 {to_ms(p99(best.seconds))}"
        raw = (
            f"{least[kind]:.0f} µs ÷ {least['bare']:.0f} µs, least of {len(rounds)} rounds (median of paired ratios"
            f" {paired:.2f}; bare GET {least['get']:.0f} µs); {speed}"
        )
        numbers = {
            "cpu_us": least[kind],
            "bare_cpu_us": least["bare"],
            "bare_get_cpu_us": least["get"],
            "paired_median": paired,
        }
        yield Figure(TITLES[kind], least[kind] / least["bare"], limit, unit="×", raw=raw, numbers=numbers)
