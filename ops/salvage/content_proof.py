"""What the content of a row says of itself: memories, documents and versions of notes carry a hash of it."""

from __future__ import annotations

import json

from ops.salvage.record_format import Record
from ops.salvage.table_shapes import TableShape
from vaults.db.sql import Reader
from vaults.domain.documents import indexing as document_indexing
from vaults.domain.documents.document_model import hash_document
from vaults.domain.memories.indexing import content_hash, to_labels
from vaults.domain.notes.commit import version_store
from vaults.domain.text.titles import derive_title

PROVEN_TOGETHER = frozenset({"documents", "document_parts", "note_versions"})
"""Tables whose rows prove each other: a document's hash is over its parts, a version may be kept as a difference."""

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
    found, after = [], -1
    while page := document_indexing.read_page(tx, after, _PAGE):
        for document in page:
            parts = document_indexing.read_parts(tx, document.seq)
            if hash_document(document.fields, parts) != document.hash:
                found.append(document.seq)
        after = page[-1].seq
    return found


def _unproven_versions(tx: Reader) -> list[int]:
    names = tx.all("SELECT rowid, hash FROM note_versions")
    return [int(number) for number, name in names if version_store.read_version(tx, str(name)) is None]
