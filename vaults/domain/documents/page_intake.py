"""From a page of a listed host to a stored document, which is read again when it is due."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.domain.actors import Actor
from vaults.domain.documents import indexing, storage
from vaults.domain.documents.document_model import Document, context_of
from vaults.domain.documents.file_intake import GivenFile, IntakeRefused, take_in
from vaults.domain.documents.intake import DocumentSource, StoredDocument, describe_stored, find_known
from vaults.domain.memories.quotas import UNLIMITED, Quota
from vaults.durations import parse_duration
from vaults.errors import StrongroomError
from vaults.listed_hosts import WebRefused, parse_address
from vaults.vault import BackgroundJob, Vault
from vaults.web.page_fetch import PageFailed, PageVersion

FETCHED, ETAG, LAST_MODIFIED, PROBLEM = "fetched_at", "etag", "last_modified", "reread_problem"
"""Fields of a page's metadata: when it was asked for last, the site's own names of its version, and why it was not read
again."""

PAGES_AT_ONCE = 50
"""Pages read again in one go."""

IDLE_S = 3600
"""Seconds until pages are looked for again where none is due."""

_MARK = "reread"
"""In ``vault_info``: when pages are due next."""


async def take_in_page(vault: Vault, actor: Actor, source: DocumentSource, quota: Quota = UNLIMITED) -> StoredDocument:
    """Store the page at ``source.uri``. A site that knows the page by its version need not send it again. Raises
    ``IntakeRefused`` and what ``store_document`` raises."""
    vault.disk.check_writable_in_bulk()
    source = replace(source, uri=_normalize(source.uri or ""))
    known = await vault.db.read(lambda tx: find_known(tx, actor, source.key))
    if vault.shared.web is None:
        raise IntakeRefused("refused", "no host is listed from which pages may be read (setting ingest.hosts)")
    try:
        page = await vault.shared.web.fetch(source.uri or "", _version(known, source))
    except PageFailed as failure:
        raise IntakeRefused(failure.problem, f"{source.uri} {failure.message}") from None
    if page.data is None and known is not None:
        await _record_visit(vault, known.id, page.version)
        return await vault.db.read(lambda tx: describe_stored(tx, known, "unchanged"))
    source = replace(source, name=source.name or page.name)
    stored = await take_in(vault, actor, GivenFile(page.data or b"", source, page.mime), quota)
    if stored.status != "duplicate":
        await _record_visit(vault, stored.id, page.version)
    return stored


def _normalize(uri: str) -> str:
    """An address in one form, so that a page is known again however it is written."""
    try:
        return parse_address(uri).url
    except WebRefused as reason:
        raise IntakeRefused("refused", f"{uri[:200]} {reason}") from None


def _version(known: Document | None, source: DocumentSource) -> PageVersion:
    """The version the vault has; none where something else is said of the page now, since then it is stored anew."""
    if known is None or replace(source, source_hash=known.fields.source_hash).differs_from(known.fields):
        return PageVersion()
    return PageVersion(known.fields.metadata.get(ETAG), known.fields.metadata.get(LAST_MODIFIED))


async def _record_visit(vault: Vault, document_id: str, version: PageVersion, problem: str | None = None) -> None:
    every = vault.shared.ingest.reread

    def write(tx: Writer) -> None:
        row = tx.one("SELECT seq FROM documents WHERE id = :id", {"id": document_id})
        if row is None:  # removed meanwhile
            return
        seen: dict[str, Any] = {ETAG: version.etag, LAST_MODIFIED: version.last_modified, PROBLEM: problem}
        storage.merge_metadata(tx, indexing.read_document(tx, int(row[0])), {**seen, FETCHED: clock.now()})
        if every is not None:
            _set_due(tx, _after(parse_duration(every)), earliest=True)

    await vault.db.write(write)


def is_reread_due(tx: Reader) -> bool:
    """Whether there are pages, and it is time to look which of them are due."""
    due = tx.value("SELECT value FROM vault_info WHERE key = :mark", {"mark": _MARK})
    if due is not None and str(due) > clock.now():
        return False
    known = "SELECT 1 FROM item_fields WHERE kind = :kind AND field = :field LIMIT 1"
    return tx.one(known, {"kind": indexing.FACETS, "field": FETCHED}) is not None


async def reread_pages(vault: Vault) -> None:
    """Read the pages again whose age is that of ``ingest.reread``. One that cannot be read stays as it was."""
    every = vault.shared.ingest.reread
    if every is None or vault.shared.web is None:
        await vault.db.write(lambda tx: _set_due(tx, _after(IDLE_S)))
        return
    before = _after(-parse_duration(every))
    due = await vault.db.read(lambda tx: _find_due(tx, before))
    for document in due:
        await _reread(vault, document)
    # Where none was due, those read next: within the hour, or when the next of them has reached its age.
    wait = 0 if len(due) == PAGES_AT_ONCE else min(IDLE_S, parse_duration(every))
    await vault.db.write(lambda tx: _set_due(tx, _after(wait)))


REREAD = BackgroundJob("reread_pages", is_reread_due, reread_pages)


async def _reread(vault: Vault, document: Document) -> None:
    fields = document.fields
    source = DocumentSource(
        name="",
        uri=fields.uri,
        external_id=fields.external_id,
        workspace=fields.workspace,
        collection=fields.collection,
        thread=fields.thread,
        title=fields.title,
        context=context_of(fields),
        kind=fields.kind,
        visibility=fields.visibility,
    )
    known = PageVersion(fields.metadata.get(ETAG), fields.metadata.get(LAST_MODIFIED))
    try:
        await take_in_page(vault, Actor(document.stored_by, document.stored_by), source)
    except IntakeRefused as refused:
        await _record_visit(vault, document.id, known, refused.message)
    except StrongroomError as failure:
        await _record_visit(vault, document.id, known, failure.message)
        raise


def _find_due(tx: Reader, before: str) -> list[Document]:
    rows = tx.all(
        "SELECT d.seq FROM documents d JOIN item_fields f ON f.item = d.seq AND f.kind = :kind AND f.field = :field"
        " WHERE json_extract(d.metadata, :path) <= :before ORDER BY json_extract(d.metadata, :path) LIMIT :limit",
        {"kind": indexing.FACETS, "field": FETCHED, "path": f"$.{FETCHED}", "before": before, "limit": PAGES_AT_ONCE},
    )
    return [indexing.read_document(tx, int(seq)) for (seq,) in rows]


def _set_due(tx: Writer, at: str, *, earliest: bool = False) -> None:
    value = "MIN(value, excluded.value)" if earliest else "excluded.value"
    tx.run(
        f"INSERT INTO vault_info (key, value) VALUES (:mark, :at) ON CONFLICT (key) DO UPDATE SET value = {value}",
        {"mark": _MARK, "at": at},
    )


def _after(seconds: float) -> str:
    return clock.to_text(datetime.fromisoformat(clock.now()) + timedelta(seconds=seconds))
