"""Where a document of a collection lies, as hits say it: the file, and the commit that is checked out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vaults.db.sql import Reader
from vaults.domain.collections import collection_rows
from vaults.domain.documents.document_model import Document

COMMIT_DIGITS = 12


@dataclass(frozen=True, slots=True)
class FilePlaces:
    """``heads``: the commits checked out in collections, by the collection's name."""

    heads: Mapping[str, str] = field(default_factory=dict)

    def describe(self, document: Document, place: str) -> str:
        """The place in a document of a collection together with its file, such as "api/src/app.py, lines 10–42, commit
        1a2b3c4d5e6f"."""
        commit = self.find_commit(document)
        told = (
            f"{document.fields.collection}/{document.fields.uri}",
            place,
            commit and f"commit {commit[:COMMIT_DIGITS]}",
        )
        return ", ".join(filter(None, told))

    def find_commit(self, document: Document) -> str | None:
        """The commit that is checked out where a document's file lies."""
        collection = document.fields.collection
        return self.heads.get(collection) if collection and is_of_collection(document) else None


def read_file_places(tx: Reader, documents: Sequence[Document]) -> FilePlaces:
    """What tells where these documents lie."""
    of_code = any(each.fields.kind == "code" and is_of_collection(each) for each in documents)
    return FilePlaces(collection_rows.read_heads(tx) if of_code else {})


def is_of_collection(document: Document) -> bool:
    """Whether a document was read of a collection's file."""
    known_as = document.fields.external_id or ""
    return document.fields.collection is not None and known_as.startswith(collection_rows.DOCUMENT_KEYS)
