"""From what a parser made of a file to a stored document: new, as it was, changed, or known already as another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Reader, Writer
from vaults.domain.actors import GLOBAL, Actor, workspace_key
from vaults.domain.documents import indexing, storage
from vaults.domain.documents.document_model import (
    CONTEXT_FIELD,
    FILE_FIELD,
    Document,
    DocumentFields,
    DocumentKind,
    DocumentPart,
)
from vaults.domain.documents.storage import PreparedDocument
from vaults.domain.memories.quotas import UNLIMITED, Quota
from vaults.domain.secrets import redaction
from vaults.domain.text.titles import derive_title
from vaults.formats.parsed_document import ParsedDocument, ParsedPart
from vaults.vault import Vault

MAX_CHARACTERS = 4_000_000
"""Characters of one document that are stored: it is written in one transaction, and the writer is shared by all who
store in the vault. This is a book of 1,500 pages."""

MAX_TITLE = MAX_HEADING = 500
MAX_NAME = 200
MAX_PART = 1_000_000
MAX_METADATA = 10_000
"""Characters of a title or heading, of a name or place, of one part, and of metadata as JSON: what a line of an export
has room for."""

IntakeStatus = Literal["new", "unchanged", "updated", "duplicate"]


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """Where a document is from, and what whoever brings it says of it. ``name``: of the file, for people;
    ``external_id``: what it is known by when it comes again, else its ``uri``; ``title``: in place of its own;
    ``context``: a line on what it is, by which each of its passages is found; ``modified_at``: of the file, where it
    does not say itself; ``source_hash``: SHA-256 of its bytes; ``metadata``: beside the file's own."""

    name: str
    uri: str | None = None
    external_id: str | None = None
    workspace: str = GLOBAL
    collection: str | None = None
    thread: str | None = None
    title: str | None = None
    context: str | None = None
    kind: DocumentKind = "document"
    source_hash: str | None = None
    modified_at: str | None = None
    visibility: Literal["shared", "private"] = "shared"
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str | None:
        """What the document is known by when it comes again."""
        return _to_key(self.external_id or self.uri)

    def differs_from(self, known: DocumentFields) -> bool:
        """Whether something else is said here of a document than is stored of it, or its bytes are others."""
        same_names = ("source_hash", "uri", "collection", "thread", "visibility", "kind")
        metadata = self.metadata | {CONTEXT_FIELD: self.context}
        return (
            any(getattr(self, name) != getattr(known, name) for name in same_names)
            or workspace_key(self.workspace) != known.workspace
            or (self.title is not None and self.title[:MAX_TITLE] != known.title)
            or any(known.metadata.get(name) != value for name, value in metadata.items())
        )


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """What became of a document. ``duplicate``: ``id`` is that of another with the same bytes, and nothing was stored;
    ``pending``: passages wait for their vectors; ``warnings``: what was left out or taken out, and why."""

    id: str
    status: IntakeStatus
    title: str
    format: str
    parts: int
    passages: int
    pending: bool = False
    warnings: tuple[str, ...] = ()
    seq: int = 0


def hash_bytes(data: bytes) -> str:
    """The digest by which the same file is known again."""
    return hashlib.sha256(data).hexdigest()


def to_document(parsed: ParsedDocument, source: DocumentSource) -> tuple[DocumentFields, tuple[DocumentPart, ...]]:
    """A parsed file as a document and its parts. Pure."""
    pieces = [(part, text) for part in parsed.parts for text in _split(_clean(part.text))]
    parts = tuple(_to_part(position, part, text) for position, (part, text) in enumerate(pieces))
    created = parsed.created_at or parsed.modified_at or source.modified_at or clock.now()
    title = source.title or _clean(parsed.title or "").strip() or _name_title(source.name)
    own = {name: value for name, value in parsed.metadata.items() if name != CONTEXT_FIELD}
    said = source.metadata | ({CONTEXT_FIELD: source.context} if source.context else {})
    if (name := _clean(_name_title(source.name))) not in ("", title):
        said[FILE_FIELD] = name[:MAX_TITLE]
    fields = DocumentFields(
        kind=source.kind,
        format=parsed.format,
        title=(title or derive_title(parts[0].text if parts else "") or parsed.format)[:MAX_TITLE],
        created_at=created,
        modified_at=parsed.modified_at or source.modified_at or created,
        external_id=source.key,
        uri=source.uri,
        workspace=workspace_key(source.workspace),
        collection=source.collection,
        thread=source.thread,
        author=_clean_name(parsed.author, MAX_NAME),
        visibility=source.visibility,
        mime=parsed.mime,
        source_hash=source.source_hash,
        metadata=_fit_metadata(said, own),
    )
    return fields, parts


def _split(text: str) -> list[str]:
    """A part's text, in pieces that are stored as parts of their own where it is very long; none of a blank one."""
    pieces = (text[start : start + MAX_PART] for start in range(0, len(text), MAX_PART))
    return [piece for piece in pieces if piece.strip()]


def _to_part(position: int, part: ParsedPart, text: str) -> DocumentPart:
    return DocumentPart(
        position,
        text,
        heading=_clean_name(part.heading, MAX_HEADING),
        locator=_clean_name(part.locator, MAX_NAME),
        author=_clean_name(part.author, MAX_NAME),
        at=part.at,
    )


def _fit_metadata(said: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """What is said of a document, and as many of its own fields as there is room for."""
    kept = dict(said)
    # Through JSON: a parser that hostile bytes misled may say what no database stores, such as half a character.
    plain = json.loads(_clean(json.dumps(own, ensure_ascii=False, default=str)), parse_constant=lambda _: None)
    for name, value in plain.items():
        more = {**kept, name: value} if name not in said else kept
        if len(json.dumps(more, ensure_ascii=False, default=str).encode("utf-8", "replace")) <= MAX_METADATA:
            kept = more
    return kept


def _clean_name(text: str | None, most: int) -> str | None:
    """A name, heading or place that can be stored; None for a blank one."""
    return _clean(text or "").strip()[:most].strip() or None


def _clean(text: str) -> str:
    """What can be stored of a text: no NUL, which ends strings in too many readers, and no half of a character."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()


def _name_title(name: str) -> str:
    """A file's name, without the folders it lies in."""
    return name.rstrip("/").rpartition("/")[2]


def _to_key(name: str | None) -> str | None:
    """An external id that is short and gives no secret away: an address may hold one, and an id cannot do without a
    part of it."""
    if name is None or (len(name) <= MAX_NAME and not redaction.find_secrets(name)):
        return name
    return f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"


async def find_stored(vault: Vault, actor: Actor, source: DocumentSource) -> StoredDocument | None:
    """What the vault has of a file already, before it is parsed: the document itself where neither its bytes nor what
    is said of it changed, or another with the same bytes. None: it has to be read."""

    def look(tx: Reader) -> StoredDocument | None:
        known = find_known(tx, actor, source.key)
        if known is None:
            twin = _find_twin(tx, actor, _Likeness.of(source))
            return None if twin is None else describe_stored(tx, twin, "duplicate")
        return None if source.differs_from(known.fields) else describe_stored(tx, known, "unchanged")

    return None if source.source_hash is None else await vault.db.read(look)


async def store_document(
    vault: Vault,
    actor: Actor,
    fields: DocumentFields,
    parts: Sequence[DocumentPart],
    quota: Quota = UNLIMITED,
) -> StoredDocument:
    """Store a document, found by its words when this returns; its vectors are queued. Secrets are taken out of it.
    Nothing is stored of one that is unchanged, nor of one whose bytes are known from another document of the same
    workspace and collection. Raises ``QuotaExceeded``, ``StorageFull`` and ``InvalidArgument`` for a secret in the name
    of a thread."""
    vault.disk.check_writable_in_bulk()
    await vault.adopt_model()
    ready = await run_in(vault.shared.pool, _prepare, vault, fields, parts)
    stored = await vault.db.write(lambda tx: _store(vault, tx, actor, ready, quota))
    if stored.pending:
        vault.start_background_work()
    return stored


@dataclass(frozen=True, slots=True)
class _ReadyIntake:
    """A document without secrets, cut into passages."""

    prepared: PreparedDocument
    warnings: tuple[str, ...]


def prepare_document(
    vault: Vault, fields: DocumentFields, parts: Sequence[DocumentPart]
) -> tuple[PreparedDocument, tuple[str, ...]]:
    """A document without secrets, cut into passages, and what was left out or taken out of it. For the thread pool."""
    ready = _prepare(vault, fields, parts)
    return ready.prepared, ready.warnings


def _prepare(vault: Vault, fields: DocumentFields, parts: Sequence[DocumentPart]) -> _ReadyIntake:
    kept, warnings = _cut(parts)
    # Whoever wrote a document cannot leave a secret out of it: it is stored without, where memories are refused.
    hygiene = vault.shared.hygiene
    hygiene = hygiene.model_copy(update={"secrets": "redact"}) if hygiene.secrets == "refuse" else hygiene
    about = {name: getattr(fields, name) for name in _TEXTS}
    texts = [[getattr(part, name) for name in _PART_TEXTS] for part in kept]
    guarded = redaction.refuse_or_redact({**about, "parts": texts}, hygiene)
    if guarded.warnings:
        *values, clean = guarded.fields.values()
        fields = replace(fields, **dict(zip(_TEXTS, values, strict=True)))
        kept = [
            replace(part, **dict(zip(_PART_TEXTS, each, strict=True))) for part, each in zip(kept, clean, strict=True)
        ]
        warnings += [_describe_secrets(guarded.warnings)]
    return _ReadyIntake(storage.prepare(vault, fields, kept), tuple(warnings))


_TEXTS = ("title", "uri", "thread", "author", "metadata")
_PART_TEXTS = ("text", "heading", "locator", "author")


def _describe_secrets(warnings: Sequence[str]) -> str:
    first = warnings[0].partition("taken out: ")[2].partition(" (line")[0]
    more = f", and {len(warnings) - 1} more" if len(warnings) > 1 else ""
    return f"taken out, since it looks like a secret: {first}{more}"


def _cut(parts: Sequence[DocumentPart]) -> tuple[list[DocumentPart], list[str]]:
    """The parts up to the bound of one document."""
    kept, room = list[DocumentPart](), MAX_CHARACTERS
    for part in parts:
        if len(part.text) > room:
            where = f" ({part.locator})" if part.locator else ""
            kept += [replace(part, text=part.text[:room])] if room else []
            return kept, [f"only the first {MAX_CHARACTERS:,} characters were stored{where}: split the file for more"]
        kept.append(part)
        room -= len(part.text)
    return kept, []


def _store(vault: Vault, tx: Writer, actor: Actor, ready: _ReadyIntake, quota: Quota) -> StoredDocument:
    prepared = ready.prepared
    known = find_known(tx, actor, prepared.fields.external_id)
    if known is None:
        twin = _find_twin(tx, actor, _Likeness.of(prepared.fields))
        if twin is not None:
            return describe_stored(tx, twin, "duplicate", ready.warnings)
        quota.room(tx, 0)
        return describe_stored(tx, storage.insert(vault, tx, actor, prepared), "new", ready.warnings)
    prepared = prepared.with_fields(_keep_times(known.fields, prepared.fields))
    if known.hash == prepared.hash and known.fields == prepared.fields:
        return describe_stored(tx, known, "unchanged", ready.warnings)
    quota.room(tx, 0)
    storage.replace_whole(vault, tx, known, prepared)
    return describe_stored(tx, indexing.read_document(tx, known.seq), "updated", ready.warnings)


def _keep_times(known: DocumentFields, fields: DocumentFields) -> DocumentFields:
    """A document that came again is as old as it was, and only new bytes make it newer."""
    same = known.source_hash is not None and known.source_hash == fields.source_hash
    return replace(
        fields,
        created_at=min(known.created_at, fields.created_at),
        modified_at=known.modified_at if same else fields.modified_at,
    )


def find_known(tx: Reader, actor: Actor, key: str | None) -> Document | None:
    """The actor's document of this external id."""
    if key is None:
        return None
    seq = tx.value(
        "SELECT seq FROM documents WHERE external_id = :key AND stored_by = :owner",
        {"key": key, "owner": actor.identity},
    )
    return None if seq is None else indexing.read_document(tx, int(seq))


@dataclass(frozen=True, slots=True)
class _Likeness:
    """What two documents share of which one is enough. Both are of one collection: who searches in it must find its
    files there, and removing it must not take away what somebody stored besides."""

    source_hash: str | None
    workspace: str
    collection: str | None
    visibility: str
    kind: str

    @classmethod
    def of(cls, about: DocumentFields | DocumentSource) -> _Likeness:
        key = workspace_key(about.workspace)
        return cls(about.source_hash, key, about.collection, about.visibility, about.kind)


def _find_twin(tx: Reader, actor: Actor, like: _Likeness) -> Document | None:
    """A document made of the same bytes that the actor may see."""
    if like.source_hash is None:
        return None
    seq = tx.value(
        "SELECT seq FROM documents WHERE source_hash = :hash AND workspace = :workspace AND collection IS :collection"
        " AND visibility = :visibility AND kind = :kind AND (visibility = 'shared' OR stored_by = :viewer)"
        " ORDER BY seq LIMIT 1",
        {
            "hash": like.source_hash,
            "workspace": like.workspace,
            "collection": like.collection,
            "visibility": like.visibility,
            "kind": like.kind,
            "viewer": actor.identity,
        },
    )
    return None if seq is None else indexing.read_document(tx, int(seq))


def describe_stored(
    tx: Reader, document: Document, status: IntakeStatus, warnings: Sequence[str] = ()
) -> StoredDocument:
    parts, passages, pending = tx.one(_COUNTS, {"seq": document.seq, "sequence": indexing.sequence_of(document)}) or ()
    return StoredDocument(
        id=document.id,
        status=status,
        title=document.fields.title,
        format=document.fields.format,
        parts=int(parts),
        passages=int(passages),
        pending=bool(pending),
        warnings=tuple(warnings),
        seq=document.seq,
    )


_COUNTS = (
    "SELECT (SELECT COUNT(*) FROM document_parts WHERE document = :seq),"
    " (SELECT COUNT(*) FROM passages WHERE sequence = :sequence),"
    " EXISTS (SELECT 1 FROM passages p JOIN embedding_queue q ON q.passage = p.seq WHERE p.sequence = :sequence)"
)
