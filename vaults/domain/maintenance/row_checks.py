"""Rows that disagree with each other, as SQL can tell."""

from __future__ import annotations

from collections import Counter

from vaults.db.sql import Reader
from vaults.domain.code import code_rows
from vaults.domain.documents.indexing import name_sequence
from vaults.domain.maintenance import eviction_log
from vaults.domain.memories import indexing
from vaults.index import embeddings, neighbours

_HAS_OWN_VECTOR = (
    "EXISTS (SELECT 1 FROM embeddings e WHERE e.passage = p.seq AND e.text_hash = p.text_hash"
    " AND e.model = COALESCE((SELECT value FROM vault_info WHERE key = 'model'), e.model))"
)
_IS_QUEUED = "EXISTS (SELECT 1 FROM embedding_queue q WHERE q.passage = p.seq)"
_HAS_ANY_VECTOR = "EXISTS (SELECT 1 FROM embeddings e WHERE e.passage = p.seq)"

_COUNTS = {
    "symbols_differ": f"SELECT COUNT(*) FROM ({code_rows.STALE})",
    "passages_orphaned": f"SELECT COUNT(*) FROM passages x WHERE {indexing.ORPHANED}",
    "tags_orphaned": " + ".join(
        f"(SELECT COUNT(*) FROM {table} x WHERE {indexing.ORPHANED})" for table in ("item_tags", "item_fields")
    ).join(("SELECT ", "")),
    "vectors_missing": f"SELECT COUNT(*) FROM passages p WHERE NOT {_HAS_ANY_VECTOR} AND NOT {_IS_QUEUED}",
    "vectors_stale": (
        f"SELECT COUNT(*) FROM passages p WHERE {_HAS_ANY_VECTOR} AND NOT {_HAS_OWN_VECTOR} AND NOT {_IS_QUEUED}"
    ),
    "vectors_owed": "SELECT COUNT(*) FROM embedding_queue",
    "vectors_given_up": "SELECT COUNT(*) FROM embedding_queue WHERE attempts >= :given_up",
    "change_clock_behind": (
        "SELECT (SELECT COUNT(*) = 0 FROM vector_clock)"
        " + (SELECT COUNT(*) FROM embeddings WHERE change > COALESCE((SELECT MAX(last) FROM vector_clock), -1))"
    ),
}


def count_disagreeing(tx: Reader) -> Counter[str]:
    """How many disagree, by code."""
    found = Counter({"rows_dangling": len(tx.all("PRAGMA foreign_key_check"))})
    for code, sql in _COUNTS.items():
        found[code] = int(tx.value(sql, {"given_up": embeddings.MAX_ATTEMPTS}))
    going = eviction_log.find_unfinished(tx)  # its passages go some at a time
    without = name_sequence(going.kind, going.item) if going is not None else None
    found["neighbours_differ"] = neighbours.count_disagreeing(tx, without)
    return found
