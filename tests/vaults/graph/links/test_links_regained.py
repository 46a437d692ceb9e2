"""What links mean is derived: dropped, rebuilt, or come from an earlier version, it is the same.

Covers vaults.domain.graph.graph_jobs.
"""

from __future__ import annotations

import time
from pathlib import Path

from tests import noted
from tests.conftest import Opening
from vaults.db.connection import Database
from vaults.db.engine import sqlite
from vaults.db.migration import load_migrations, migrate
from vaults.db.sql import Reader, Row, Writer
from vaults.domain.maintenance.reindexing import reindex
from vaults.graph import co_access_pairs
from vaults.graph.links import link_index
from vaults.graph.note_graph import Graph, catch_up
from vaults.settings import StorageSettings
from vaults.vault import Vault

NOTES = {
    "a.md": "---\naliases: [first]\nrelated: '[[b]]'\n---\n# A\n\n[[b#Part|said]] ![[c]] [[nowhere]]\n",
    "b.md": "# B\n\n## Part\n\n[a](a.md) [[first]] [[#Part]]\n",
    "x/c.md": "# C\n\n[[x/c]] [[same]]\n",
    "x/same.md": "# Same\n",
    "y/same.md": "# Same\n\n[[B]]\n",
}
PLACES = "p.path, l.ordinal, l.kind, l.line, l.target, l.heading, l.alias, l.embed, m.path"
LINKS = f"SELECT {PLACES} FROM note_links l JOIN notes p ON p.seq = l.note LEFT JOIN notes m ON m.seq = l.meant"


def _links(tx: Reader) -> list[Row]:
    return sorted(tx.all(LINKS), key=repr)


def _graph(tx: Reader, graph: Graph) -> dict[str, set[str]]:
    return {
        node.path: {graph.nodes[other].path for other in graph.out.get(number, ())}
        for number, node in graph.nodes.items()
    }


def _drop(tx: Writer) -> None:
    for table in (
        "note_links", "note_names", "note_scores", "graph_clock", "note_tasks", "embeddings", "embedding_queue",
        "passages", "notes",
    ):  # fmt: skip
        tx.run(f"DELETE FROM {table}")


async def test_links_and_graph_dropped_and_rebuilt_are_the_same(opening: Opening) -> None:
    async with opening() as services:
        noted.put(noted.folder(services.data), NOTES)
        await noted.indexed(services, len(NOTES))
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            links, graph = await vault.db.read(lambda tx: (_links(tx), _graph(tx, vault.graph_cache.at(tx))))
            assert graph["a.md"] == {"b.md", "x/c.md"}
            assert graph["x/c.md"] == {"x/same.md"}
            await vault.db.write_uncounted(
                lambda tx: co_access_pairs.add_weights(
                    tx, co_access_pairs.pair_all("found", ["a.md", "b.md"]), "2026-11-01T00:00:00.000Z"
                )
            )
            await vault.db.write(_drop)
            assert (await vault.db.read(vault.graph_cache.at)).nodes == {}
            await reindex(vault)
            again = await vault.db.read(lambda tx: (_links(tx), _graph(tx, vault.graph_cache.at(tx))))
            assert again == (links, graph)
            # Nothing that no file tells is lost with what is derived.
            assert await vault.db.read(lambda tx: tx.value("SELECT COUNT(*) FROM note_pairs")) == 1


async def test_links_of_an_earlier_version_are_understood_in_the_background(opening: Opening) -> None:
    async with opening() as services:
        root = noted.folder(services.data)
        noted.put(root, NOTES)
        await noted.indexed(services, len(NOTES))
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            path = vault.db.path
            links = await vault.db.read(_links)
            # So long after they were written that nothing is to be read again.
            await vault.db.write(lambda tx: tx.run("UPDATE notes SET read_ns = ?", (time.time_ns() + 10**9,)))
    await _migrated_to_the_fifth(path)
    async with opening() as services:
        await noted.until(services, lambda tx: not link_index.is_due(tx))
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            assert await vault.db.read(_links) == links
            assert await vault.db.read(lambda tx: _consistent(tx, vault))


async def _migrated_to_the_fifth(path: Path) -> None:
    new = path.with_name("new.db")
    path.rename(new)
    db = Database(path, StorageSettings())
    await migrate(db, "vault", load_migrations("vault")[:5])

    def copy(raw: sqlite.Connection) -> None:
        raw.execute("ATTACH ? AS new", (str(new),))
        for table in ("vault_info", "notes", "note_names", "note_links"):
            columns = ", ".join(row[1] for row in raw.execute(f"PRAGMA main.table_info({table})"))
            raw.execute(f"INSERT OR IGNORE INTO main.{table} ({columns}) SELECT {columns} FROM new.{table}")
        raw.execute("DETACH new")

    await db.run_on_writer(copy)
    await db.close()


def _consistent(tx: Reader, vault: Vault) -> bool:
    graph = vault.graph_cache.at(tx)
    return _graph(tx, graph) == _graph(tx, catch_up(tx, Graph()))
