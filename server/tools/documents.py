"""What was read in: listed, and removed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from auth.roles import Role
from server.call import Call
from server.tool_spec import EDITS, LOOKS, Action, Arguments, MaxTokens, tool
from vaults.activity_log.entries import ActivityEntry
from vaults.domain.actors import workspace_key
from vaults.domain.documents import reading, storage
from vaults.domain.documents.reading import DocumentFilter, ListedDocument
from vaults.domain.paging import token_budget
from vaults.domain.text.fields import Label, Text
from vaults.domain.text.plurals import pluralize
from vaults.errors import InvalidArgument

REMOVING = Action(Role.WRITER, summary="delete documents for good", destroys=True)


class DocumentsArguments(Arguments):
    action: Annotated[Literal["list", "remove"], Field(description="what to do")] = "list"
    kind: Annotated[Literal["any", "document", "code", "transcript"], Field(description="list: of this kind")] = "any"
    collection: Annotated[Label | None, Field(description="list: in this collection")] = None
    workspace: Annotated[Label | None, Field(description="list: of this project")] = None
    words: Annotated[Text | None, Field(max_length=200, description="list: in the title or address")] = None
    limit: Annotated[int, Field(ge=1, le=200, description="list: documents at most")] = 50
    cursor: Annotated[str | None, Field(max_length=64, description="list: from the page before")] = None
    ids: Annotated[list[Label], Field(max_length=100, description="remove: documents of yours")] = []
    reason: Annotated[Text | None, Field(max_length=500, description="remove: kept in the audit")] = None
    max_tokens: MaxTokens = 4_000


@dataclass(frozen=True, slots=True)
class DocumentSummary:
    """One document; ``fetch`` opens it by its id. ``size`` in characters."""

    id: str
    title: str
    kind: str
    format: str
    parts: int
    size: int
    created_at: str
    modified_at: str
    workspace: str
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


DocumentsResult = Annotated[DocumentList | RemovedDocuments, "The documents, or the ids of those that are gone."]


def _head(found: DocumentList | RemovedDocuments) -> str:
    match found:
        case DocumentList():
            return (
                f"{len(found.documents)} of {pluralize(found.total, 'document')}." if found.total else "No documents."
            )
        case RemovedDocuments():
            return f"Removed {pluralize(len(found.removed), 'document')}."


def _activity_entry(_: DocumentsArguments, found: object) -> ActivityEntry | None:
    if isinstance(found, RemovedDocuments):
        return ActivityEntry("import", None, f"removed {pluralize(len(found.removed), 'document')}")
    return None


@tool(
    role=Role.WRITER,
    head=_head,
    effect=EDITS,
    preset="full",
    actions={"list": LOOKS, "remove": REMOVING},
    activity_entry=_activity_entry,
)
async def documents(call: Call, args: DocumentsArguments) -> DocumentsResult:
    """Documents that were read in: list them, newest first, or delete some of yours. Use it to see what there is, or to
    take back what ingest stored; search with kinds document finds what they say."""
    if args.action == "remove":
        if not args.ids:
            raise InvalidArgument("ids", "is needed: the documents")
        return RemovedDocuments(await storage.remove_batch(call.vault, call.actor, args.ids, args.reason))
    only = DocumentFilter(
        kinds=("document", "code") if args.kind == "any" else (args.kind,),
        collection=args.collection,
        workspace=workspace_key(args.workspace) if args.workspace else None,
        words=args.words,
        before=args.cursor,
    )
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
