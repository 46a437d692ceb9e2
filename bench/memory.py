"""Resident memory of a server: idle, after much embedding, and per open vault."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

from bench import data_folders, servers, wire
from bench.figures import Figure
from bench.made_up_text import TextWriter
from bench.measurements import MIB, resident_bytes
from bench.run import Run
from bench.servers import Server
from bench.wire import RawConnection, RequestLoad, VaultEndpoint, result_of
from server.services import open_services
from server.tools import discover
from vaults.domain.memories.memory_model import MemoryFields
from vaults.pool_rounds import REST_S, ROUND_S

IDLE_MIB, EMBEDDED_MIB, VAULT_KIB = 95, 248, 400
"""100 and 260 MB of a thousand thousand bytes."""

EMBEDS = 1_000
MIX = ((1, 0.70), (4, 0.95), (14, 1.0))
"""Sentences of a text, and the share of texts up to there: seven of ten short, one of twenty at the model's limit."""

SETTLE_S = 4.0
"""Longer than the sweep after a start takes."""

REST = REST_S + 2 * ROUND_S
"""Seconds after which vaults nobody uses have given back what they can."""

WARM_VAULTS, VAULTS, EACH = 10, 40, 100
WIDTH = 384


def measure(run: Run) -> Iterator[Figure]:
    """From ``/proc/PID/status``, VmRSS: everything resident, mapped files and libraries included."""
    with run.folder("memory") as folder:
        ready = data_folders.prepare_folder(folder / "data", {"ann": ("main",)})
        with servers.run_server(servers.SERVE, ready.data) as server:
            door = VaultEndpoint(server.port, "main", ready.tokens["ann"])
            with run.report_progress("memory of a server before and after 1,000 embeds"):
                yield _measure_idle(server)
                yield _measure_embedded(run, server, door)
        with run.report_progress("memory of open vaults"):
            yield _measure_vaults(run, folder / "many")


def _measure_idle(server: Server) -> Figure:
    time.sleep(SETTLE_S)
    held = resident_bytes(server.pid) / MIB
    raw = f"{held:.0f} MiB resident, {SETTLE_S:g} s after the start, one vault registered, none used"
    return Figure("idle server before first use, resident", held, IDLE_MIB, unit="MiB", raw=raw)


def _measure_embedded(run: Run, server: Server, endpoint: VaultEndpoint) -> Figure:
    writer, count = TextWriter(seed=5), run.sized(EMBEDS, 100)
    requests = []
    for number in range(count):
        sentences = next(many for many, share in MIX if number / count < share)
        requests.append(endpoint.call("remember", {"content": " ".join(writer.sentence() for _ in range(sentences))}))
    driven = wire.drive(RequestLoad(server.port, 8, requests, 512))
    if driven.failures:
        raise RuntimeError(f"{driven.failures} stores failed: {driven.bodies[0]!r}")
    held = resident_bytes(server.pid) / MIB
    raw = f"{held:.0f} MiB resident after {count:,} stores over HTTP, texts of 1, 4 and 14 sentences"
    return Figure("server after 1,000 embeds with ONNX, resident", held, EMBEDDED_MIB, unit="MiB", raw=raw)


def _measure_vaults(run: Run, data: Path) -> Figure:
    warm, count = run.sized(WARM_VAULTS, 4), run.sized(VAULTS, 10)
    names = [f"vault-{number:03d}" for number in range(warm + count)]
    ready = data_folders.prepare_folder(data, {"ann": ("*",), "bob": names})
    asyncio.run(_fill_all(data, names))
    with servers.run_server(servers.SERVE, data, **{"storage.open_vaults": 128}) as server:
        time.sleep(SETTLE_S)
        doors = [VaultEndpoint(server.port, name, ready.tokens["ann"]) for name in names]
        for door in doors[:warm]:
            _use(door)
        time.sleep(REST)
        before, opened = resident_bytes(server.pid), server.metric("strongroom_open_vaults")
        for door in doors[warm:]:
            _use(door)
        time.sleep(REST)
        grown = resident_bytes(server.pid) - before
        opened = server.metric("strongroom_open_vaults") - opened
    vectors = (EACH + 1) * WIDTH * 4
    each = (grown / opened - vectors) / 1024
    raw = (
        f"{grown / MIB:.1f} MiB for {opened:.0f} vaults of {EACH} memories, each used once for a store and a recall,"
        f" {REST:g} s ago, less {vectors / 1024:.0f} KiB of vectors each; after {warm} others had been opened"
    )
    return Figure("idle open vault, resident", each, VAULT_KIB, unit="KiB", raw=raw, numbers={"grown": grown})


def _use(endpoint: VaultEndpoint) -> None:
    with RawConnection(endpoint.port) as line:
        result_of(line.ask(endpoint.call("remember", {"content": f"The first thing said in {endpoint.vault}."})))
        found = result_of(line.ask(endpoint.call("recall", {"query": f"what was said in {endpoint.vault}"})))
        if found["mode_used"] != "hybrid":
            raise RuntimeError(f"no hybrid answer in {endpoint.vault}")


async def _fill_all(data: Path, names: list[str]) -> None:
    import numpy as np

    loaded = data_folders.default_settings(data)
    writer, chance = TextWriter(seed=6), np.random.default_rng(6)
    async with open_services(loaded.settings, data, discover()) as services:
        for name in names:
            real = chance.standard_normal((EACH, WIDTH), dtype=np.float32)
            items = [
                data_folders.SeedMemory(MemoryFields(content=writer.sentence()), vector)
                for vector in data_folders.mixtures(real, EACH)
            ]
            async with services.pool.lease(services.registry_cache.entry(name)) as vault:
                await data_folders.fill_open(services, vault, items)
