"""What is left of an item beside its own rows: copies of what was let go, its title in that log, texts that imports
replaced. A purge finds and erases it by the item's id, also where nothing else is left.

The tables are those of ``vaults.domain.maintenance.eviction_log`` and ``eviction_copies``, and of
``vaults.domain.import_export.import_runs``.
"""

from __future__ import annotations

from vaults.db.sql import Reader, Writer
from vaults.domain.actors import Actor

MEMORY, DOCUMENT = "memory", "document"
"""Kinds, as imports name them."""

# The newest row says whose it was last: what was shared once may have become private since. A row without title and
# copy tells of an item that was erased before, and is none any more.
_LAST_GONE = (
    "FROM evictions e WHERE e.id = :id AND (e.kind = 'memory') = :memory"
    " AND e.seq = (SELECT MAX(l.seq) FROM evictions l WHERE l.id = :id)"
    " AND EXISTS (SELECT 1 FROM evictions o LEFT JOIN evicted_copies c ON c.eviction = o.seq"
    " WHERE o.id = :id AND (o.title <> '' OR c.eviction IS NOT NULL))"
)


def is_evicted_memory(tx: Reader, memory_id: str, actor: Actor) -> bool:
    """Whether a memory the actor could see was let go, is not back, and has traces left."""
    return _exists(
        tx,
        f"SELECT 1 {_LAST_GONE} AND (e.owner IS NULL OR e.owner = :viewer)"
        " AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.id = :id)",
        memory_id,
        actor,
        memory=True,
    )


def is_evicted_document(tx: Reader, document_id: str, actor: Actor) -> bool:
    """Whether a document the actor stored was let go, is not back, and has traces left."""
    return _exists(
        tx,
        f"SELECT 1 {_LAST_GONE} AND e.stored_by = :viewer AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.id = :id)",
        document_id,
        actor,
        memory=False,
    )


def _exists(tx: Reader, statement: str, item_id: str, actor: Actor, *, memory: bool) -> bool:
    return tx.one(statement, {"id": item_id, "viewer": actor.identity, "memory": memory}) is not None


def erase(tx: Writer, kind: str, item_id: str) -> None:
    """Remove all of it. ``kind``: ``MEMORY``, or ``DOCUMENT`` for all that is none. Rows of the log stay without what
    the item said: id, kind, time and reason, and whose it was, who alone sees it. The item's own rows must be gone."""
    item = {"id": item_id, "kind": kind}
    tx.run("DELETE FROM evicted_copies WHERE eviction IN (SELECT seq FROM evictions WHERE id = :id)", item)
    # What was going has gone: nothing is left for whoever would finish it.
    tx.run(
        "UPDATE evictions SET title = '', size = 0, used = '',"
        " state = CASE state WHEN 'begun' THEN 'gone' ELSE state END WHERE id = :id",
        item,
    )
    # The records stay: by them an import that is run again knows that it brought the item before.
    tx.run(
        "DELETE FROM import_changes WHERE (kind, external_id, owner) IN"
        " (SELECT kind, external_id, owner FROM import_records WHERE kind = :kind AND item = json_array(:id))",
        item,
    )
