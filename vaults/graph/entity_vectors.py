"""What each note is about, as a vector of its names and beginning: stored as rows, and held in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vaults.db.sql import Reader, Writer
from vaults.graph.note_graph import Node

if TYPE_CHECKING:
    import numpy as np

BODY_LENGTH = 500
"""Characters of a note's text that tell what it is about."""

ALIASES, NAME = 20, 300
"""Aliases that are used, and characters of each name."""

MIN_COSINE = 0.30
"""Cosine from which two notes are about similar things."""

BATCH = 64
"""Notes embedded in one call."""


def compose_text(node: Node, body: str) -> str:
    """The text that is embedded for a note: its title twice, its other names, its category, its beginning."""
    title = node.title[:NAME]
    others = [name[:NAME] for name in node.names[1 : ALIASES + 1]]
    return "\n".join(filter(None, (title, title, *others, node.category, " ".join(body.split())[:BODY_LENGTH])))


def hash_text(text: str) -> str:
    """A digest that tells whether a text has changed."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def read_model(tx: Reader) -> str | None:
    """The embedding model of this vault, once it has one."""
    found = tx.value("SELECT value FROM vault_info WHERE key = 'model'")
    return str(found) if found is not None else None


_MISSING = (
    " FROM notes n LEFT JOIN entity_vectors v ON v.note = n.seq"
    " WHERE v.note IS NULL OR v.source <> n.hash OR v.linked <> n.linked OR v.model <> :model"
)


def is_due(tx: Reader) -> bool:
    """Whether a note lacks its vector. Never before the vault has a model."""
    model = read_model(tx)
    return model is not None and tx.one(f"SELECT 1{_MISSING} LIMIT 1", {"model": model}) is not None


@dataclass(frozen=True, slots=True)
class UnembeddedNote:
    """A note without an up-to-date vector. ``held``: the hash of the text of its present vector, if of this model."""

    note: int
    source: str
    linked: int
    held: str | None


def read_unembedded(tx: Reader, model: str, limit: int) -> list[UnembeddedNote]:
    """Notes that lack an up-to-date vector, in order."""
    columns = "n.seq, n.hash, n.linked, CASE WHEN v.model = :model THEN v.text_hash END"
    rows = tx.all(f"SELECT {columns}{_MISSING} ORDER BY n.seq LIMIT :limit", {"model": model, "limit": limit})
    return [UnembeddedNote(note, source, linked, held) for note, source, linked, held in rows]


def confirm_vectors(tx: Writer, notes: Sequence[UnembeddedNote]) -> None:
    """Keep the vectors of notes whose embedded text is the same as before."""
    tx.many(
        "UPDATE entity_vectors SET source = :source, linked = :linked WHERE note = :note",
        [{"source": each.source, "linked": each.linked, "note": each.note} for each in notes],
    )


def store_vectors(tx: Writer, model: str, vectors: Sequence[tuple[UnembeddedNote, str, bytes]]) -> None:
    """Store vectors, given as note, hash of its text, and vector. A note that is gone is skipped."""
    change = int(tx.value("SELECT MAX(change) FROM entity_vectors") or 0)
    for number, (each, text_hash, vector) in enumerate(vectors, change + 1):
        tx.run(
            "INSERT INTO entity_vectors (note, model, source, linked, text_hash, vector, change)"
            " SELECT seq, :model, :source, :linked, :text_hash, :vector, :change FROM notes WHERE seq = :note"
            " ON CONFLICT (note) DO UPDATE SET model = excluded.model, source = excluded.source,"
            " linked = excluded.linked, text_hash = excluded.text_hash, vector = excluded.vector,"
            " change = excluded.change",
            {
                "note": each.note,
                "model": model,
                "source": each.source,
                "linked": each.linked,
                "text_hash": text_hash,
                "vector": vector,
                "change": number,
            },
        )


def read_vector(tx: Reader, note: int, model: str, text_hash: str) -> bytes | None:
    """The vector of a note, if it was made by this model from this text."""
    vector = tx.value(
        "SELECT vector FROM entity_vectors WHERE note = :note AND model = :model AND text_hash = :text_hash",
        {"note": note, "model": model, "text_hash": text_hash},
    )
    return bytes(vector) if vector else None


@dataclass(frozen=True, slots=True)
class VectorMatrix:
    """The vectors of one model in memory: a row for each of ``notes``."""

    model: str = ""
    change: int = 0
    notes: tuple[int, ...] = ()
    rows: np.ndarray | None = None

    def likeness(self, vector: bytes) -> dict[int, float]:
        """The cosine of each note with a vector of unit length, if it is ``MIN_COSINE`` or more."""
        import numpy as np

        if self.rows is None or len(vector) != self.rows.shape[1] * 4:
            return {}
        cosines = self.rows @ np.frombuffer(vector, dtype="<f4")
        return {self.notes[place]: float(cosines[place]) for place in np.flatnonzero(cosines >= MIN_COSINE)}


def catch_up(tx: Reader, known: VectorMatrix) -> VectorMatrix:
    """Bring ``known`` up to date; only what changed is read."""
    model = read_model(tx)
    if model is None:
        return VectorMatrix()
    same = known.model == model
    [(change, count)] = tx.all("SELECT COALESCE(MAX(change), 0), COUNT(*) FROM entity_vectors")
    if same and change == known.change and count == len(known.notes):
        return known
    first = known.change if same and change >= known.change else 0
    vectors: dict[int, np.ndarray | None] = {}
    if first and known.rows is not None:
        vectors.update(zip(known.notes, known.rows, strict=True))
    changed = "SELECT note, vector, model FROM entity_vectors WHERE change > :first"
    for note, vector, of in tx.all(changed, {"first": first}):
        vectors[int(note)] = _to_row(vector) if of == model else None
    if len(vectors) != count:
        living = {note for (note,) in tx.all("SELECT note FROM entity_vectors")}
        vectors = {note: row for note, row in vectors.items() if note in living}
    return _stack(model, change, vectors)


def _to_row(vector: bytes) -> np.ndarray | None:
    import numpy as np

    return np.frombuffer(vector, dtype="<f4") if vector else None


def _stack(model: str, change: int, vectors: Mapping[int, np.ndarray | None]) -> VectorMatrix:
    """One row per note, zeros if it has no vector of the model: similar to nothing."""
    import numpy as np

    width = max((row.shape[0] for row in vectors.values() if row is not None), default=0)
    rows = np.zeros((len(vectors), width), dtype=np.float32)
    for place, row in enumerate(vectors.values()):
        if row is not None and row.shape[0] == width:
            rows[place] = row
    return VectorMatrix(model, change, tuple(vectors), rows)
