"""What the content of a row says of itself: memories, documents and versions of notes carry a hash of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from ops.salvage.record_format import Record
from ops.salvage.table_shapes import TableShape, read_shape
from vaults.db.sql import Reader
from vaults.domain.documents import indexing as document_indexing
from vaults.domain.documents.document_model import hash_document
from vaults.domain.memories.indexing import content_hash, to_labels
from vaults.domain.notes.commit import version_store
from vaults.domain.text.titles import derive_title
from vaults.errors import VaultQuarantined

Proof = Literal["hash", "content", "page"]
"""What a row is known to be right by: a hash over all it says; a hash over its content, and for its other fields the
page it stands on; or the page alone."""

PROOFS: Mapping[str, Proof] = {
    "memories": "content",
    "documents": "content",
    "document_parts": "hash",
    "note_versions": "hash",
}
"""By table; of every other: the page. But for memories, rows prove each other once all are there: a document's hash is
over its parts, and a version may be kept as a difference."""

_PAGE = 200


def proves_memory(shape: TableShape, row: Record) -> bool:
    """Whether title, content, tags, keywords, entity and author are those the hash was taken of, and the rest of the
    row is of the form it must have."""
    at = dict(zip(shape.names, row, strict=True))
    try:
        tags, keywords, metadata = (json.loads(str(at[name])) for name in ("tags", "keywords", "metadata"))
        labels = to_labels(tags, keywords, at["entity"], str(at["author"]))  # type: ignore[arg-type]
        content, title = str(at["content"]), str(at["title"])
        if at["title_derived"] not in (0, 1) or not isinstance(metadata, dict):
            return False
        if at["title_derived"] and title != derive_title(content):
            return False
        return content_hash(title, content, labels) == at["content_hash"]
    except (ValueError, TypeError):
        return False


def tells_times(shape: TableShape, row: Record) -> bool:
    """Whether every field for a moment holds one, or nothing."""
    moments = (value for name, value in zip(shape.names, row, strict=True) if name.endswith("_at"))
    try:
        return all(each is None or datetime.fromisoformat(str(each)).tzinfo is not None for each in moments)
    except ValueError:
        return False


def find_unproven(tx: Reader) -> dict[str, list[int]]:
    """Numbers of rows whose hash says that they, or what they belong to, are not whole, by table."""
    documents = _unproven_documents(tx)
    parts = [
        int(seq)
        for document in documents
        for (seq,) in tx.all("SELECT seq FROM document_parts WHERE document = :document", {"document": document})
    ]
    orphans = "SELECT seq FROM document_parts WHERE document NOT IN (SELECT seq FROM documents)"
    parts += [int(seq) for (seq,) in tx.all(orphans)]
    return {"documents": documents, "document_parts": parts, "note_versions": _unproven_versions(tx)}


def _unproven_documents(tx: Reader) -> list[int]:
    return [int(seq) for (seq,) in tx.all("SELECT seq FROM documents") if not _proves_document(tx, int(seq))]


def _proves_document(tx: Reader, seq: int) -> bool:
    try:
        document = document_indexing.read_document(tx, seq)
    except VaultQuarantined:  # a field of it is not what it must be
        return False
    return hash_document(document.fields, document_indexing.read_parts(tx, seq)) == document.hash


def _unproven_versions(tx: Reader) -> list[int]:
    names = tx.all("SELECT rowid, hash FROM note_versions")
    return [int(number) for number, name in names if version_store.read_version(tx, str(name)) is None]


def is_as_hashed(tx: Reader) -> bool:
    """Whether everything that carries a hash in a sound database matches it. Raises ``VaultQuarantined`` for what
    cannot be read at all."""
    shape, after = read_shape(tx, "memories"), -1
    while page := tx.all(
        "SELECT * FROM memories WHERE seq > :after ORDER BY seq LIMIT :page", {"after": after, "page": _PAGE}
    ):
        if not all(proves_memory(shape, row) for row in page):
            return False
        after = int(page[-1][shape.place("seq")])
    there = {name for (name,) in tx.all("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    return not (PROOFS.keys() <= there and any(find_unproven(tx).values()))
