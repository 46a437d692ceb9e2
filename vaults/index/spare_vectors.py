"""Vectors of a model that does not serve, in ``spare_embeddings``: made while another serves, and changed for its own
in one transaction. What they are of is compared by hash, so texts that change meanwhile are embedded again."""

from __future__ import annotations

from collections.abc import Sequence

from vaults.db.sql import Reader, Writer
from vaults.index import embeddings
from vaults.index.embeddings import EMBEDDED_TEXT, MissingVector
from vaults.index.shelves import SHELF_COLUMN

_HELD = (
    "EXISTS (SELECT 1 FROM spare_embeddings s"
    " WHERE s.passage = p.seq AND s.model = :model AND s.text_hash = p.text_hash)"
)


def next_unmade(tx: Reader, model: str, limit: int) -> list[MissingVector]:
    """The next passages without a vector of ``model`` here: those after the last one that has one, then those that
    changed meanwhile. To look at all of them each time reads every vector, and there is a batch for each 256."""
    last = tx.value(
        "SELECT passage FROM spare_embeddings WHERE model = :model ORDER BY passage DESC LIMIT 1", {"model": model}
    )
    return _find_unmade(tx, model, int(last or 0), limit) or _find_unmade(tx, model, 0, limit)


def _find_unmade(tx: Reader, model: str, after: int, limit: int) -> list[MissingVector]:
    rows = tx.all(
        f"SELECT p.seq, {EMBEDDED_TEXT}, p.text_hash FROM passages p WHERE p.seq > :after AND NOT {_HELD}"
        " ORDER BY p.seq LIMIT :limit",
        {"model": model, "after": after, "limit": limit},
    )
    return [MissingVector(int(seq), text, text_hash) for seq, text, text_hash in rows]


def begin(tx: Writer, model: str) -> None:
    """Call before vectors of ``model`` are stored: the first ones take the place of those of any other."""
    if tx.one("SELECT 1 FROM spare_embeddings WHERE model = :model LIMIT 1", {"model": model}) is None:
        drop_all(tx)


def store(tx: Writer, model: str, rows: Sequence[tuple[int, str, bytes]]) -> None:
    """Store vectors: ``(passage, text_hash, vector)``; an empty one says that the model has none. A passage that is
    gone or whose text has moved on is skipped."""
    tx.many(
        "INSERT INTO spare_embeddings (passage, model, text_hash, vector)"
        " SELECT p.seq, :model, p.text_hash, :vector FROM passages p"
        " WHERE p.seq = :passage AND p.text_hash = :text_hash"
        " ON CONFLICT (passage, model) DO UPDATE SET text_hash = excluded.text_hash, vector = excluded.vector",
        [
            {"model": model, "passage": passage, "text_hash": text_hash, "vector": vector}
            for passage, text_hash, vector in rows
        ],
    )


def exchange(tx: Writer, model: str, *, keeps: bool) -> None:
    """Have the vectors of ``model`` searched from this transaction on. ``keeps``: those before become spare, else they
    go. Passages it has none for are queued."""
    held = {"model": model}
    if keeps:
        tx.run(
            "INSERT INTO spare_embeddings (passage, model, text_hash, vector) SELECT e.passage, e.model, e.text_hash,"
            " e.vector FROM embeddings e JOIN vault_info i ON i.key = 'model' AND i.value = e.model"
            " WHERE e.model <> :model",
            held,
        )
    usable = (
        "FROM spare_embeddings s JOIN passages p ON p.seq = s.passage AND p.text_hash = s.text_hash"
        " WHERE s.model = :model AND LENGTH(s.vector) > 0"
    )
    before = embeddings.reserve_numbers(tx, int(tx.value(f"SELECT COUNT(*) {usable}", held)))
    tx.run(
        "INSERT INTO embeddings (passage, model, text_hash, vector, change, shelf)"
        f" SELECT p.seq, s.model, s.text_hash, s.vector, :before + ROW_NUMBER() OVER (ORDER BY p.seq), {SHELF_COLUMN}"
        f" {usable} ON CONFLICT (passage) DO UPDATE SET model = excluded.model, text_hash = excluded.text_hash,"
        " vector = excluded.vector, change = excluded.change",
        {**held, "before": before},
    )
    tx.run("DELETE FROM spare_embeddings WHERE model = :model", held)
    tx.run(
        "DELETE FROM embedding_queue WHERE EXISTS (SELECT 1 FROM embeddings e JOIN passages p ON p.seq = e.passage"
        " WHERE e.passage = embedding_queue.passage AND e.model = :model AND e.text_hash = p.text_hash)",
        held,
    )
    embeddings.stamp_model(tx, model)
    embeddings.enqueue_all_except(tx, model)


def drop_all(tx: Writer) -> None:
    """Drop every vector here."""
    tx.run("DELETE FROM spare_embeddings")
