"""Files, pages and texts, read into documents; these listed and removed."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal
from urllib.parse import unquote, urlsplit

from pydantic import Field, model_validator

from auth.roles import Role
from server.allowance import StoreQuota, store_quota
from server.call import Call
from server.tool_spec import EDITS, LOOKS, Action, MaxTokens, tool
from server.tools import _documents
from server.tools._documents import DocumentList, DocumentListing, DocumentSummary, RemovedDocuments
from vaults.activity_log.entries import ActivityEntry
from vaults.context import run_in
from vaults.domain.actors import GLOBAL, workspace_key
from vaults.domain.documents.file_intake import (
    FolderRequest,
    FolderTally,
    GivenFile,
    IntakeRefused,
    RejectedFile,
    take_in,
    take_in_folder,
    take_in_place,
    take_in_text,
)
from vaults.domain.documents.intake import DocumentSource, StoredDocument
from vaults.domain.documents.page_intake import take_in_page
from vaults.domain.documents.reading import DocumentFilter
from vaults.domain.paging import token_budget
from vaults.domain.text.fields import Label, Text
from vaults.domain.text.plurals import pluralize
from vaults.errors import InvalidArgument, TooLarge
from vaults.files.folder_files import FolderPlace, is_folder, locate
from vaults.files.paths import is_note

MAX_CONTENT = 1_000_000
"""Characters of a text that is given in a call."""

MAX_DATA = 2**30
"""Characters of base64 in a call, far beyond ``ingest.max_bytes``, which counts."""

PROBLEMS_SHOWN = 20
"""Rejected files that an answer names."""

WEB = ("http", "https")


ADDING = Action(Role.WRITER, summary="store documents")
REMOVING = Action(Role.WRITER, summary="delete documents for good", destroys=True)


class IngestArguments(DocumentListing):
    action: Annotated[Literal["add", "list", "remove"], Field(description="what to do")] = "add"
    content: Annotated[Text | None, Field(max_length=MAX_CONTENT, description="the text itself, read as Markdown")] = (
        None
    )
    data: Annotated[str | None, Field(max_length=MAX_DATA, description="bytes of a file as base64, with name")] = None
    uri: Annotated[
        Text | None,
        Field(
            max_length=2048,
            description="https:// page of a listed host, or file or folder the server may read; with content or data:"
            " where that is from, by which it is known when it comes again",
        ),
    ] = None
    name: Annotated[Text | None, Field(max_length=500, description="file name, which tells the format")] = None
    mime: Annotated[Text | None, Field(max_length=200, description="MIME type, where the name does not tell")] = None
    kind: Annotated[Literal["document", "code"], Field(description="kind to search by")] = "document"
    title: Annotated[Text | None, Field(min_length=1, max_length=500, description="default: its own")] = None
    thread: Annotated[Label | None, Field(description="topic it belongs to")] = None
    collection: Annotated[Label | None, Field(description="name to search by; list: in this one")] = None
    workspace: Annotated[Label | None, Field(description="project it belongs to; list: of this one")] = None
    visibility: Annotated[Literal["shared", "private"], Field(description="private: found by you alone")] = "shared"
    cursor: Annotated[Text | None, Field(max_length=2048, description="folder or list: from the answer before")] = None
    max_tokens: MaxTokens = 4_000

    @model_validator(mode="after")
    def _one_source(self) -> IngestArguments:
        if self.action != "add":
            return self
        if self.content is not None and self.data is not None:
            raise ValueError("must have one of content and data, not both")
        if self.content is None and self.data is None and not self.uri:
            raise ValueError("must have content, data or uri")
        if self.data is not None and not self.name:
            raise ValueError("must have a name with data: it tells the format")
        return self


@dataclass(frozen=True, slots=True)
class IngestResult:
    """What was stored and what was not. ``counts``: files by what became of them; ``unsupported`` are of formats that
    are not read. ``embedding`` pending: found by words now, by meaning soon. ``cursor``: the folder has more files."""

    documents: list[DocumentSummary]
    counts: dict[str, int]
    embedding: Literal["ready", "pending"] = "ready"
    rejected: list[RejectedFile] = field(default_factory=list)
    cursor: str | None = None
    left: int = 0
    truncated: bool = False
    warnings: list[str] = field(default_factory=list)


IngestAnswer = Annotated[
    IngestResult | DocumentList | RemovedDocuments,
    "What became of files, the documents there are, or the removed ones.",
]


def _head(found: IngestResult | DocumentList | RemovedDocuments) -> str:
    match found:
        case IngestResult():
            return _describe(found)
        case DocumentList():
            return (
                f"{len(found.documents)} of {pluralize(found.total, 'document')}." if found.total else "No documents."
            )
        case RemovedDocuments():
            return f"Removed {pluralize(len(found.removed), 'document')}."


def _describe(found: IngestResult) -> str:
    said = ", ".join(f"{count} {status}" for status, count in found.counts.items()) or "nothing to read"
    vectors = " Vectors are still to come." if found.embedding == "pending" else ""
    more = f" {pluralize(found.left, 'file')} left: call again with the cursor." if found.cursor else ""
    return f"Documents: {said}.{vectors}{more}"


def _activity_entry(_: IngestArguments, found: object) -> ActivityEntry | None:
    if isinstance(found, RemovedDocuments):
        return ActivityEntry("import", None, f"removed {pluralize(len(found.removed), 'document')}")
    if not isinstance(found, IngestResult):
        return None
    stored = found.counts.get("new", 0) + found.counts.get("updated", 0)
    if not stored:
        return None
    only = found.documents[0].id if stored == 1 and found.documents else None
    return ActivityEntry("import", only, f"read in {pluralize(stored, 'document')}")


@tool(
    role=Role.WRITER,
    head=_head,
    effect=EDITS,
    preset="full",
    actions={"add": ADDING, "list": LOOKS, "remove": REMOVING},
    activity_entry=_activity_entry,
)
async def ingest(call: Call, args: IngestArguments) -> IngestAnswer:
    """Store a document: a text, a file or folder, bytes, or a page; list what was stored, or remove yours. Use it for
    contracts, manuals and pages that search should find and quote with their place. What is known is left alone."""
    match args.action:
        case "add":
            return await _add(call, args)
        case "list":
            return await _documents.list_page(call, args, _to_filter(args))
        case "remove":
            return await _documents.remove(call, args)


def _to_filter(args: IngestArguments) -> DocumentFilter:
    return DocumentFilter(
        kinds=("document", "code") if args.listed == "any" else (args.listed,),
        collection=args.collection,
        workspace=workspace_key(args.workspace) if args.workspace else None,
        words=args.words,
        before=args.cursor,
    )


async def _add(call: Call, args: IngestArguments) -> IngestResult:
    tally = FolderTally()
    try:
        if args.uri and args.content is None and args.data is None and _scheme(args.uri) not in WEB:
            return await _to_result(call, args, await _ingest_place(call, args, store_quota(call)))
        tally.add(await _ingest_one(call, args, store_quota(call)))
    except IntakeRefused as refused:
        name = args.name or args.uri or "content"
        tally.rejected.append(RejectedFile(name, refused.problem, refused.message))
    return await _to_result(call, args, tally)


async def _ingest_one(call: Call, args: IngestArguments, quota: StoreQuota) -> StoredDocument:
    """A text, bytes or a page."""
    source = _to_source(call, args)
    if args.content is not None:
        return await take_in_text(call.vault, call.actor, args.content, source, quota)
    if args.data is not None:
        data = await run_in(call.vault.shared.pool, _decode, args.data, call.vault.shared.ingest.max_bytes)
        return await take_in(call.vault, call.actor, GivenFile(data, source, args.mime), quota)
    return await take_in_page(call.vault, call.actor, source, quota)


async def _ingest_place(call: Call, args: IngestArguments, quota: StoreQuota) -> FolderTally:
    """A file or folder that this server may read."""
    place, is_own = _locate(call, args.uri or "")
    source, vault = _to_source(call, args), call.vault
    if await run_in(vault.shared.pool, is_folder, place):
        if args.title is not None:
            raise InvalidArgument("title", "names one document, and this is a folder")
        skips = is_note if is_own else None
        request = FolderRequest(place, source, args.cursor, skips)
        return await take_in_folder(vault, call.actor, request, quota)
    tally = FolderTally()
    try:
        tally.add(await take_in_place(vault, call.actor, place, source, quota))
    except IntakeRefused as refused:
        tally.rejected.append(RejectedFile(place.path, refused.problem, refused.message))
    return tally


def _locate(call: Call, uri: str) -> tuple[FolderPlace, bool]:
    """Where a file or folder is, and whether that is below the vault's own folder, served in place to one person.
    Raises ``InvalidArgument`` for what is nowhere the operator allows."""
    roots = [each for each in map(Path, call.vault.shared.ingest.roots) if not _holds(each, call.services.data)]
    own = call.vault.entry.path if call.caller.transport != "http" else None
    path = _to_path(uri)
    if own is not None:
        roots.append(own)
        if not PurePosixPath(path).is_absolute():
            path = str(own / path)
    place = locate(path, roots)
    return place, place.root == own


def _holds(root: Path, data: Path) -> bool:
    """Whether a folder holds the server's own files, its keys among them, or is among these. An operator who lists one
    did not mean that."""
    where, kept = root.resolve(), data.resolve()
    return where.is_relative_to(kept) or kept.is_relative_to(where)


def _to_path(uri: str) -> str:
    scheme = _scheme(uri)
    if scheme == "file":
        parts = urlsplit(uri)
        if parts.netloc not in ("", "localhost"):
            raise InvalidArgument("uri", "is a file of another machine")
        return unquote(parts.path)
    if scheme and "://" in uri:
        raise InvalidArgument("uri", "must begin with https://, http:// or file://, or be a path")
    return uri


def _scheme(uri: str) -> str:
    return uri.partition(":")[0].lower() if ":" in uri[:12] else ""


def _to_source(call: Call, args: IngestArguments) -> DocumentSource:
    return DocumentSource(
        name=args.name or "",
        uri=args.uri,
        workspace=args.workspace or call.actor.workspace or GLOBAL,
        collection=args.collection,
        thread=args.thread,
        title=args.title,
        kind=args.kind,
        visibility=args.visibility,
    )


def _decode(data: str, most: int) -> bytes:
    """The bytes behind base64. Raises ``TooLarge`` before they are made."""
    if len(data) * 3 // 4 > most + 2:
        raise TooLarge(f"the file has more than {most:,} bytes (setting ingest.max_bytes)", limit_bytes=most)
    try:
        decoded = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidArgument("data", "must be base64") from None
    if not decoded:
        raise InvalidArgument("data", "must not be empty")
    return decoded


async def _to_result(call: Call, args: IngestArguments, tally: FolderTally) -> IngestResult:
    counts = dict(tally.counts) | ({"rejected": len(tally.rejected)} if tally.rejected else {})
    rows = [_to_row(each) for each in _by_interest(tally.documents)]
    shown = await token_budget.fit_rows(call.vault, rows, args.max_tokens // 2)
    warnings = [f"{pluralize(tally.passed_over, 'link')} or unreadable folders passed over"] * bool(tally.passed_over)
    if len(tally.rejected) > PROBLEMS_SHOWN:
        warnings.append(f"these are the first {PROBLEMS_SHOWN} of {len(tally.rejected)} that were rejected")
    return IngestResult(
        documents=shown,
        counts=counts,
        embedding="pending" if any(each.pending for each in tally.documents) else "ready",
        rejected=tally.rejected[:PROBLEMS_SHOWN],
        cursor=tally.after if tally.left else None,
        left=tally.left,
        truncated=len(shown) < len(rows),
        warnings=warnings,
    )


def _by_interest(documents: Sequence[StoredDocument]) -> list[StoredDocument]:
    """What is new first: in a long list the rest need not be named."""
    return sorted(documents, key=lambda each: ("new", "updated", "duplicate", "unchanged").index(each.status))


def _to_row(stored: StoredDocument) -> DocumentSummary:
    return DocumentSummary(
        id=stored.id,
        title=stored.title,
        status=stored.status,
        format=stored.format,
        parts=stored.parts,
        passages=stored.passages,
        warnings=list(stored.warnings),
    )
