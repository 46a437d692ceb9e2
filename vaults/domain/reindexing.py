"""Building everything derived anew from the memories: passages, full-text rows, tags, vectors.

Short transactions, so that a server goes on serving the vault; keyword search finds everything at every moment. The
first step queues every passage for the model, so a run that is killed leaves nothing but debts, which a server
pays, and may simply be run again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass

from vaults.db.sql import Writer
from vaults.domain import storing
from vaults.domain.memory import derived_title, hashed
from vaults.index import embeddings, passages
from vaults.vault import Vault

PAGE = 100
POLL_S = 0.25
PATIENCE_S = 60.0
"""Seconds without progress after which another process's work on the vectors is no longer waited for."""


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What was built. ``owed`` passages still wait for their vector."""

    memories: int
    passages: int
    owed: int


Progress = Callable[[str, int, int], None]
"""Told now and then: what is being built (``passages`` or ``vectors``), how many, of how many."""


async def reindex(vault: Vault, progress: Progress = lambda *_: None) -> Reindexed:
    """Drop what is derived and build it again. The vectors are paid here, or by the process that holds the vault's
    lease; where there is no model they stay owed. Raises ``StorageFull``."""
    vault.check_writable()
    await vault.db.write(_drop)
    total, after, done = int(await vault.db.read(lambda tx: tx.value("SELECT COUNT(*) FROM memories"))), 0, 0
    while (page := await vault.db.write(lambda tx, after=after: _rebuild(vault, tx, after))) is not None:  # type: ignore[misc]
        after, count = page
        done += count
        progress("passages", done, max(total, done))
    await vault.projection.forget_snapshot()
    await _pay(vault, progress)
    held = await vault.db.read(lambda tx: int(tx.value("SELECT COUNT(*) FROM passages")))
    return Reindexed(done, held, await vault.db.read(embeddings.owed_count))


def _drop(tx: Writer) -> None:
    orphans = tx.all(
        "SELECT DISTINCT p.item FROM passages p WHERE p.kind = 'memory'"
        " AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.seq = p.item)"
    )
    embeddings.forget_all(tx)
    passages.rebuild_text(tx)  # before rows change: the triggers below need an index that knows the old ones
    passages.remove(tx, storing.KIND, [int(row[0]) for row in orphans])
    tx.run("DELETE FROM memory_tags WHERE NOT EXISTS (SELECT 1 FROM memories m WHERE m.seq = memory_tags.memory)")
    embeddings.owe(tx, [int(row[0]) for row in tx.all("SELECT seq FROM passages")])


def _rebuild(vault: Vault, tx: Writer, after: int) -> tuple[int, int] | None:
    """Cut one page of memories anew; returns the last number and how many, or None at the end."""
    rows = tx.all(
        "SELECT seq, title, title_derived, content, tags, keywords, entity, author FROM memories"
        " WHERE seq > ? ORDER BY seq LIMIT ?",
        (after, PAGE),
    )
    for seq, held_title, derived, content, *labelled in rows:
        tags, keywords = json.loads(labelled[0]), json.loads(labelled[1])
        labels = [*tags, *keywords, labelled[2] or "", labelled[3]]
        title = derived_title(content) if derived else held_title
        source_hash = hashed(title, content, labels)
        tx.run("UPDATE memories SET title = ?, content_hash = ? WHERE seq = ?", (title, source_hash, seq))
        storing.set_tags(tx, seq, tags)
        cut = passages.passages_of("" if derived else title, content, labels, vault.shared.index.passage_tokens)
        storing.index(tx, seq, source_hash, cut, None, None)
    return (int(rows[-1][0]), len(rows)) if rows else None


async def _pay(vault: Vault, progress: Progress) -> None:
    """Have the vectors paid, and say how far it is. Gives up where nobody makes progress."""
    if vault.shared.embedder.state().status == "off":
        return
    vault.nudge()
    total = left = await vault.db.read(embeddings.owed_count)
    waited = 0.0
    # The model's own watch ends a hung payment here; of another process only the count tells.
    while left and waited < PATIENCE_S and (vault.busy or not vault.lease.held):
        await asyncio.sleep(POLL_S)
        now = await vault.db.read(embeddings.owed_count)
        waited = 0.0 if now < left or vault.busy else waited + POLL_S
        left = now
        progress("vectors", total - left, total)
