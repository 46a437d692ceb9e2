"""Rebuilds everything derived from memories, notes and documents: passages, full text, tags, links, tasks, symbols of
code, vectors.

In short transactions, so that a server can go on serving the vault; keyword search finds everything at every moment.
The first step queues every passage for the model, so a run that is killed leaves only a queue, which a server works
off, and can simply be repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from uuid_utils import uuid7

from vaults.db.sql import Reader, Writer
from vaults.domain.code.rebuilding import rebuild_code
from vaults.domain.documents import indexing as document_indexing
from vaults.domain.memories import indexing
from vaults.domain.notes.sync import index_rebuild
from vaults.domain.text.titles import derive_title
from vaults.index import embeddings, passages, text_index
from vaults.vault import BackgroundJob, Vault

PAGE = 100
POLL_S = 0.25
PATIENCE_S = 60.0
"""Seconds without progress after which another process's work on the vectors is no longer waited for."""


@dataclass(frozen=True, slots=True)
class ReindexResult:
    """What was rebuilt. ``owed`` passages still wait for their vector."""

    memories: int
    passages: int
    owed: int
    notes: int = 0
    problem: str | None = None
    """Why the notes were left unchanged."""


OnReindexed = Callable[[str, int, int], None]
"""Called now and then: what is being rebuilt (``passages``, ``notes`` or ``vectors``), how many, of how many."""


def ignore_progress(what: str, done: int, total: int) -> None:
    """An ``OnReindexed`` for callers that need no progress."""


async def reindex(vault: Vault, progress: OnReindexed = ignore_progress) -> ReindexResult:
    """Drop what is derived and build it again. Vectors are computed here, or by the process that holds the vault's
    lease; without a model they stay queued. Raises ``StorageFull``."""
    done, problem = await rebuild(vault, progress)
    await backfill_vectors(vault, progress)
    cut, notes, owed = await vault.db.read(_sizes)
    return ReindexResult(done, cut, owed, notes, problem)


async def rebuild(vault: Vault, progress: OnReindexed = ignore_progress) -> tuple[int, str | None]:
    """Rebuild all but the vectors; returns how many memories, and why the notes were left unchanged. Raises
    ``StorageFull``."""
    vault.disk.check_writable_in_bulk()
    await vault.db.write(_drop_derived)
    total, after, done = int(await vault.db.read(lambda tx: tx.value("SELECT COUNT(*) FROM memories"))), 0, 0
    while (page := await vault.db.write(lambda tx, after=after: _rebuild_page(vault, tx, after))) is not None:  # type: ignore[misc]
        after, count = page
        done += count
        progress("passages", done, max(total, done))
    await _rebuild_documents(vault)
    await rebuild_code(vault)
    problem = await index_rebuild.rebuild_index(vault, lambda count, of: progress("notes", count, of))
    for projection in vault.projections:
        await projection.forget_snapshot()
    return done, problem


async def _rebuild_documents(vault: Vault) -> None:
    after = 0

    def rebuild(tx: Writer) -> int | None:
        page = document_indexing.read_page(tx, after, 1)  # one may be long
        for document in page:
            document_indexing.rebuild(tx, document, vault.shared.index.passage_tokens, _find_model(vault, tx))
        return page[-1].seq if page else None

    while (last := await vault.db.write(rebuild)) is not None:
        after = last


async def request_reindex(vault: Vault) -> None:
    """Have it done in the background, by the process that runs background jobs here, also after a restart. Raises
    ``StorageFull``."""
    vault.disk.check_writable_in_bulk()
    await vault.db.write(
        lambda tx: tx.run(
            "INSERT INTO vault_info (key, value) VALUES ('reindex', :mark)"
            " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            {"mark": str(uuid7())},
        )
    )
    vault.start_background_work()


def is_reindex_pending(tx: Reader) -> bool:
    """Whether a requested reindex is still to be done."""
    return tx.one("SELECT 1 FROM vault_info WHERE key = 'reindex'") is not None


async def _run_pending_reindex(vault: Vault) -> None:
    mark = await vault.db.read(lambda tx: tx.value("SELECT value FROM vault_info WHERE key = 'reindex'"))
    await rebuild(vault, ignore_progress)
    # A request made in the meantime left a new mark, which stays: its changes need another run.
    done = "DELETE FROM vault_info WHERE key = 'reindex' AND value = :mark"
    await vault.db.write(lambda tx: tx.run(done, {"mark": mark}))


REINDEX = BackgroundJob("reindex", is_reindex_pending, _run_pending_reindex)


def _sizes(tx: Reader) -> tuple[int, int, int]:
    passages_, notes = (int(tx.value(f"SELECT COUNT(*) FROM {table}")) for table in ("passages", "notes"))
    return passages_, notes, embeddings.count_missing(tx)


async def rechunk(vault: Vault) -> None:
    """Cut every memory anew where a migration demands it, one page at a time alongside other work. Vectors stay."""
    after = 0
    while await vault.db.read(is_rechunk_pending):
        page = await vault.db.write(lambda tx, after=after: _rechunk_page(vault, tx, after))  # type: ignore[misc]
        after = page or after


def is_rechunk_pending(tx: Reader) -> bool:
    """Whether passages are still cut the way an older version did."""
    return tx.one("SELECT 1 FROM vault_info WHERE key = 'recut'") is not None


RECHUNK = BackgroundJob("rechunk", is_rechunk_pending, rechunk)


def _rechunk_page(vault: Vault, tx: Writer, after: int) -> int | None:
    page = _rebuild_page(vault, tx, after)
    if page is None:
        tx.run("DELETE FROM vault_info WHERE key = 'recut'")
    return page[0] if page else None


def _drop_derived(tx: Writer) -> None:
    orphans = tx.all(f"SELECT DISTINCT x.kind, x.item FROM passages x WHERE {indexing.ORPHANED}")
    embeddings.drop_all(tx)
    text_index.rebuild(tx)  # before rows change: the triggers below need an index that knows the old ones
    for kind, item in orphans:
        passages.remove_items(tx, kind, [int(item)])
    for table in ("item_tags", "item_fields"):
        tx.run(f"DELETE FROM {table} AS x WHERE {indexing.ORPHANED}")
    for table in ("note_names", "note_links", "note_tasks", "note_scores", "entity_vectors"):
        tx.run(f"DELETE FROM {table} WHERE note NOT IN (SELECT seq FROM notes)")
    tx.run("UPDATE note_links SET meant = NULL WHERE meant NOT IN (SELECT seq FROM notes)")
    embeddings.enqueue(tx, [int(seq) for (seq,) in tx.all("SELECT seq FROM passages")])
    tx.run("DELETE FROM vault_info WHERE key = 'recut'")


def _rebuild_page(vault: Vault, tx: Writer, after: int) -> tuple[int, int] | None:
    """Cut one page of memories anew; returns the last ``seq`` and how many, or None at the end."""
    page = indexing.load_sources(tx, after, PAGE)
    model = _find_model(vault, tx)
    for source in page:
        seq, title = source.item.number, source.title or derive_title(source.content)
        settled = replace(source, item=replace(source.item, source_hash=indexing.expected_hash(source)))
        tx.run(
            "UPDATE memories SET title = :title, content_hash = :hash"
            " WHERE seq = :seq AND (title <> :title OR content_hash <> :hash)",
            {"title": title, "hash": settled.item.source_hash, "seq": seq},
        )
        cut = settled.cut(vault.shared.index.passage_tokens)
        indexing.index(tx, settled, cut, None, model)
    return (page[-1].item.number, len(page)) if page else None


def _find_model(vault: Vault, tx: Reader) -> str | None:
    """Until a model is loaded, the vault's vectors count as those of the last one, and are not queued again."""
    known = vault.embedder.identity
    found: str | None = known.key if known else tx.value("SELECT value FROM vault_info WHERE key = 'model'")
    return found


async def backfill_vectors(vault: Vault, progress: OnReindexed) -> None:
    """Have the vectors computed, and report progress. Gives up when nobody makes any."""
    if vault.embedder.state().status == "off":
        return
    vault.embedder.loads_for_backfill = True  # the caller waits for them
    vault.start_background_work()
    total = left = await vault.db.read(embeddings.count_missing)
    waited = 0.0
    # In this process the model's watchdog ends a hung batch; of another process only the count tells.
    while left and waited < PATIENCE_S and (vault.background.is_busy or not vault.lease.held):
        await asyncio.sleep(POLL_S)
        now = await vault.db.read(embeddings.count_missing)
        waited = 0.0 if now < left or vault.background.is_busy else waited + POLL_S
        left = now
        progress("vectors", total - left, total)
