"""Computes missing vectors: after an overload, a broken model, a kill, or a change of model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from vaults.db.connection import Database
from vaults.db.sql import Reader, Writer
from vaults.embed.backend import ModelIdentity
from vaults.embed.service import EmbeddingService
from vaults.index import embeddings, model_choice

WINDOW = 256
"""Passages per step: enough to sort by length, few enough for a short transaction."""


async def adopt_model(db: Database, model: ModelIdentity, name: str | None) -> int | None:
    """Make ``model``, which was chosen by ``name``, the vault's own. After a change every passage is queued again; the
    old vectors are replaced one by one while keyword search serves. Returns how many passages lack their vector; None,
    with nothing done, where the vault is served by a model of another name by now."""

    def change(tx: Writer) -> int | None:
        if model_choice.read_serving(tx) != name:
            return None
        embeddings.stamp_model(tx, model.key)
        return embeddings.enqueue_all_except(tx, model.key)

    def read(tx: Reader) -> tuple[bool, int | None]:
        known = model_choice.read_serving(tx) == name
        stamped = tx.value("SELECT value FROM vault_info WHERE key = 'model'") == model.key
        return not known or stamped, embeddings.count_missing(tx) if known and stamped else None

    is_done, missing = await db.read(read)
    return missing if is_done else await db.write(change)


async def run_backfill(db: Database, embedder: EmbeddingService, has_room: Callable[[], bool] = lambda: True) -> int:
    """Embed queued passages until nothing more can be done; returns how many got their vector. Raises
    ``EmbeddingUnavailable`` when the model is down; the rest stays queued, as it does while the disk has no room. A
    text the model has no vector for counts one attempt and, after a few, is left to keyword search."""
    done = 0
    if embedder.state().status == "off" or not embedder.loads_for_backfill:
        return 0  # the queue is not even read
    while has_room() and (batch := await db.read(lambda tx: embeddings.next_missing(tx, WINDOW))):
        rows = await embedder.each([missing.text for missing in batch], urgent=False)
        model = embedder.identity
        assert model is not None  # it has just answered
        pairs = list(zip(batch, rows, strict=True))
        good = [(missing.passage, missing.text_hash, row.tobytes()) for missing, row in pairs if row is not None]
        bad = [missing.passage for missing, row in pairs if row is None]
        if not await db.write(partial(_record_vectors, model=model.key, good=good, bad=bad)):
            return done  # the vault is another model's, or this one is to be adopted first
        done += len(good)
    return done


def _record_vectors(tx: Writer, model: str, good: Sequence[tuple[int, str, bytes]], bad: Sequence[int]) -> bool:
    if not embeddings.is_of(tx, model):
        return False
    embeddings.store(tx, model, good)
    embeddings.record_failure(tx, bad)
    return True
