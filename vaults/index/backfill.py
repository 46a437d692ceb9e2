"""Paying the vectors that are owed: after an overload, a broken model, a kill, or a change of model."""

from __future__ import annotations

from vaults.db.connection import Database
from vaults.db.sql import Writer
from vaults.embed.backend import ModelIdentity
from vaults.embed.service import EmbeddingService
from vaults.errors import EmbeddingUnavailable
from vaults.index import embeddings
from vaults.index.embeddings import Owed

WINDOW = 256
"""Passages per step: enough to sort by length, few enough for one short transaction."""


async def adopt(db: Database, model: ModelIdentity) -> int:
    """Make ``model`` the vault's own. When it was another, every passage is queued anew; the old vectors are replaced
    one by one while keyword search serves. Returns how many passages are owed."""

    def change(tx: Writer) -> int:
        tx.run(
            "INSERT INTO vault_info (key, value) VALUES ('model', :key)"
            " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            {"key": model.key},
        )
        return embeddings.owe_all_but(tx, model.key)

    held = await db.read(lambda tx: tx.value("SELECT value FROM vault_info WHERE key = 'model'"))
    if held == model.key:
        return await db.read(embeddings.owed_count)
    return await db.write(change)


async def pay(db: Database, embedder: EmbeddingService) -> int:
    """Embed what is owed until nothing more can be done; returns how many passages got their vector. Raises
    ``EmbeddingUnavailable`` when the model is down: what is still owed stays owed."""
    paid = 0
    while batch := await db.read(lambda tx: embeddings.owed(tx, WINDOW)):
        paid += await _pay_some(db, embedder, batch)
    return paid


async def _pay_some(db: Database, embedder: EmbeddingService, batch: list[Owed]) -> int:
    try:
        vectors = await embedder.texts([owed.text for owed in batch], urgent=False)
    except EmbeddingUnavailable:
        if embedder.state().status != "ready":
            raise
        return await _pay_singly(db, embedder, batch)
    model = embedder.identity
    assert model is not None
    rows = [(owed.passage, owed.text_hash, vector.tobytes()) for owed, vector in zip(batch, vectors, strict=True)]
    await db.write(lambda tx: embeddings.put(tx, model.key, rows))
    return len(rows)


async def _pay_singly(db: Database, embedder: EmbeddingService, batch: list[Owed]) -> int:
    """One text spoils its batch: find it, count the attempt against it alone."""
    paid = 0
    for owed in batch:
        try:
            vector = (await embedder.texts([owed.text], urgent=False))[0]
        except EmbeddingUnavailable:
            await db.write(lambda tx, owed=owed: embeddings.failed(tx, [owed.passage]))  # type: ignore[misc]
            continue
        model = embedder.identity
        assert model is not None
        row = (owed.passage, owed.text_hash, vector.tobytes())
        await db.write(lambda tx, row=row, key=model.key: embeddings.put(tx, key, [row]))  # type: ignore[misc]
        paid += 1
    return paid
