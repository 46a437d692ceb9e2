"""What a vault holds and how well it is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from vaults.db.sql import Reader
from vaults.domain.memory import Actor
from vaults.index import embeddings
from vaults.vault import DATABASE, Vault


@dataclass(frozen=True, slots=True)
class MemoryCounts:
    """``living`` are found by recall; the others are kept but not found."""

    living: int
    archived: int
    superseded: int
    by_type: dict[str, int]


@dataclass(frozen=True, slots=True)
class EmbeddingStatus:
    """``pending`` texts have no vector yet; ``status`` is the model's: off, cold, loading, ready, failed or hung."""

    status: str
    pending: int
    model: str | None
    width: int | None
    engine: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """Passages cut from memories and the vectors of the present model; ``loaded`` counts those in memory."""

    passages: int
    vectors: int
    loaded: int | None


@dataclass(frozen=True, slots=True)
class VaultStatus:
    """Sections of ``status``."""

    vault: str
    memories: MemoryCounts
    embedding: EmbeddingStatus
    index: IndexStatus
    storage_bytes: int
    created_at: str


async def status(vault: Vault, actor: Actor | None) -> VaultStatus:
    """Counts and states, as of now, of what ``actor`` may see: private memories of others are not counted. None is the
    operator at the machine, who counts everything."""
    state = vault.shared.embedder.state()
    model = vault.shared.embedder.identity

    def read(tx: Reader) -> tuple[MemoryCounts, IndexStatus, int]:
        params = {"viewer": actor.identity if actor else "", "model": model.key if model else ""}
        hidden = actor is not None and tx.one(_HIDDEN, params) is not None
        seen = _SEEN if hidden else None
        return _counted(tx, params, everything=not hidden), _index(tx, params, seen), _owed(tx, params, seen)

    counts, index, pending = await vault.db.read(read)
    name, width = (model.name, model.width) if model else (None, None)
    embedding = EmbeddingStatus(state.status, pending, name, width, state.engine, state.reason)
    size = sum(path.stat().st_size for path in vault.folder.glob(f"{DATABASE}*"))
    loaded = vault.projection.size
    if loaded is not None:
        index = replace(index, loaded=min(loaded, index.vectors))
    return VaultStatus(vault.name, counts, embedding, index, size, vault.entry.created_at)


_SEEN = "(m.visibility = 'shared' OR m.stored_by = :viewer)"
_HIDDEN = (
    "SELECT 1 FROM memories m WHERE m.visibility = 'private' AND (m.stored_by < :viewer OR m.stored_by > :viewer) LIMIT 1"
)
"""Whether there is anything the viewer may not see."""


def _counted(tx: Reader, params: dict[str, str], *, everything: bool) -> MemoryCounts:
    """Each condition is one that an index is of, so that no memory is read to be counted."""
    living = "archived_at IS NULL AND superseded_by IS NULL GROUP BY type"
    own = "" if everything else "AND stored_by = :viewer"
    by_type: Counter[str] = Counter()
    for whose in ("visibility = 'shared'", f"visibility = 'private' {own}"):
        rows = tx.all(f"SELECT type, COUNT(*) FROM memories WHERE {whose} AND {living}", params)
        by_type.update({row[0]: int(row[1]) for row in rows})
    gone = tx.one(
        "SELECT COUNT(archived_at), COUNT(superseded_by) FROM memories m"
        f" WHERE (archived_at IS NOT NULL OR superseded_by IS NOT NULL) AND {'(1 = 1)' if everything else _SEEN}",
        params,
    )
    archived, superseded = gone or (0, 0)
    return MemoryCounts(by_type.total(), int(archived), int(superseded), dict(sorted(by_type.items())))


def _index(tx: Reader, params: dict[str, str], seen: str | None) -> IndexStatus:
    joined = f" JOIN memories m ON m.seq = p.item WHERE p.kind = 'memory' AND {seen}" if seen else ""
    passages = int(tx.value(f"SELECT COUNT(*) FROM passages p{joined}", params))
    of_model = "(:model = '' OR e.model = :model)"
    if seen:
        vectors = tx.value(
            f"SELECT COUNT(*) FROM embeddings e JOIN passages p ON p.seq = e.passage{joined} AND {of_model}", params
        )
    else:
        vectors = tx.value(f"SELECT COUNT(*) FROM embeddings e WHERE {of_model}", params)
    return IndexStatus(passages, int(vectors), None)


def _owed(tx: Reader, params: dict[str, str], seen: str | None) -> int:
    if seen is None:
        return embeddings.owed_count(tx)
    return int(
        tx.value(
            "SELECT COUNT(*) FROM embedding_queue q JOIN passages p ON p.seq = q.passage"
            f" JOIN memories m ON m.seq = p.item WHERE p.kind = 'memory' AND {seen}",
            params,
        )
    )
