"""What was read in: listed, and removed. For the tool ``ingest``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from server.call import Call
from server.tool_spec import Arguments
from vaults.domain.documents import reading, storage
from vaults.domain.documents.intake import IntakeStatus
from vaults.domain.documents.reading import DocumentFilter, ListedDocument
from vaults.domain.paging import token_budget
from vaults.domain.text.fields import Label, Text
from vaults.errors import InvalidArgument


class DocumentListing(Arguments):
    """The arguments of listing and removing."""

    listed: Annotated[
        Literal["any", "document", "code", "transcript"], Field(description="list: of this kind; any: but transcripts")
    ] = "any"
    words: Annotated[Text | None, Field(max_length=200, description="list: in the title or address")] = None
    limit: Annotated[int, Field(ge=1, le=200, description="list: documents at most")] = 50
    ids: Annotated[list[Label], Field(max_length=100, description="remove: documents of yours")] = []
    reason: Annotated[Text | None, Field(max_length=500, description="remove: kept in the audit")] = None


@dataclass(frozen=True, slots=True)
class DocumentSummary:
    """One document; ``fetch`` opens it by its id. Added: ``status`` says what became of it (duplicate: ``id`` is that
    of another with the same bytes), ``warnings`` what was left out or taken out. Listed: ``size`` is in characters,
    ``problem`` why its page was not read again."""

    id: str
    title: str
    format: str
    parts: int
    status: IntakeStatus | None = None
    passages: int | None = None
    warnings: list[str] = field(default_factory=list)
    kind: str | None = None
    size: int | None = None
    created_at: str | None = None
    modified_at: str | None = None
    workspace: str | None = None
    uri: str | None = None
    collection: str | None = None
    thread: str | None = None
    author: str | None = None
    private: bool = False
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class DocumentList:
    """Documents, stored last first. ``total`` counts all that fit."""

    documents: list[DocumentSummary]
    total: int
    truncated: bool = False
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class RemovedDocuments:
    """What is gone, with its passages and vectors."""

    removed: list[str] = field(default_factory=list)


async def remove(call: Call, args: DocumentListing) -> RemovedDocuments:
    """Delete documents of the caller's. Raises ``NotFound`` for one that is not, and then deletes none."""
    if not args.ids:
        raise InvalidArgument("ids", "is needed: the documents")
    return RemovedDocuments(await storage.remove(call.vault, call.actor, args.ids, args.reason))


async def list_page(call: Call, args: DocumentListing, only: DocumentFilter) -> DocumentList:
    """A page of the documents the caller may see."""
    found, total = await call.vault.db.read(lambda tx: reading.find_documents(tx, call.actor, only, args.limit + 1))
    rows = [_to_summary(each) for each in found[: args.limit]]
    shown = await token_budget.fit_rows(call.vault, rows, args.max_tokens)
    more = len(found) > len(shown)
    return DocumentList(shown, total, more, shown[-1].id if more else None)


def _to_summary(listed: ListedDocument) -> DocumentSummary:
    document, fields = listed.document, listed.document.fields
    problem = fields.metadata.get("reread_problem")
    return DocumentSummary(
        id=document.id,
        title=fields.title,
        kind=fields.kind,
        format=fields.format,
        parts=listed.parts,
        size=listed.size,
        created_at=fields.created_at,
        modified_at=fields.modified_at,
        workspace=fields.workspace,
        uri=fields.uri,
        collection=fields.collection,
        thread=fields.thread,
        author=fields.author,
        private=fields.visibility == "private",
        problem=problem if isinstance(problem, str) else None,
    )
