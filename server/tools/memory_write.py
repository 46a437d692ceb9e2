"""Memories written: small typed records an agent keeps, corrects, replaces and forgets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from auth.roles import Role
from server.allowance import store_quota
from server.call import Call
from server.rendering.plain_text import TextAnswer, outline
from server.tool_spec import COMMON_ARGUMENTS, EDITS, REMOVES, UNNAMED, Action, Arguments, tool
from server.tools._lines import to_line
from server.tools._memories import Id, Ids
from vaults.activity_log.entries import ActivityEntry
from vaults.domain.actors import workspace_key
from vaults.domain.memories import creation, lifecycle, relations
from vaults.domain.memories.lifecycle import MemoryChange, MemoryReplacement
from vaults.domain.memories.memory_model import (
    AppliesTo,
    Commit,
    Confidence,
    Content,
    Keywords,
    Memory,
    MemoryFields,
    Metadata,
    Position,
    Tags,
    Title,
    TtlDays,
    Visibility,
)
from vaults.domain.memories.storage import StoreResult
from vaults.domain.text.fields import Label, Tag, Text
from vaults.memory_types import MemoryType

Reason = Annotated[Text | None, Field(max_length=500, description="why, for whoever reads later")]


class RememberArguments(Arguments, MemoryFields):
    idempotency_key: Annotated[Label | None, Field(description="the same key again stores nothing new")] = None
    on_duplicate: Annotated[Literal["return", "store", "supersede"], Field(description="if known")] = "return"

    @model_validator(mode="after")
    def _one_name(self) -> RememberArguments:
        if self.key is not None and self.external_id is not None:
            raise ValueError("must have key or external_id, not both")
        return self


def _stored_text(stored: StoreResult) -> TextAnswer:
    known = " It was known already." if stored.duplicate_of == stored.id else ""
    vector = " Its vector is still to come." if stored.embedding == "pending" else ""
    merged = [*outline({"added": stored.added}), *outline({"kept as it was": stored.kept})] if known else []
    near = [f"similar: {near.id}, {near.score:g}, {near.title}" for near in stored.similar]
    against = [f"contradicts {other.id}, {other.title}: {other.why}" for other in stored.contradicts]
    under = f" under the key {to_line(stored.key)}" if stored.key else ""
    done = f"Stored {stored.id}" if stored.version is None else f"Changed {stored.id} to version {stored.version}"
    title = to_line(stored.title)
    end = "" if title.endswith((".", "!", "?", "…")) else "."
    head = f"{done}{under}: {title}{end}{known}{vector}"
    return TextAnswer(head, [*merged, *near, *against], stored.warnings)


def _shared_thread(name: str | None, visibility: str) -> tuple[str, ...]:
    """The thread a session touched, for all to see: not by what is private."""
    return (name,) if name and visibility == "shared" else ()


def _stored_entry(args: RememberArguments, stored: StoreResult) -> ActivityEntry:
    threads = _shared_thread(args.thread, args.visibility)
    if stored.version is not None:
        return ActivityEntry("memory_updated", stored.id, "changed a memory", threads)
    if stored.added:
        return ActivityEntry("memory_updated", stored.id, "told a memory again, with more beside its text", threads)
    if stored.duplicate_of == stored.id:
        return ActivityEntry("memory_known", stored.id, "stored nothing new", threads)
    return ActivityEntry("memory_stored", stored.id, f"stored a memory of type {args.type}", threads)


_HIDDEN_ARGS = (
    "metadata", "workspace", "keywords", "author", "parent", "position", "ttl_days", "tier", "external_id",
    "idempotency_key", "anchor_commit",
)  # fmt: skip


@tool(
    role=Role.WRITER,
    render=_stored_text,
    summary="store a memory",
    hidden_args=_HIDDEN_ARGS,
    activity_entry=_stored_entry,
)
async def remember(call: Call, args: RememberArguments) -> StoreResult:
    """Keep what later sessions need: use it when a decision fell, a fix worked, a fact or preference came up. One
    thing per memory, understandable on its own. Names near duplicates, to supersede instead of repeating."""
    given = args.model_dump(include=set(MemoryFields.model_fields), exclude_unset=True)  # a key changes these alone
    fields = MemoryFields.model_validate(given)
    return await creation.remember(
        call.vault,
        call.actor,
        fields,
        on_duplicate=args.on_duplicate,
        key=args.idempotency_key,
        quota=store_quota(call),
    )


class MemoryUpdateArguments(Arguments):
    id: Id
    content: Content | None = None
    title: Title | None = None
    type: Annotated[MemoryType | None, Field(description="what kind of memory")] = None
    tags: Tags | None = None
    add_tags: Annotated[list[Tag], Field(max_length=20, description="tags to add")] = []
    remove_tags: Annotated[list[Tag], Field(max_length=20, description="tags to take off")] = []
    metadata: Metadata | None = None
    thread: Annotated[Label | None, Field(description="line of work")] = None
    applies_to: AppliesTo | None = None
    workspace: Annotated[Label | None, Field(description="project")] = None
    entity: Annotated[Label | None, Field(description="person or thing it is about")] = None
    keywords: Keywords | None = None
    author: Annotated[Label | None, Field(description="who said it")] = None
    parent: Annotated[Label | None, Field(description="what it is part of")] = None
    position: Position | None = None
    confidence: Confidence | None = None
    occurred_at: Annotated[Label | None, Field(description="when it happened, RFC 3339")] = None
    ttl_days: TtlDays | None = None
    visibility: Annotated[Visibility | None, Field(description="private: only you find it")] = None
    tier: Annotated[
        Literal["hot", "warm", "cold", "archived"] | None, Field(description="archived: forgotten, but kept")
    ] = None
    anchor_commit: Commit | None = None
    expected_version: Annotated[int | None, Field(ge=1, description="only if at this version")] = None

    @model_validator(mode="after")
    def _changes_something(self) -> MemoryUpdateArguments:
        if not self.model_fields_set - {"id", "expected_version", *COMMON_ARGUMENTS}:
            raise ValueError("must change at least one field")
        return self


_NOT_FIELDS = {"id", "add_tags", "remove_tags", "expected_version", *COMMON_ARGUMENTS}


@tool(
    role=Role.WRITER,
    effect=EDITS,
    render=lambda memory: " ".join(
        [
            f"{memory.id} is at version {memory.version}: {to_line(memory.title)}.",
            *(f"{each}." for each in memory.warnings or ()),
        ]
    ),
    summary="change a memory",
    hidden_args=(
        "type",
        "tags",
        "metadata",
        "applies_to",
        "workspace",
        "entity",
        "keywords",
        "author",
        "parent",
        "position",
        "occurred_at",
        "ttl_days",
        "visibility",
        "anchor_commit",
    ),
    activity_entry=lambda args, memory: ActivityEntry(
        "memory_updated", memory.id, "changed a memory", _shared_thread(args.thread, memory.visibility)
    ),
)
async def memory_update(call: Call, args: MemoryUpdateArguments) -> Memory:
    """Correct a memory or its labels. Use it for slips: what was true once is better superseded, so that the old state
    stays traceable; discover_tools tells how."""
    fields: dict[str, Any] = {
        name: value for name, value in args.model_dump(exclude=_NOT_FIELDS).items() if value is not None
    }
    archived = None
    if "tier" in fields:
        archived = fields["tier"] == "archived"
        if archived:
            del fields["tier"]
    if "workspace" in fields:
        fields["workspace"] = workspace_key(fields["workspace"])
    change = MemoryChange(fields, args.add_tags, args.remove_tags, archived, args.expected_version)
    return await lifecycle.update(call.vault, call.actor, args.id, change, store_quota(call))


class MemoryForgetArguments(Arguments):
    ids: Ids
    reason: Reason = None
    purge: Annotated[bool, Field(description="admin only: delete for good instead of archiving")] = False


@dataclass(frozen=True, slots=True)
class MemoryForgetResult:
    """The memories that were archived, or purged."""

    forgotten: list[str]
    purged: bool


PURGING = Action(Role.ADMIN, "delete memories for good", destroys=True)
FORGETTING = Action(Role.WRITER, "take memories out of recall", instead={("purge", True): PURGING})


@tool(
    role=Role.WRITER,
    effect=REMOVES,
    render=lambda done: f"{'Purged' if done.purged else 'Archived'}: {', '.join(done.forgotten)}.",
    hidden_args=("purge",),
    actions={UNNAMED: FORGETTING},
    activity_entry=lambda _, gone: ActivityEntry(
        "memory_archived",
        gone.forgotten[0] if gone.forgotten else None,
        f"{'deleted' if gone.purged else 'archived'} memories",  # uncounted: some may be private
    ),
)
async def memory_forget(call: Call, args: MemoryForgetArguments) -> MemoryForgetResult:
    """Take memories out of recall. Use it when they are wrong or useless; they stay readable by id unless purged."""
    if args.purge:
        return MemoryForgetResult(await lifecycle.purge(call.vault, call.actor, args.ids, args.reason), purged=True)
    return MemoryForgetResult(await lifecycle.forget(call.vault, call.actor, args.ids, args.reason), purged=False)


class MemorySupersedeArguments(Arguments):
    id: Id
    content: Content
    title: Title | None = None
    reason: Reason = None


@tool(
    role=Role.WRITER,
    effect=EDITS,
    preset="notes",
    render=lambda stored: f"Now {stored.id}: {to_line(stored.title)}.",
    summary="replace a memory",
    activity_entry=lambda _, stored: ActivityEntry("memory_stored", stored.id, "replaced a memory"),
)
async def memory_supersede(call: Call, args: MemorySupersedeArguments) -> StoreResult:
    """Replace a memory when what it says changed. The new one is found from now on; the old one stays traceable."""
    new = MemoryReplacement(args.content, args.title, args.reason)
    return await lifecycle.supersede(call.vault, call.actor, args.id, new, store_quota(call))


class MemoryLinkArguments(Arguments):
    from_id: Id
    relation: Annotated[Label, Field(description="such as causes, contradicts, part_of, about")]
    to_id: Annotated[
        Text,
        Field(min_length=1, max_length=1024, description="a memory's id, a note's path or title, or entity:Name"),
    ]
    remove: Annotated[bool, Field(description="take the link away")] = False


@dataclass(frozen=True, slots=True)
class MemoryLinkResult:
    """A relation that was made, or ``removed``. ``to_id``: a memory's id, a note's path, or a name, by ``kind``."""

    from_id: str
    relation: str
    to_id: str
    kind: Literal["memory", "note", "entity"]
    removed: bool = False


def _linked_text(link: MemoryLinkResult) -> str:
    done = "Removed: " if link.removed else ""
    return f"{done}{link.from_id} {to_line(link.relation)} {link.kind} {to_line(link.to_id)}."


@tool(
    role=Role.WRITER,
    preset="notes",
    render=_linked_text,
    summary="link a memory",
    activity_entry=lambda _, link: ActivityEntry("memory_linked", link.from_id, "linked a memory"),
)
async def memory_link(call: Call, args: MemoryLinkArguments) -> MemoryLinkResult:
    """Say how a memory hangs together with another, with a note, or with a person or thing. Use it when one causes,
    contradicts, belongs to or is about the other; memory_get shows it. Links to notes follow them when they move."""
    act = relations.unlink if args.remove else relations.link
    link = await act(call.vault, call.actor, args.from_id, args.relation, args.to_id)
    return MemoryLinkResult(link.from_id, link.relation, link.to_id, link.kind, args.remove)
