"""What a vault holds and how well it is."""

from __future__ import annotations

from dataclasses import dataclass

from vaults.db.sql import Reader
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


async def status(vault: Vault) -> VaultStatus:
    """Counts and states, as of now."""
    state = vault.shared.embedder.state()
    model = vault.shared.embedder.identity

    def read(tx: Reader) -> tuple[MemoryCounts, IndexStatus, int]:
        living = "archived_at IS NULL AND superseded_by IS NULL"
        types = {
            row[0]: int(row[1]) for row in tx.all(f"SELECT type, COUNT(*) FROM memories WHERE {living} GROUP BY 1")
        }
        archived = int(tx.value("SELECT COUNT(*) FROM memories WHERE archived_at IS NOT NULL"))
        superseded = int(tx.value("SELECT COUNT(*) FROM memories WHERE superseded_by IS NOT NULL"))
        vectors = "SELECT COUNT(*) FROM embeddings" + (" WHERE model = ?" if model else "")
        index = IndexStatus(
            int(tx.value("SELECT COUNT(*) FROM passages")),
            int(tx.value(vectors, (model.key,) if model else ())),
            vault.projection.size,
        )
        counts = MemoryCounts(sum(types.values()), archived, superseded, dict(sorted(types.items())))
        return counts, index, embeddings.owed_count(tx)

    counts, index, pending = await vault.db.read(read)
    name, width = (model.name, model.width) if model else (None, None)
    embedding = EmbeddingStatus(state.status, pending, name, width, state.engine, state.reason)
    size = sum(path.stat().st_size for path in vault.folder.glob(f"{DATABASE}*"))
    return VaultStatus(vault.name, counts, embedding, index, size, vault.entry.created_at)
