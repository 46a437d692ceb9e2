"""What a document is: its fields as given, as stored, its parts, and the rows in between."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from vaults.db.failures import damaged_error
from vaults.domain.actors import GLOBAL
from vaults.domain.text.fields import hash_parts

DocumentKind = Literal["document", "transcript", "code"]
KINDS: tuple[DocumentKind, ...] = ("document", "transcript", "code")
TRANSCRIPT = "transcript"
"""The kind, and the format, of a conversation."""

CONTEXT_FIELD = "context"
"""The field of a document's metadata with a line on what it is, by which each of its passages is found."""


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A turn of a transcript, a page or section of a document. ``position`` is its number there, by which it is known
    again; ``locator`` its place for people; ``thinking``: reasoning of an agent."""

    position: int
    text: str
    heading: str | None = None
    locator: str | None = None
    author: str | None = None
    role: str | None = None
    at: str | None = None
    thinking: bool = False


@dataclass(frozen=True, slots=True)
class DocumentFields:
    """What is known of a document besides its parts. ``author``: of parts that name none."""

    kind: DocumentKind
    format: str
    title: str
    created_at: str
    modified_at: str
    external_id: str | None = None
    uri: str | None = None
    workspace: str = GLOBAL
    collection: str | None = None
    thread: str | None = None
    author: str | None = None
    visibility: Literal["shared", "private"] = "shared"
    mime: str | None = None
    source_hash: str | None = None  # SHA-256 of the bytes it was read from
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """A document as stored. ``hash`` changes with whatever is searched of it."""

    seq: int
    id: str
    stored_by: str
    hash: str
    fields: DocumentFields


FIELD_COLUMNS = (
    "kind", "format", "title", "created_at", "modified_at", "external_id", "uri", "workspace", "collection", "thread",
    "author", "visibility", "mime", "source_hash", "metadata",
)  # fmt: skip
"""The columns of ``DocumentFields``, in its order."""

COLUMNS = ", ".join(f"d.{name}" for name in ("seq", "id", "stored_by", "hash", *FIELD_COLUMNS))
"""The columns of ``Document`` from alias ``d``."""

COLUMN_COUNT = 4 + len(FIELD_COLUMNS)

PART_FIELDS = ("position", "text", "heading", "locator", "author", "role", "at", "thinking")
PART_COLUMNS = ", ".join(f"q.{name}" for name in PART_FIELDS)
"""The columns of ``DocumentPart``, in its order, from alias ``q``."""


FILE_FIELD = "file"
"""The field of metadata with the name of the file a document was read from, where its title is another."""


def file_name(fields: DocumentFields) -> str | None:
    """The name of the file a document was read from, without folders; None for what was no file."""
    name = fields.metadata.get(FILE_FIELD) or fields.uri
    return str(name).rstrip("/").rpartition("/")[2] or None if name else None


def from_row(row: Sequence[Any]) -> Document:
    """From a row that starts with ``COLUMNS``. Raises ``VaultQuarantined`` for one that was damaged."""
    seq, document_id, stored_by, digest, *values = row[:COLUMN_COUNT]
    given = dict(zip(FIELD_COLUMNS, values, strict=True))
    try:
        fields = DocumentFields(**{**given, "metadata": json.loads(given["metadata"])})
    except ValueError:  # it was stored as JSON
        raise damaged_error() from None
    return Document(int(seq), document_id, stored_by, digest, fields)


def to_columns(fields: DocumentFields) -> dict[str, Any]:
    """The values of ``FIELD_COLUMNS``."""
    values = {name: getattr(fields, name) for name in FIELD_COLUMNS}
    return values | {"metadata": json.dumps(fields.metadata, ensure_ascii=False)}


def part_from_row(row: Sequence[Any]) -> DocumentPart:
    """From the values of ``PART_COLUMNS``."""
    position, text, heading, locator, author, role, at, thinking = row
    return DocumentPart(
        position=position,
        text=text,
        heading=heading,
        locator=locator,
        author=author,
        role=role,
        at=at,
        thinking=bool(thinking),
    )


def context_of(fields: DocumentFields) -> str | None:
    """The line on what a document is, if it has one."""
    context = fields.metadata.get(CONTEXT_FIELD)
    return context if isinstance(context, str) else None


def hash_document(fields: DocumentFields, parts: Sequence[DocumentPart]) -> str:
    """A digest of all that is searched of a document."""
    return hash_parts(hashed_fields(fields), [[getattr(part, name) for name in PART_FIELDS] for part in parts])


def hashed_fields(fields: DocumentFields) -> list[str | None]:
    """What of a document's fields its digest is made of."""
    about = [fields.kind, fields.title, fields.author, fields.uri]
    return about + ([context] if (context := context_of(fields)) else [])
