"""Stores lines that are documents, whole or continued, and reads documents as lines again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.domain.actors import GLOBAL, Actor, workspace_key
from vaults.domain.documents import indexing, storage
from vaults.domain.documents.document_model import TRANSCRIPT, Document, DocumentFields, DocumentPart
from vaults.domain.documents.storage import PreparedDocument
from vaults.domain.import_export.lines import DocumentLine, PartLine, to_line
from vaults.domain.secrets import redaction
from vaults.domain.text.titles import derive_title
from vaults.vault import Vault

PAGE = 20
"""Documents exported at a time."""

LINE_BYTES = 512 * 1024
"""Bytes of parts from which an exported document goes on in another line."""

_COPIED = ("format", "uri", "collection", "thread", "author", "visibility", "mime", "source_hash")
_NAMED = ("agent", "parent")  # kept, and exported, as metadata
_PART = ("text", "heading", "locator", "author", "role", "at")


@dataclass(frozen=True, slots=True)
class ReadyDocument:
    """A document line ready to be written, cut into passages."""

    line: DocumentLine
    prepared: PreparedDocument


def prepare(vault: Vault, actor: Actor, line: DocumentLine) -> ReadyDocument:
    """Fill in defaults, take secrets out and cut the passages. Raises ``LineRejected``, and ``InvalidArgument`` for a
    secret in an id."""
    # Whoever wrote a transcript down cannot leave a secret out of it: it is stored without, where memories are refused.
    hygiene = vault.shared.hygiene
    hygiene = hygiene.model_copy(update={"secrets": "redact"}) if hygiene.secrets == "refuse" else hygiene
    guarded = redaction.refuse_or_redact(line.model_dump(), hygiene)
    if guarded.warnings:
        _, clean = to_line({**guarded.fields, "kind": "document"})
        assert isinstance(clean, DocumentLine)
        line = clean
    parts = [_to_part(number, part) for number, part in enumerate(line.parts) if part.text.strip()]
    return ReadyDocument(line, storage.prepare(vault, _to_fields(actor, line, parts), parts))


def _to_part(number: int, part: PartLine) -> DocumentPart:
    position = number if part.position is None else part.position
    return DocumentPart(position, **{name: getattr(part, name) for name in _PART}, thinking=part.thinking)


def _to_fields(actor: Actor, line: DocumentLine, parts: Sequence[DocumentPart]) -> DocumentFields:
    times = [part.at for part in parts if part.at]
    created = line.created_at or min(times, default=None) or clock.now()
    spoken = next((part.text for part in parts if not part.thinking), "")
    return DocumentFields(
        kind="transcript" if line.format == TRANSCRIPT else "document",
        title=line.title or derive_title(spoken) or line.external_id,
        created_at=created,
        modified_at=line.modified_at or max(times, default=created),
        external_id=line.external_id,
        workspace=workspace_key(line.workspace or actor.workspace or GLOBAL),
        metadata={name: value for name in _NAMED if (value := getattr(line, name))} | line.metadata,
        **{name: getattr(line, name) for name in _COPIED},
    )


def find_known(tx: Reader, actor: Actor, external_id: str) -> Document | None:
    """The actor's document with this external id, or any with this very id: an export of this vault names it so."""
    seq = tx.value(
        "SELECT seq FROM documents WHERE external_id = :id AND stored_by = :owner OR id = :id",
        {"id": external_id, "owner": actor.identity},
    )
    return None if seq is None else indexing.read_document(tx, int(seq))


def insert(vault: Vault, tx: Writer, actor: Actor, one: ReadyDocument) -> str:
    """Store a new document, its vectors queued; returns its id."""
    return storage.insert(vault, tx, actor, one.prepared).id


def update(vault: Vault, tx: Writer, known: Document, one: ReadyDocument) -> dict[str, Any]:
    """Make a document what its source says now; returns what it was, for ``restore``."""
    before = {"document": _to_line(known, indexing.read_parts(tx, known.seq), known.fields.external_id)}
    storage.replace_whole(vault, tx, known, one.prepared)
    return before


def append(vault: Vault, tx: Writer, known: Document, one: ReadyDocument) -> dict[str, Any] | None:
    """Add the parts that are new; returns what was there before, for ``restore``, or None where none is new."""
    last = tx.value("SELECT MAX(position) FROM document_parts WHERE document = :seq", {"seq": known.seq})
    before = {"last": -1 if last is None else last, "modified_at": known.fields.modified_at}
    return before if storage.append(vault, tx, known, one.prepared.parts) else None


def restore(vault: Vault, tx: Writer, actor: Actor, document_id: str, before: Mapping[str, Any]) -> None:
    """Make a document again what it was before ``update`` or ``append``."""
    known = find_known(tx, actor, document_id)
    assert known is not None  # its state was read in this transaction
    if "last" in before:
        storage.cut_after(vault, tx, known, before["last"], before["modified_at"])
        return
    _, line = to_line(before["document"])
    assert isinstance(line, DocumentLine)
    parts = [_to_part(number, part) for number, part in enumerate(line.parts)]
    fields = replace(_to_fields(actor, line, parts), external_id=known.fields.external_id)
    storage.replace_whole(vault, tx, known, storage.prepare(vault, fields, parts))


def read_state(tx: Reader, document_id: str) -> str:
    """What a document is at; empty for one that is gone."""
    return str(tx.value("SELECT hash FROM documents WHERE id = :id", {"id": document_id}) or "")


def read_page(tx: Reader, after: int) -> tuple[int, list[dict[str, Any]]] | None:
    """The lines of the documents after ``after``, and the ``seq`` of the last one; None at the end."""
    page = indexing.read_page(tx, after, PAGE)
    lines = [line for document in page for line in _to_lines(tx, document)]
    return (page[-1].seq, lines) if page else None


def _to_lines(tx: Reader, document: Document) -> Iterator[dict[str, Any]]:
    """A document as a line and, where it is long, further ones that continue it."""
    external_id = document.fields.external_id
    shared = "SELECT COUNT(*) FROM documents WHERE external_id = :id"
    if external_id is None or int(tx.value(shared, {"id": external_id})) > 1:
        external_id = document.id
    portion: list[DocumentPart] = []
    size, is_first = 0, True
    for part in indexing.read_parts(tx, document.seq):
        if portion and size > LINE_BYTES:
            yield _to_line(document, portion, external_id) if is_first else _to_continuation(portion, external_id)
            portion, size, is_first = [], 0, False
        portion.append(part)
        size += len(part.text.encode())
    yield _to_line(document, portion, external_id) if is_first else _to_continuation(portion, external_id)


def _to_line(document: Document, parts: Sequence[DocumentPart], external_id: str | None) -> dict[str, Any]:
    fields = document.fields
    return {
        "kind": "document",
        "external_id": external_id or document.id,
        "title": fields.title,
        **{name: getattr(fields, name) for name in _COPIED},
        "metadata": fields.metadata,
        "workspace": fields.workspace,
        "created_at": fields.created_at,
        "modified_at": fields.modified_at,
        "parts": _to_part_lines(parts, numbered=[part.position for part in parts] != list(range(len(parts)))),
    }


def _to_continuation(parts: Sequence[DocumentPart], external_id: str) -> dict[str, Any]:
    part_lines = _to_part_lines(parts, numbered=True)
    return {"kind": "document", "external_id": external_id, "append": True, "parts": part_lines}


def _to_part_lines(parts: Sequence[DocumentPart], *, numbered: bool) -> list[dict[str, Any]]:
    return [
        {
            **({"position": part.position} if numbered else {}),
            **{name: value for name in _PART if (value := getattr(part, name)) is not None},
            **({"thinking": True} if part.thinking else {}),
        }
        for part in parts
    ]
