"""How often memories were read, and when last, and when documents were last opened. Counted in memory, saved now and
then."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from vaults import clock
from vaults.db.sql import Reader, Writer, bind_list


def add_access_counts(tx: Writer, accesses: Mapping[int, int]) -> None:
    """Add ``accesses``, reads by the number of each memory, to the stored counts."""
    tx.many(
        "INSERT INTO memory_accesses (memory, accessed_at, times) SELECT seq, :now, :times FROM memories"
        " WHERE seq = :memory ON CONFLICT (memory) DO UPDATE SET"
        " accessed_at = excluded.accessed_at, times = memory_accesses.times + excluded.times",
        [{"memory": memory, "now": clock.now(), "times": times} for memory, times in accesses.items()],
    )


def record_opened_documents(tx: Writer, documents: Collection[int]) -> None:
    """Record that documents were opened now, by their numbers. The table is that of ``vaults.domain.documents``."""
    tx.many(
        "UPDATE documents SET used_at = :now WHERE seq = :document",
        [{"now": clock.now(), "document": document} for document in documents],
    )


def read_access_counts(tx: Reader, memories: Sequence[int]) -> dict[int, tuple[int, str]]:
    """How often memories were read, and when last, by their numbers; those never read are left out."""
    some, params = bind_list("memory", memories)
    rows = tx.all(f"SELECT memory, times, accessed_at FROM memory_accesses WHERE memory IN ({some})", params)
    return {memory: (times, accessed_at) for memory, times, accessed_at in rows}
