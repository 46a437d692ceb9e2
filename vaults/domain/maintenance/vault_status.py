"""What a vault holds and the state it is in."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.collections import editing
from vaults.domain.collections.editing import CollectionView
from vaults.domain.documents import storage
from vaults.domain.maintenance import model_change
from vaults.index import model_choice
from vaults.registry import DATABASE_FILE
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class MemoryCounts:
    """``living`` are found by recall; the others are kept but not found."""

    living: int
    archived: int
    superseded: int
    by_type: dict[str, int]


@dataclass(frozen=True, slots=True)
class ModelChange:
    """A change to another model under way. ``done`` of the ``total`` passages have its vector; until all have, that
    before answers. ``reason``: why it waits."""

    to: str
    done: int
    total: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class EmbeddingStatus:
    """``pending`` texts have no vector yet; ``status`` is the model's: off, cold, loading, ready, failed or hung.
    ``own``: the model named for this vault, if it is not the server's."""

    status: str
    pending: int
    model: str | None
    width: int | None
    engine: str | None
    reason: str | None
    own: str | None = None
    change: ModelChange | None = None


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """Passages that are searched and the vectors of the present model; ``loaded`` counts those in memory."""

    passages: int
    vectors: int
    loaded: int | None


@dataclass(frozen=True, slots=True)
class NotesStatus:
    """Notes that are indexed, and files that are not. ``state``: unread, scanning (``done`` of ``total`` files),
    ready, or unavailable, with the reason. ``watching``: how changes by other programs are noticed. ``history``: how
    changes by tools are kept in Git."""

    notes: int
    skipped: int
    state: str
    done: int
    total: int
    watching: str
    history: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class DocumentCounts:
    """Documents that were read in, transcripts of conversations, and files of source code."""

    documents: int
    transcripts: int
    code: int = 0


@dataclass(frozen=True, slots=True)
class CollectionStatus:
    """A folder that is read besides the notes: how it is, how many of its files are documents, their bytes, and how
    many of its files have a problem. ``read_at``: when all of it was last looked at."""

    name: str
    kind: str
    state: str
    documents: int
    bytes: int
    problems: int
    watching: str
    read_at: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class VaultStatus:
    """The sections of ``status``."""

    vault: str
    memories: MemoryCounts
    notes: NotesStatus
    documents: DocumentCounts
    collections: list[CollectionStatus]
    embedding: EmbeddingStatus
    index: IndexStatus
    storage_bytes: int
    created_at: str


async def read_status(vault: Vault, actor: Actor | None) -> VaultStatus:
    """Counts and states as of now, without others' private memories. ``actor`` None: the operator at the machine, for
    whom everything counts."""
    state = vault.embedder.state()
    model, models = vault.embedder.identity, await describe_models(vault, actor)
    embedding = EmbeddingStatus(
        status=state.status,
        pending=0,
        model=model.name if model else None,
        width=model.width if model else None,
        engine=state.engine,
        reason=state.reason,
        own=models.own,
        change=models.change,
    )

    def read(tx: Reader) -> tuple[MemoryCounts, IndexStatus, int, NotesStatus, DocumentCounts, list[CollectionStatus]]:
        params = {"viewer": actor.identity if actor else "", "model": model.key if model else ""}
        everything = actor is None
        pending = _count_visible(tx, "embedding_queue", params, everything=everything)
        return (
            _count_memories(tx, params, everything=everything),
            _index_status(tx, params, everything=everything),
            pending,
            _notes_status(tx, vault),
            _count_documents(tx, None if everything else params["viewer"]),
            [_to_collection_status(each) for each in editing.list_views(tx)],
        )

    counts, index, pending, notes, documents, collections = await vault.db.read(read)
    size = sum(path.stat().st_size for path in vault.folder.glob(f"{DATABASE_FILE}*"))
    sizes = [each.size for each in vault.projections]
    if any(size is not None for size in sizes):
        index = replace(index, loaded=min(sum(size or 0 for size in sizes), index.vectors))
    return VaultStatus(
        vault=vault.name,
        memories=counts,
        notes=notes,
        documents=documents,
        collections=collections,
        embedding=replace(embedding, pending=pending),
        index=index,
        storage_bytes=size,
        created_at=vault.entry.created_at,
    )


def _to_shown(name: str | None) -> str | None:
    """A model's name, of a folder without where it lies."""
    return name.rpartition("/")[2] if name and name.startswith("/") else name


@dataclass(frozen=True, slots=True)
class ModelsOfVault:
    """``own`` and ``change`` as in ``EmbeddingStatus``."""

    own: str | None
    change: ModelChange | None


async def describe_models(vault: Vault, actor: Actor | None = None) -> ModelsOfVault:
    """The model a vault was given, and the change to another; ``actor`` as in ``read_status``."""
    choice = await vault.db.read(model_choice.read_choice)
    if choice.is_settled:
        return ModelsOfVault(_to_shown(choice.serving), None)
    embedder = vault.shared.models.of(choice.wanted)
    key = embedder.identity.key if embedder.identity else ""
    params, everything = {"viewer": actor.identity if actor else "", "model": key}, actor is None

    def read(tx: Reader) -> tuple[int, int]:
        made = "(:model = '' OR x.model = :model)"
        return (
            _count_visible(tx, "spare_embeddings", params, made, everything=everything),
            _index_status(tx, params, everything=everything).passages,
        )

    done, total = await vault.db.read(read)
    reason = embedder.state().reason or await model_change.find_obstacle(vault)
    if reason is None and choice.wanted is not None:
        reason = await model_change.find_problem(vault, choice.wanted)  # nobody has asked for it in this process
    change = ModelChange(_to_shown(choice.wanted) or model_change.DEFAULT, min(done, total), total, reason)
    return ModelsOfVault(_to_shown(choice.serving), change)


def _notes_status(tx: Reader, vault: Vault) -> NotesStatus:
    now = vault.notes.now
    if now.phase == "unread" and not vault.lease.held:
        now = replace(now, phase="ready", watching="by another process")
    indexed = int(tx.value("SELECT COUNT(*) FROM notes"))
    skipped = int(tx.value("SELECT COUNT(*) FROM notes_skipped"))
    return NotesStatus(
        notes=indexed,
        skipped=skipped,
        state=now.phase,
        done=now.done,
        total=now.total,
        watching=now.watching,
        history=vault.history.status,
        reason=now.reason,
    )


def _count_documents(tx: Reader, viewer: str | None) -> DocumentCounts:
    counts = storage.count_documents(tx, viewer)
    return DocumentCounts(counts.get("document", 0), counts.get("transcript", 0), counts.get("code", 0))


def _to_collection_status(view: CollectionView) -> CollectionStatus:
    fields, state = view.collection.fields, view.state
    return CollectionStatus(
        name=fields.name,
        kind=fields.kind,
        state=state.phase if view.is_read else "reading",
        documents=state.documents,
        bytes=state.bytes,
        problems=state.problems,
        watching=state.watching if fields.watch else "on demand",
        read_at=state.read_at,
        reason=state.reason,
    )


def _count_memories(tx: Reader, params: dict[str, str], *, everything: bool) -> MemoryCounts:
    """Counts by conditions that have an index each, so that no memory is read."""
    living = "archived_at IS NULL AND superseded_by IS NULL GROUP BY type"
    own, seen = ("", "") if everything else (" AND stored_by = :viewer", _VISIBLE)
    by_type: Counter[str] = Counter()
    for whose in ("visibility = 'shared'", f"visibility = 'private'{own}"):
        rows = tx.all(f"SELECT type, COUNT(*) FROM memories WHERE {whose} AND {living}", params)
        by_type.update({kind: int(count) for kind, count in rows})
    gone = tx.one(
        "SELECT COUNT(archived_at), COUNT(superseded_by) FROM memories"
        f" WHERE (archived_at IS NOT NULL OR superseded_by IS NOT NULL){seen}",
        params,
    )
    archived, superseded = gone or (0, 0)
    return MemoryCounts(by_type.total(), int(archived), int(superseded), dict(sorted(by_type.items())))


_VISIBLE = " AND (visibility = 'shared' OR stored_by = :viewer)"


def _index_status(tx: Reader, params: dict[str, str], *, everything: bool) -> IndexStatus:
    passages = int(tx.value("SELECT COUNT(*) FROM passages")) - (0 if everything else _count_foreign(tx, "", params))
    vectors = _count_visible(tx, "embeddings", params, "(:model = '' OR x.model = :model)", everything=everything)
    return IndexStatus(passages, vectors, None)


def _count_visible(tx: Reader, table: str, params: dict[str, str], which: str = "(1 = 1)", *, everything: bool) -> int:
    """Rows of a table with one row per passage, without those of passages the viewer may not see."""
    total = int(tx.value(f"SELECT COUNT(*) FROM {table} x WHERE {which}", params))
    return total - (0 if everything else _count_foreign(tx, f"JOIN {table} x ON x.passage = p.seq AND {which}", params))


def _count_foreign(tx: Reader, joined: str, params: dict[str, str]) -> int:
    """Passages private to others: usually few, so visible ones are all minus these."""
    others = "p.owner IS NOT NULL AND (p.owner < :viewer OR p.owner > :viewer)"
    return int(tx.value(f"SELECT COUNT(*) FROM passages p {joined} WHERE {others}", params))
