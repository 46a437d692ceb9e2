"""``remember``: store a memory durably and searchably, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.domain import anchors, lifecycle, storing
from vaults.domain.memory import Actor, MemoryFields
from vaults.domain.quota import BOUNDLESS, Quota, counted
from vaults.domain.storing import Near, OnDuplicate, Prepared, Stored
from vaults.index import embeddings
from vaults.search import candidates, facts
from vaults.search.filters import Filter
from vaults.vault import Vault

SIMILAR = 3
"""Near duplicates named at most."""


async def remember(
    vault: Vault,
    actor: Actor,
    fields: MemoryFields,
    *,
    on_duplicate: OnDuplicate = "return",
    key: str | None = None,
    quota: Quota = BOUNDLESS,
) -> Stored:
    """Store one memory. The text is durable and found by keyword when this returns; the vector too, unless the
    model is slow or down (``embedding: pending``). The same request again, told by ``key``, external id or content,
    stores nothing new and says so in ``duplicate_of``. ``quota`` may refuse."""
    vault.check_writable()
    prepared = storing.prepare(vault, actor, fields)
    held, last = await vault.db.read(
        lambda tx: (_held(tx, actor, prepared, on_duplicate, key), embeddings.last_change(tx))
    )
    if held is not None and key is None:
        return held
    texts = [] if held is not None else [passage.embedded for passage in prepared.passages]
    vectors = await vault.embed_now(texts) if texts else None
    await vault.adopt_model()
    model = vault.shared.embedder.identity
    prepared = await anchors.anchored(vault, prepared)
    similar = await _similar(vault, actor, vectors, last) if vectors else []

    def write(tx: Writer) -> Stored:
        again = _held(tx, actor, prepared, on_duplicate, key)
        if again is None:
            again = _new(tx, actor, prepared, vectors, on_duplicate, model.key if model else None)
            quota.room(tx, 0)
        if key is not None:
            storing.remember_key(tx, actor, key, prepared, again.id)
        return again

    # What is there already is no store, also when the quota is used up.
    stored = await counted(BOUNDLESS if held is not None else quota, lambda: vault.db.write(write))
    if stored.embedding == "pending":
        vault.nudge()
    return replace(stored, similar=[near for near in similar if near.id not in (stored.id, stored.duplicate_of)])


def _new(
    tx: Writer,
    actor: Actor,
    prepared: Prepared,
    vectors: Sequence[bytes] | None,
    on_duplicate: OnDuplicate,
    model: str | None,
) -> Stored:
    old = storing.duplicate(tx, prepared) if on_duplicate == "supersede" else None
    _, stored = storing.insert(tx, actor, prepared, vectors, model)
    if old is None:
        return stored
    lifecycle.mark_superseded(tx, old.id, stored.id, "stored again")
    return replace(stored, duplicate_of=old.id)


def _held(tx: Reader, actor: Actor, prepared: Prepared, on_duplicate: OnDuplicate, key: str | None) -> Stored | None:
    held = storing.already(tx, actor, prepared, key)
    if held is None and on_duplicate == "return":
        held = storing.duplicate(tx, prepared)
    return held


async def _similar(vault: Vault, actor: Actor, vectors: Sequence[bytes], last: int) -> list[Near]:
    """Living memories, up to change ``last``, whose meaning is nearly that of the first passage."""
    import numpy as np

    model = vault.shared.embedder.identity
    if model is None:
        return []
    query = np.frombuffer(vectors[0], dtype=np.float32)
    hits = await vault.projection.search(model, query, 2 * SIMILAR, at_least=last)
    near = vault.shared.search.near_duplicate
    close = {passage: score for passage, score in hits if score >= near}
    if not close:
        return []
    only = Filter(viewer=actor.identity, now=clock.now(), kinds=("memory",))
    seen = await vault.db.read(lambda tx: facts.of(tx, close, only))
    if len(seen) < len(close):  # some are not for this caller, and may have crowded out those that are
        allowed = await vault.db.read(lambda tx: candidates.allowed(tx, only))
        hits = await vault.projection.search(model, query, 2 * SIMILAR, allowed, at_least=last)
        close = {passage: score for passage, score in hits if score >= near}
    return await vault.db.read(lambda tx: _named(tx, close, only))


def _named(tx: Reader, close: dict[int, float], only: Filter) -> list[Near]:
    best: dict[int, float] = {}
    for passage, about in facts.of(tx, close, only).items():
        number = about.item[1]
        best[number] = max(best.get(number, 0.0), close[passage])
    ranked = sorted(best.items(), key=lambda pair: -pair[1])[:SIMILAR]
    named = []
    for number, score in ranked:
        row = tx.one("SELECT id, title FROM memories WHERE seq = ?", (number,))
        if row is not None:
            named.append(Near(row[0], row[1], round(score, 4)))
    return named
