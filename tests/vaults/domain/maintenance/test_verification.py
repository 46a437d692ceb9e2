"""A vault that agrees is told so; every kind of planted disagreement is found, and reindexing repairs it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from server.services import Services
from tests.conftest import Asking, Opening, asker
from vaults.db.sql import Writer
from vaults.domain.maintenance import reindexing
from vaults.domain.maintenance.reindexing import reindex
from vaults.domain.maintenance.verification import verify
from vaults.errors import EmbeddingUnavailable
from vaults.index.shelves import MAIN
from vaults.index.vector_index import SnapshotStamp, VectorChange
from vaults.vault import Vault

LONG = "\n\n".join(f"Paragraph {n} about the harbour, its tides and the {n} ships." for n in range(60))


@pytest.fixture
async def vault(services: Services, ask: Asking) -> AsyncIterator[Vault]:
    for content in ("tea at four", "the blue safe holds the key", LONG):
        assert (await ask("remember", content=content, tags=["a", "b"], title=content[:20])).ok
    async with services.pool.lease(services.registry_cache.entry("main")) as held:
        yield held


async def codes(vault: Vault) -> set[str]:
    report = await verify(vault)
    assert report.agrees == (not [found for found in report.findings if found.severity == "error"])
    return {found.code for found in report.findings if found.severity == "error"}


async def test_a_healthy_vault_agrees(vault: Vault, ask: Asking) -> None:
    report = await verify(vault)
    assert report.agrees
    assert report.findings == []
    assert (report.memories, report.owed) == (3, 0)
    assert report.passages == report.vectors > 3
    first = (await ask("memory_list", order="oldest")).content["memories"][0]["id"]
    await ask("memory_update", id=first, content="coffee at five", add_tags=["c"])
    assert await codes(vault) == set()
    await ask("memory_forget", ids=[first], purge=True)
    assert await codes(vault) == set()


PLANTED: list[tuple[str, str]] = [
    ("vectors_missing", "DELETE FROM embeddings WHERE passage = (SELECT MIN(passage) FROM embeddings)"),
    ("vectors_stale", "UPDATE embeddings SET text_hash = 'other' WHERE passage = (SELECT MIN(seq) FROM passages)"),
    ("vectors_stale", "UPDATE embeddings SET model = 'other' WHERE passage = (SELECT MIN(seq) FROM passages)"),
    ("vectors_misshapen", "UPDATE embeddings SET vector = x'0000' WHERE passage = (SELECT MIN(seq) FROM passages)"),
    ("vectors_misshapen", "UPDATE embeddings SET vector = zeroblob(128) WHERE change = 1"),
    ("change_clock_behind", "UPDATE vector_clock SET last = 0"),
    ("change_clock_behind", "DELETE FROM vector_clock"),
    ("passages_differ", "UPDATE passages SET body = 'other words' WHERE seq = 1"),
    ("passages_differ", "UPDATE passages SET text_hash = 'other' WHERE seq = 1"),
    ("passages_differ", "UPDATE passages SET labels = '' WHERE seq = 1"),
    ("passages_stale", "UPDATE passages SET source_hash = 'other' WHERE seq = 1"),
    ("passages_orphaned", "UPDATE passages SET item = 999 WHERE seq = 1"),
    ("passages_missing", "UPDATE passages SET item = 999 WHERE seq = 1"),
    ("source_changed", "UPDATE memories SET content = 'edited by hand' WHERE seq = 1"),
    ("tags_orphaned", "INSERT INTO item_tags VALUES ('memory', 999, 'ghost')"),
    ("neighbours_differ", "UPDATE passages SET before = 'what never was' WHERE seq = 2"),
    ("passages_differ", "UPDATE passages SET owner = 'someone' WHERE seq = 2"),
    ("tags_differ", "DELETE FROM item_tags WHERE item = 2 AND tag = 'a'"),
    ("text_index_differs", "DELETE FROM passages_fts_data WHERE id > 10"),
    ("text_index_differs", "INSERT INTO passages_fts (rowid, title, body, labels) VALUES (777, 'a', 'ghost', 'b')"),
]


@pytest.mark.parametrize(("code", "sql"), PLANTED, ids=lambda value: value[:50])
async def test_a_planted_disagreement_is_found_and_reindexing_repairs_it(
    vault: Vault, ask: Asking, code: str, sql: str
) -> None:
    await vault.db.write(lambda tx: tx.run(sql))
    found = await codes(vault)
    assert code in found
    assert "database_damaged" not in found
    done = await reindex(vault)
    assert done.owed == 0
    report = await verify(vault)
    assert report.agrees, report.findings
    for mode in ("keyword", "semantic"):
        assert (await ask("recall", query="harbour tides", mode=mode)).content["hits"], mode


@pytest.mark.parametrize("value", ["CAST(x'ff41' AS TEXT)", "'{'"], ids=["no text", "no JSON"])
async def test_a_row_that_cannot_be_read_is_told_as_damage(vault: Vault, value: str) -> None:
    await vault.db.write(lambda tx: tx.run(f"UPDATE memories SET tags = {value} WHERE seq = 1"))
    assert await codes(vault) == {"database_damaged"}


async def test_dangling_rows_are_found(vault: Vault) -> None:
    def plant(raw: Any) -> None:
        raw.execute("PRAGMA foreign_keys=OFF")
        raw.execute("INSERT INTO embeddings VALUES (999, 'm', 't', x'00', 99, 0)")
        raw.execute("PRAGMA foreign_keys=ON")

    await vault.db.run_on_writer(plant)
    assert "rows_dangling" in await codes(vault)
    await reindex(vault)
    assert await codes(vault) == set()


async def test_a_saved_index_that_holds_something_else_is_found(vault: Vault) -> None:
    model = vault.embedder.identity
    assert model is not None
    last = await vault.db.read(lambda tx: tx.value("SELECT last FROM vector_clock"))
    index = await vault.projection.current(model, last)
    stamp = SnapshotStamp(vault.entry.vault_id, model.key, model.width, 0)
    index.save(vault.folder / MAIN.snapshot, stamp)
    assert await codes(vault) == set()
    index.apply([VectorChange(1, None)], last)
    index.save(vault.folder / MAIN.snapshot, stamp)
    assert await codes(vault) == {"snapshot_differs"}
    away = await vault.db.read(lambda tx: tx.value("SELECT vector FROM embeddings WHERE passage = 2"))
    index.apply([VectorChange(1, away)], last)  # as many as there should be, but another one
    index.save(vault.folder / MAIN.snapshot, stamp)
    assert await codes(vault) == {"snapshot_differs"}
    (vault.folder / MAIN.snapshot).write_bytes(b"torn")
    report = await verify(vault)
    assert report.agrees
    assert [found.code for found in report.findings] == ["snapshot_unused"]
    await reindex(vault)
    assert not (vault.folder / MAIN.snapshot).exists()


async def test_vectors_that_are_owed_are_no_disagreement(opening: Opening) -> None:
    def broken() -> Any:
        raise EmbeddingUnavailable("no model today")

    async with opening(load_model=broken) as services:
        assert (await asker(services)("remember", content="kept")).ok
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            report = await verify(vault)
            assert report.agrees
            assert [found.code for found in report.findings] == ["vectors_owed"]
            assert (await reindex(vault)).owed == 1


async def test_dropping_everything_derived_and_reindexing_gives_the_same(vault: Vault, ask: Asking) -> None:
    derived = "SELECT kind, item, ordinal, title, body, labels, text_hash, source_hash FROM passages ORDER BY 2, 3"
    vectors = "SELECT p.item, p.ordinal, e.model, e.vector FROM embeddings e JOIN passages p ON p.seq = e.passage"
    vectors += " ORDER BY 1, 2"
    tags = "SELECT kind, item, tag FROM item_tags ORDER BY 1, 2, 3"

    async def snapshot() -> list[Any]:
        return [await vault.db.read(lambda tx, sql=sql: tx.all(sql)) for sql in (derived, vectors, tags)]

    before = await snapshot()

    def drop(tx: Writer) -> None:
        for table in ("embedding_queue", "vector_removals", "embeddings", "passages", "item_tags", "vector_clock"):
            tx.run(f"DELETE FROM {table}")

    await vault.db.write(drop)
    assert {"passages_missing", "tags_differ"} <= await codes(vault)
    assert (await reindex(vault)).memories == 3
    assert await snapshot() == before
    assert (await ask("recall", query="blue safe key")).content["hits"][0]["content"].startswith("the blue safe")


async def test_reindexing_that_was_cut_off_leaves_only_debts_and_may_run_again(
    vault: Vault, ask: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reindexing, "PAGE", 1)
    stop: Callable[..., None] = _stop_after(2)
    with pytest.raises(KeyboardInterrupt):
        await reindex(vault, stop)
    report = await verify(vault)
    assert report.agrees, report.findings
    assert report.owed == report.passages
    assert (await ask("recall", query="harbour", mode="keyword")).content["hits"]
    assert (await reindex(vault)).owed == 0


def _stop_after(pages: int) -> Callable[..., None]:
    def progress(_what: str, done: int, _total: int) -> None:
        if done == pages:
            raise KeyboardInterrupt

    return progress
