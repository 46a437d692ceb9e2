"""From the outline of a source file to a document, and to the rows of its symbols."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vaults import clock
from vaults.code.code_outline import CodeChunk, CodeOutline
from vaults.context import run_in
from vaults.db.sql import Writer
from vaults.domain.actors import Actor, workspace_key
from vaults.domain.code import code_rows
from vaults.domain.documents import indexing, storage
from vaults.domain.documents.document_model import (
    CONTEXT_FIELD,
    DocumentFields,
    DocumentKind,
    DocumentPart,
)
from vaults.domain.documents.intake import (
    MAX_TITLE,
    DocumentSource,
    StoredDocument,
    describe_stored,
    find_known,
    prepare_document,
)
from vaults.domain.documents.storage import PreparedDocument
from vaults.domain.secrets import redaction
from vaults.index.blocks import SEPARATOR
from vaults.vault import Vault

KIND: DocumentKind = "code"


def to_code_document(outline: CodeOutline, source: DocumentSource) -> tuple[DocumentFields, tuple[DocumentPart, ...]]:
    """A source file as a document of kind ``code``: its parts are its chunks and hold all of its text. Pure."""
    at = source.modified_at or clock.now()
    fields = DocumentFields(
        kind=KIND,
        format=outline.language,
        title=(source.title or source.uri or source.name)[:MAX_TITLE],
        created_at=at,
        modified_at=at,
        external_id=source.key,
        uri=source.uri or source.name,
        workspace=workspace_key(source.workspace),
        collection=source.collection,
        thread=source.thread,
        visibility=source.visibility,
        source_hash=source.source_hash,
        metadata=source.metadata | ({CONTEXT_FIELD: source.context} if source.context else {}),
    )
    return fields, tuple(_to_part(position, chunk) for position, chunk in enumerate(outline.chunks))


def _to_part(position: int, chunk: CodeChunk) -> DocumentPart:
    text = chunk.text.replace("\x00", "").encode("utf-8", "replace").decode()
    heading = chunk.symbol.replace(".", SEPARATOR) or None
    return DocumentPart(position, text, heading, describe_lines(chunk.first_line, chunk.last_line))


def describe_lines(first: int, last: int) -> str:
    """Lines of a file, for people."""
    return f"line {first}" if last <= first else f"lines {first}–{last}"


def store_code(vault: Vault, tx: Writer, document_seq: int, outline: CodeOutline) -> None:
    """Write what a file defines, names and imports, in the transaction that stored its document; what was known of the
    document before is replaced. Secrets are taken out of signatures as they are of the text."""
    path, digest = tx.one("SELECT uri, hash FROM documents WHERE seq = :seq", {"seq": document_seq}) or ("", "")
    code_rows.write_outline(tx, document_seq, path or "", digest, _without_secrets(vault, outline))


def _without_secrets(vault: Vault, outline: CodeOutline) -> CodeOutline:
    hygiene = vault.shared.hygiene
    hygiene = hygiene.model_copy(update={"secrets": "redact"}) if hygiene.secrets == "refuse" else hygiene
    said = {"signatures": [each.signature for each in outline.symbols], "docs": [each.doc for each in outline.symbols]}
    guarded = redaction.refuse_or_redact(said, hygiene)
    if not guarded.warnings:
        return outline
    clean = zip(outline.symbols, guarded.fields["signatures"], guarded.fields["docs"], strict=True)
    return replace(
        outline, symbols=tuple(replace(symbol, signature=signature, doc=doc) for symbol, signature, doc in clean)
    )


async def store_many(
    vault: Vault, actor: Actor, files: Sequence[tuple[CodeOutline, DocumentSource]]
) -> list[StoredDocument]:
    """Store source files, each new or in place of what was stored of it, in one transaction: a file costs a fraction of
    what it does alone. Found by their words and names when this returns; vectors are queued. Raises ``StorageFull``."""
    vault.disk.check_writable_in_bulk()
    await vault.adopt_model()
    ready = await run_in(vault.shared.pool, lambda: [_prepare(vault, *each) for each in files])

    def write(tx: Writer) -> list[StoredDocument]:
        return [
            _store(vault, tx, actor, prepared, outline) for prepared, (outline, _) in zip(ready, files, strict=True)
        ]

    stored = await vault.db.write(write)
    if any(each.pending for each in stored):
        vault.start_background_work()
    return stored


def _prepare(vault: Vault, outline: CodeOutline, source: DocumentSource) -> PreparedDocument:
    fields, parts = to_code_document(outline, source)
    return prepare_document(vault, fields, parts)[0]


def _store(vault: Vault, tx: Writer, actor: Actor, prepared: PreparedDocument, outline: CodeOutline) -> StoredDocument:
    known = find_known(tx, actor, prepared.fields.external_id)
    if known is None:
        document = storage.insert(vault, tx, actor, prepared)
    elif known.hash == prepared.hash and known.fields == prepared.fields:
        return describe_stored(tx, known, "unchanged")
    else:
        storage.replace_whole(vault, tx, known, prepared)
        document = indexing.read_document(tx, known.seq)
    store_code(vault, tx, document.seq, outline)
    return describe_stored(tx, document, "new" if known is None else "updated")
