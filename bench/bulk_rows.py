"""A million memories in minutes: rows copied from one that the storing code wrote, in big transactions.

What the storing code writes one by one is the pattern here: every table and column
is as it left them, but for number, names, text and vector. The full-text rows come by the vault's own triggers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any

from bench import data_folders
from server.services import open_services
from server.tools import discover
from vaults.db.sql import Writer
from vaults.domain.memories.indexing import content_hash, to_labels
from vaults.domain.memories.memory_model import MemoryFields
from vaults.domain.text.titles import derive_title
from vaults.index.passages import Passage

BATCH = 20_000
"""Memories per transaction."""

CACHE_KIB = 400_000
"""SQLite's page cache meanwhile: the server's 2 MB would read each page of the word index again and again."""

Row = dict[str, Any]
Pair = tuple[str, bytes]


def fill(data: Path, vault: str, pairs: Iterable[Pair]) -> None:
    """Store texts and their vectors, float32 in bytes, and leave a snapshot of the vectors."""
    asyncio.run(_fill(data, vault, iter(pairs)))


async def _fill(data: Path, vault: str, pairs: Iterator[Pair]) -> None:
    loaded = data_folders.default_settings(data, **{"storage.synchronous": "normal"})
    async with (
        open_services(loaded.settings, data, discover()) as services,
        services.pool.lease(services.registry_cache.entry(vault)) as opened,
    ):
        text, vector = next(pairs)
        first = data_folders.SeedMemory(MemoryFields(content=text, external_id="item-0"), vector)
        await data_folders.fill_open(services, opened, [first])
        await opened.db.run_on_writer(lambda raw: raw.execute(f"PRAGMA cache_size=-{CACHE_KIB}"))
        for start in count(2, BATCH):
            some = list(islice(pairs, BATCH))
            if not some:
                break
            await opened.db.write(partial(_copy_rows, first=start, pairs=some))
        await data_folders.fill_open(services, opened, [])


def _copy_rows(tx: Writer, first: int, pairs: Sequence[Pair]) -> None:
    kinds = {table: _copy_pattern(tx, table) for table in ("memories", "passages", "embeddings")}
    rows: dict[str, list[Row]] = {table: [] for table in kinds}
    labels = to_labels([], [], None, str(kinds["memories"]["author"]))
    for number, (text, vector) in enumerate(pairs, first):
        own = Passage("", text, kinds["passages"]["labels"]).columns()
        unique = {"id": f"item-{number}", "external_id": f"item-{number - 1}", "duplicate_key": f"{number:032x}"}
        digest = content_hash(derive_title(text), text, labels)
        said = {"title": derive_title(text), "content": text, "content_hash": digest}
        cut = {"item": number, "source_hash": digest}
        made = {"passage": number, "text_hash": own["text_hash"], "vector": vector, "change": number}
        rows["memories"].append(kinds["memories"] | {"seq": number} | unique | said)
        rows["passages"].append(kinds["passages"] | {"seq": number} | own | cut)
        rows["embeddings"].append(kinds["embeddings"] | made)
    for table, pattern in kinds.items():
        names = ", ".join(pattern)
        tx.many(f"INSERT INTO {table} ({names}) VALUES ({', '.join(f':{name}' for name in pattern)})", rows[table])
    tx.run("UPDATE vector_clock SET last = :last", {"last": first + len(pairs) - 1})


def _copy_pattern(tx: Writer, table: str) -> Row:
    names = [name for _, name, *_ in tx.all(f"PRAGMA table_info({table})")]
    found = tx.one(f"SELECT {', '.join(names)} FROM {table} ORDER BY rowid LIMIT 1")
    assert found is not None
    return dict(zip(names, found, strict=True))
