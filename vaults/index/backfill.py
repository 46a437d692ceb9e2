"""Paying the vectors that are owed: after an overload, a broken model, a kill, or a change of model."""

from __future__ import annotations

from collections.abc import Sequence

from vaults.db.connection import Database
from vaults.db.sql import Writer
from vaults.embed.backend import ModelIdentity
from vaults.embed.service import EmbeddingService
from vaults.index import embeddings

WINDOW = 256
"""Passages per step: enough to sort by length, few enough for one short transaction."""


async def adopt_model(db: Database, model: ModelIdentity) -> int:
    """Make ``model`` the vault's own. When it was another, every passage is queued anew; the old vectors are replaced
    one by one while keyword search serves. Returns how many passages are owed."""

    def change(tx: Writer) -> int:
        tx.run(
            "INSERT INTO vault_info (key, value) VALUES ('model', :key)"
            " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            {"key": model.key},
        )
        return embeddings.enqueue_all_except(tx, model.key)

    held = await db.read(lambda tx: tx.value("SELECT value FROM vault_info WHERE key = 'model'"))
    if held == model.key:
        return await db.read(embeddings.count_missing)
    return await db.write(change)


async def run_backfill(db: Database, embedder: EmbeddingService) -> int:
    """Embed what is owed until nothing more can be done; returns how many passages got their vector. Raises
    ``EmbeddingUnavailable`` when the model is down: what is still owed stays owed. A text the model has no vector for
    counts one attempt and, after a few, is left to keyword search."""
    paid = 0
    if embedder.state().status == "off" or not embedder.loads_for_backfill:
        return 0  # what is owed is not even read
    while batch := await db.read(lambda tx: embeddings.next_missing(tx, WINDOW)):
        rows = await embedder.each([owed.text for owed in batch], urgent=False)
        model = embedder.identity
        assert model is not None  # it has just answered
        pairs = list(zip(batch, rows, strict=True))
        good = [(owed.passage, owed.text_hash, row.tobytes()) for owed, row in pairs if row is not None]
        bad = [owed.passage for owed, row in pairs if row is None]
        await db.write(lambda tx, key=model.key, good=good, bad=bad: _record_vectors(tx, key, good, bad))  # type: ignore[misc]
        paid += len(good)
    return paid


def _record_vectors(tx: Writer, model: str, good: Sequence[tuple[int, str, bytes]], bad: Sequence[int]) -> None:
    embeddings.store(tx, model, good)
    embeddings.record_failure(tx, bad)
