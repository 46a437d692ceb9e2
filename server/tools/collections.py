"""Folders that a vault reads besides its notes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from auth.roles import Role
from server.call import Call
from server.tool_spec import EDITS, LOOKS, Action, Arguments, MaxTokens, tool
from vaults.activity_log.entries import ActivityEntry
from vaults.domain.collections import editing
from vaults.domain.collections.collection_model import Collection, CollectionKind
from vaults.domain.collections.editing import CollectionRequest, CollectionView
from vaults.domain.collections.roots import RootRules
from vaults.domain.paging import token_budget
from vaults.domain.text.fields import Label
from vaults.domain.text.plurals import pluralize
from vaults.errors import InvalidArgument

WAIT_S = 3.0
"""Seconds a call waits until what it asked for is read, or deleted."""

PROBLEMS = 5
"""Files of a collection whose problems are listed."""

CollectionsAction = Literal["list", "add", "remove", "rename", "update", "refresh"]
Globs = Annotated[list[Annotated[str, Field(min_length=1, max_length=300)]], Field(max_length=100)]


class CollectionsArguments(Arguments):
    action: Annotated[CollectionsAction, Field(description="what to do")] = "list"
    name: Annotated[Label | None, Field(description="the collection; refresh: all without it")] = None
    new_name: Annotated[Label | None, Field(description="rename: its name from now on")] = None
    root: Annotated[str | None, Field(max_length=1000, description="add, update: absolute path of the folder")] = None
    kind: Annotated[CollectionKind | None, Field(description="add: what is read of it; markdown without it")] = None
    include: Annotated[Globs | None, Field(description="add, update: files to read, such as guides/**/*.md")] = None
    exclude: Annotated[Globs | None, Field(description="add, update: what is left out, as in .gitignore")] = None
    context: Annotated[
        str | None, Field(max_length=300, description="add, update: a line on what it is; its files are found by it")
    ] = None
    workspace: Annotated[Label | None, Field(description="add, update: the workspace it belongs to")] = None
    watch: Annotated[bool | None, Field(description="add, update: false reads it when it is refreshed")] = None
    cursor: Annotated[Label | None, Field(description="list: goes on where an answer ended")] = None
    max_tokens: MaxTokens = 8_000


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A file of which nothing or not all came."""

    path: str
    problem: str


@dataclass(frozen=True, slots=True)
class CollectionSummary:
    """A collection. ``state``: reading, ready, or unavailable, with the reason. ``problems`` counts files of which
    nothing or not all came, ``examples`` are some; ``left_out`` counts files, and folders as one, by reason. ``head``:
    the commit that is checked out."""

    name: str
    kind: str
    root: str
    state: str
    files: int
    documents: int
    bytes: int
    problems: int
    watching: str
    workspace: str
    context: str = ""
    include: list[str] = field(default_factory=list)
    exclude: list[str] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    examples: list[FileProblem] = field(default_factory=list)
    reason: str | None = None
    read_at: str | None = None
    head: str | None = None


@dataclass(frozen=True, slots=True)
class CollectionsResult:
    """The collections by name, after what was asked for; ``total`` counts all where some did not fit. ``pending``: it
    goes on in the background."""

    collections: list[CollectionSummary]
    total: int | None = None
    pending: bool = False
    truncated: bool = False
    cursor: str | None = None


def _head(found: CollectionsResult) -> str:
    more = " It goes on in the background." if found.pending else ""
    if not found.collections:
        return f"No collections.{more}"
    shown = len(found.collections)
    return f"{f'{shown} of ' if found.total else ''}{pluralize(found.total or shown, 'collection')}.{more}"


def _activity_entry(args: CollectionsArguments, _: CollectionsResult) -> ActivityEntry | None:
    if args.action == "list":
        return None
    return ActivityEntry("tool_call", args.name, f"{args.action} collection {args.name or '(all)'}")


@tool(
    role=Role.WRITER,
    head=_head,
    effect=EDITS,
    preset="full",
    actions={
        "list": LOOKS,
        "add": Action(Role.WRITER, "have a folder read into the vault"),
        "remove": Action(Role.WRITER, "remove a collection and its documents from the vault", destroys=True),
        "rename": Action(Role.WRITER, "rename a collection"),
        "update": Action(Role.WRITER, "change which files a collection reads"),
        "refresh": Action(Role.WRITER, "have collections read again"),
    },
    activity_entry=_activity_entry,
)
async def collections(call: Call, args: CollectionsArguments) -> CollectionsResult:
    """Folders that this vault reads besides its notes: Markdown, documents, source code. Use it to see what is there,
    or to add, change and remove one; search with collection looks in one of them. Their files are never written."""
    if args.action == "list":
        return await list_page(call, args, args.name)
    if args.action == "remove":
        done = await editing.remove(call.vault, await _require_name(call, args), WAIT_S)
        return replace(await list_page(call, args, None), pending=not done)
    changed = await _change(call, args)
    done = await editing.wait_until_read(call.vault, changed, WAIT_S)
    only = changed[0].fields.name if len(changed) == 1 else None
    return replace(await list_page(call, args, only), pending=not done)


async def _change(call: Call, args: CollectionsArguments) -> list[Collection]:
    """The collections that were added or changed, which are to be read."""
    if args.action == "add":
        if args.name is None:
            raise InvalidArgument("name", "is needed: what the collection is called")
        return [await editing.add(call.vault, call.actor, args.name, _to_request(args), root_rules(call))]
    if args.action == "refresh" and args.name is None:
        return await editing.refresh(call.vault, None)
    name = await _require_name(call, args)
    if args.action == "refresh":
        return await editing.refresh(call.vault, name)
    if args.action == "update":
        return [await editing.update(call.vault, name, _to_request(args), root_rules(call))]
    if args.new_name is None:
        raise InvalidArgument("new_name", "is needed: the name from now on")
    return [await editing.rename(call.vault, name, args.new_name)]


async def _require_name(call: Call, args: CollectionsArguments) -> str:
    return await call.vault.db.read(lambda tx: editing.require(tx, args.name))


def _to_request(args: CollectionsArguments) -> CollectionRequest:
    return CollectionRequest(
        root=args.root,
        kind=args.kind,
        include=args.include,
        exclude=args.exclude,
        context=args.context,
        workspace=args.workspace,
        watch=args.watch,
    )


def root_rules(call: Call) -> RootRules:
    """Which folders this caller may add: at the machine any but those that vaults keep for themselves."""
    services, vault = call.services, call.vault
    entries = services.registry_cache.entries()
    others = [each.path for each in entries if each.path is not None and each.name != vault.name]
    kept = [services.data, vault.folder, *others, *(services.pool.folder_of(each) for each in entries)]
    allowed = None
    if call.caller.transport == "http":
        allowed = tuple(Path(each).expanduser() for each in services.settings.collections.roots)
    return RootRules(allowed, tuple(dict.fromkeys(each.resolve() for each in kept)), vault.notes.root.resolve())


async def list_page(call: Call, args: CollectionsArguments, only: str | None) -> CollectionsResult:
    """A page of all collections, or one. Raises ``NotFound``."""
    if only is not None:
        await call.vault.db.read(lambda tx: editing.require(tx, only))
    views = await call.vault.db.read(lambda tx: editing.list_views(tx, PROBLEMS))
    every = [_to_summary(each) for each in views if only in (None, each.collection.fields.name)]
    left = [each for each in every if args.cursor is None or each.name > args.cursor]
    shown = await token_budget.fit_rows(call.vault, left, args.max_tokens)
    more = len(shown) < len(left)
    total = len(every) if len(shown) < len(every) else None
    return CollectionsResult(shown, total, truncated=more, cursor=shown[-1].name if more else None)


def _to_summary(view: CollectionView) -> CollectionSummary:
    fields, state = view.collection.fields, view.state
    return CollectionSummary(
        name=fields.name,
        kind=fields.kind,
        root=str(fields.root),
        state=state.phase if view.is_read else "reading",
        files=state.files,
        documents=state.documents,
        bytes=state.bytes,
        problems=state.problems,
        watching=state.watching if fields.watch else "on demand",
        workspace=fields.workspace,
        context=fields.context,
        include=list(fields.include),
        exclude=list(fields.exclude),
        left_out=dict(state.left_out),
        examples=[FileProblem(path, problem) for path, problem in view.problems],
        reason=state.reason,
        read_at=state.read_at,
        head=state.head,
    )
