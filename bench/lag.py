"""How late the event loop runs while a big import shares the server with live recalls."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

from bench import data_folders, servers
from bench.figures import Figure
from bench.made_up_text import TextWriter
from bench.measurements import p50, p99, to_ms
from bench.run import Run
from bench.servers import Server
from bench.wire import RawConnection, VaultEndpoint, result_of

ITEMS, LIMIT_S, EVERY_S = 10_000, 0.05, 0.01
_BUCKET = re.compile(r'strongroom_loop_lag_seconds_bucket\{le="([^"]+)"\} (\S+)')


def measure(run: Run) -> Iterator[Figure]:
    """The import runs inside the server (a tool of the bench calls the one that ``strongroom import`` uses). Lag comes
    from the server's own histogram, one sample each 10 ms."""
    flags = {"ops.loop_lag_interval_s": EVERY_S, "server.call_timeout_s": 1800}
    with run.folder("lag") as folder:
        ready = data_folders.prepare_folder(folder / "data", {"ann": ("main",)})
        count = run.sized(ITEMS, 500)
        path = _lines(folder / "items.jsonl", count)
        with servers.run_server(servers.SITE, ready.data, **flags) as server:
            door = VaultEndpoint(server.port, "main", ready.tokens["ann"])
            with run.report_progress(f"import {count:,} items beside live recalls"):
                yield _measure_lag(server, door, path, count)


def _lines(path: Path, count: int) -> Path:
    writer = TextWriter(seed=11)
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            print(json.dumps({"content": writer.sentence(), "external_id": f"item-{number}"}), file=file)
    return path


def _measure_lag(server: Server, endpoint: VaultEndpoint, path: Path, count: int) -> Figure:
    writer, ended = TextWriter(seed=12), threading.Event()
    with RawConnection(server.port) as live, RawConnection(server.port, timeout=1800) as long:
        live.ask(endpoint.call("recall", {"query": "before it begins"}))  # the model is loaded
        before = _read_buckets(server)
        done: list[int] = []

        def bring_in() -> None:
            try:
                done.append(result_of(long.ask(endpoint.call("import_file", {"path": str(path)})))["stored"])
            finally:
                ended.set()

        thread = threading.Thread(target=bring_in)
        thread.start()
        waits = []
        while not ended.wait(0.05):
            waits.append(live.timed(endpoint.call("recall", {"query": writer.query()}))[0])
        thread.join()
        after = _read_buckets(server)
    if done != [count]:
        raise RuntimeError(f"imported {done} of {count}")
    counts = {edge: after[edge] - before.get(edge, 0) for edge in after}
    lag, samples = interpolate_quantile(counts, 0.99), counts[float("inf")]
    live_said = f"{len(waits)} recalls meanwhile, p50 {to_ms(p50(waits))}, p99 {to_ms(p99(waits))}"
    raw = f"{to_ms(lag)} of {samples:.0f} samples in /metrics (interpolated in its bucket); {live_said}"
    numbers = {"buckets": {str(edge): many for edge, many in counts.items()}, "recall_p50_s": p50(waits)}
    name = f"loop lag p99, import of {count:,} beside recalls"
    return Figure(name, lag * 1000, limit=LIMIT_S * 1000, sense="<", unit="ms", raw=raw, numbers=numbers)


def _read_buckets(server: Server) -> dict[float, float]:
    return {float(edge): float(many) for edge, many in _BUCKET.findall(server.exposition())}


def interpolate_quantile(counts: dict[float, float], share: float) -> float:
    """The quantile of a cumulative histogram, evenly spread inside its bucket; the last edge if it lies beyond."""
    wanted = share * counts[float("inf")]
    low, below = 0.0, 0.0
    for edge in sorted(counts):
        many = counts[edge]
        if many >= wanted:
            return low if edge == float("inf") else low + (edge - low) * (wanted - below) / (many - below)
        low, below = edge, many
    return low
