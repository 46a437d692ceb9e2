"""Everything derived of notes is built anew from their files, beside whatever goes on meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from server.services import Services
from tests.conftest import Asking
from tests.noted import folder, indexed
from tests.vaults.domain.notes.proved import NOTES, aged, errors
from vaults.db.sql import Row, Writer
from vaults.domain.maintenance.reindexing import reindex
from vaults.domain.notes.index import file_reader
from vaults.domain.notes.index.file_reader import ReadBatch
from vaults.files.tree import FileStamp
from vaults.vault import Vault


@pytest.fixture
async def vault(services: Services, tmp_path: Path) -> AsyncIterator[Vault]:
    aged(folder(tmp_path), NOTES)
    async with services.pool.lease(services.registry_cache.entry("main")) as held:
        await indexed(services, len(NOTES))
        yield held


DERIVED = {
    "notes": "SELECT path, path_key, folder, title, aliases, tags, frontmatter, problem, hash, size, complete,"
    " created_at, modified_at FROM notes",
    "names": "SELECT n.path, x.key FROM note_names x JOIN notes n ON n.seq = x.note",
    "links": "SELECT n.path, x.ordinal, x.kind, line, target, target_key, heading, block, alias, embed"
    " FROM note_links x JOIN notes n ON n.seq = x.note",
    "tasks": "SELECT n.path, x.ordinal, line, status, text, heading, due, x.tags FROM note_tasks x"
    " JOIN notes n ON n.seq = x.note",
    "skipped": "SELECT path, reason FROM notes_skipped",
    "passages": "SELECT COALESCE(n.path, p.item), p.kind, p.title, body, labels, p.text_hash, source_hash, hidden,"
    " p.folder, p.type, at, p.modified_at, traits, tokens, before, after, s.pairs, e.model, e.vector FROM passages p"
    " LEFT JOIN notes n ON p.kind = 'note' AND n.seq = p.item LEFT JOIN passages_pairs s ON s.rowid = p.seq"
    " LEFT JOIN embeddings e ON e.passage = p.seq",
    "tags": "SELECT COALESCE(n.path, x.item), kind, tag FROM item_tags x"
    " LEFT JOIN notes n ON x.kind = 'note' AND n.seq = x.item",
    "fields": "SELECT COALESCE(n.path, x.item), kind, field, value FROM item_fields x"
    " LEFT JOIN notes n ON x.kind = 'note' AND n.seq = x.item",
}
"""Everything derived, but for numbers."""


async def test_dropping_everything_derived_and_reindexing_gives_the_same(vault: Vault, ask: Asking) -> None:
    root = folder(vault.folder.parent.parent)
    (root / "latin.md").write_bytes(b"caf\xe9 au lait")
    for content in ("tea at four", "the blue safe holds the key"):
        assert (await ask("remember", content=content, tags=["a"], metadata={"b": 1})).ok
    await reindex(vault)

    async def snapshot() -> dict[str, list[Row]]:
        return {
            name: sorted(await vault.db.read(lambda tx, sql=sql: tx.all(sql)), key=repr)
            for name, sql in DERIVED.items()
        }  # type: ignore[misc]

    before = await snapshot()
    assert all(before.values()), [name for name, rows in before.items() if not rows]

    def drop(tx: Writer) -> None:
        for table in (
            "embedding_queue", "vector_removals", "embeddings", "passages_pairs", "passages", "item_tags",
            "item_fields", "vector_clock", "note_names", "note_links", "note_tasks", "notes_skipped", "notes",
        ):  # fmt: skip
            tx.run(f"DELETE FROM {table}")

    await vault.db.write(drop)
    assert {"notes_unindexed", "passages_missing"} <= await errors(vault)
    done = await reindex(vault)
    assert (done.memories, done.notes, done.owed) == (2, 4, 0)
    assert await snapshot() == before
    assert await errors(vault) == set()


async def test_keyword_search_finds_every_note_while_they_are_rebuilt(vault: Vault, ask: Asking) -> None:
    steps: list[str] = []

    def stop(what: str, _done: int, _total: int) -> None:
        steps.append(what)
        if what == "notes":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await reindex(vault, stop)
    assert steps[-1] == "notes"
    assert await errors(vault) == set()
    for word in ("tides", "cups"):
        assert (await ask("search", query=word, mode="keyword")).content["hits"], word


async def test_what_a_tool_wrote_after_a_file_was_read_wins(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    real = file_reader.read_files
    await vault.db.write(lambda tx: tx.run("UPDATE notes SET read_ns = read_ns + 1000000000"))

    def older(*args: Any) -> ReadBatch:
        found = real(*args)
        return ReadBatch(
            [replace(each, hash="older", title="Older", stamp=FileStamp(1, 2, 3, 4)) for each in found.extracts]
        )

    monkeypatch.setattr(file_reader, "read_files", older)
    await reindex(vault)
    monkeypatch.undo()
    assert await errors(vault) == set()
