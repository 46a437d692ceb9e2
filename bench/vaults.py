"""A thousand vaults behind a server that keeps 64 open."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

from bench import data_folders, servers, wire
from bench.figures import Figure
from bench.made_up_text import TextWriter
from bench.measurements import p50, p99, to_ms
from bench.run import Run
from bench.wire import RequestLoad, VaultEndpoint, result_of
from server.control_database import CONTROL_DB
from vaults import registry
from vaults.db.connection import Database, open_raw
from vaults.db.sql import Writer as Rows
from vaults.domain.memories import storage
from vaults.domain.memories.memory_model import MemoryFields
from vaults.settings import StorageSettings

VAULTS, OPEN, EACH, CALLS, CLIENTS = 1_000, 64, 20, 3_000, 4
TEMPLATE = "template"


def measure(run: Run) -> Iterator[Figure]:
    """Keyword recalls over all of them in random order; every answer must be that vault's own."""
    with run.folder("vaults") as folder:
        count = run.sized(VAULTS, 100)
        with run.report_progress(f"make {count:,} vaults"):
            ready, names = _make_vaults(folder / "data", count)
        with servers.run_server(servers.SERVE, ready.data) as server, run.report_progress(f"serve {count:,} vaults"):
            order = Random(1).choices(names, k=run.sized(CALLS, 300))
            order[: len(names)] = Random(2).sample(names, len(names))  # each at least once
            asked = [
                VaultEndpoint(server.port, name, ready.tokens["ann"]).call(
                    "recall", {"query": "marker", "mode": "keyword"}
                )
                for name in order
            ]
            driven = wire.drive(RequestLoad(server.port, CLIENTS, asked, 1 << 16))
            wrong = sum(not _is_right(body, name) for body, name in zip(driven.bodies, order, strict=True))
            opened = server.metric("strongroom_open_vaults")
    speed = f"p50 {to_ms(p50(driven.seconds))}, p99 {to_ms(p99(driven.seconds))}, {CLIENTS} clients, opening included"
    raw = f"{len(order):,} keyword recalls in random order, {wrong} wrong; {speed}"
    numbers = {"p50_s": p50(driven.seconds), "p99_s": p99(driven.seconds), "calls": len(order)}
    yield Figure(f"{count:,} vaults: wrong answers", wrong + driven.failures, 0, "=", raw=raw, numbers=numbers)
    yield Figure(
        f"{count:,} vaults: open at the end", opened, OPEN, raw=f"{opened:.0f} by /metrics, storage.open_vaults = 64"
    )


def _is_right(body: bytes, name: str) -> bool:
    hits = result_of(body)["hits"]
    return [hit.get("external_id") for hit in hits] == [name]


def _make_vaults(data: Path, count: int) -> tuple[data_folders.DataFolder, list[str]]:
    """One vault is made by the server's own code; the others are copies of its file with an identity and a memory of
    their own, which is what a thousand separate starts would leave."""
    ready = data_folders.prepare_folder(data, {"ann": ("*",), "bob": (TEMPLATE,)})
    writer = TextWriter(seed=9)
    items = [data_folders.SeedMemory(MemoryFields(content=writer.sentence()), vector) for vector in _some_vectors()]
    data_folders.fill(data, TEMPLATE, items)
    names = [f"team-{number:04d}" for number in range(count)]
    held = {name: _copy_vault(data / "vaults", name, number) for number, name in enumerate(names)}
    asyncio.run(_register(data, held))
    return ready, names


def _some_vectors() -> Iterator[bytes]:
    import numpy as np

    real = np.random.default_rng(9).standard_normal((EACH, 384), dtype=np.float32)
    yield from data_folders.mixtures(real, EACH)


def _copy_vault(vaults: Path, name: str, number: int) -> str:
    (vaults / name).mkdir(mode=0o700)
    path = vaults / name / "vault.db"
    shutil.copyfile(vaults / TEMPLATE / "vault.db", path)
    raw = open_raw(path, StorageSettings(synchronous="normal"), writer=True)
    try:
        raw.execute("BEGIN IMMEDIATE")
        vault_id = f"00000000-0000-7000-8000-{number:012d}"
        raw.execute("UPDATE vault_info SET value = :id WHERE key = 'vault_id'", {"id": vault_id})
        fields = MemoryFields(content=f"The marker of {name}.", external_id=name)
        storage.insert(
            Rows(raw),
            data_folders.ACTOR,
            storage.prepare(data_folders.CLOSED_VAULT, data_folders.ACTOR, fields),
            None,
            None,
        )
        # Nothing is owed: the background work of 1,000 vaults is not what is measured.
        raw.execute("DELETE FROM embedding_queue")
        raw.execute("COMMIT")
    finally:
        raw.close()
    return vault_id


async def _register(data: Path, held: dict[str, str]) -> None:
    control = Database(data / CONTROL_DB, StorageSettings())

    def write(tx: Rows) -> None:
        for name, vault_id in held.items():
            registry.create(tx, name, None, vault_id)

    try:
        await control.write(write)
    finally:
        await control.close()
