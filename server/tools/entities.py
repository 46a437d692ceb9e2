"""The people, things and ideas a vault speaks of: their names, and making two of them one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import Field

from auth.roles import Role
from server.call import Call
from server.tool_spec import EDITS, LOOKS, Action, Arguments, MaxTokens, tool
from server.tools._lines import describe_change, describe_followed_links
from server.tools._notes import DryRun, Etag, note_change_entry
from vaults.activity_log.entries import ActivityEntry
from vaults.domain.graph.entities import entity_lists as domain
from vaults.domain.graph.entities import merge_proposals, note_aliases, note_merges
from vaults.domain.graph.entities.alias_ideas import AliasIdea
from vaults.domain.graph.entities.duplicates import MergeCandidate
from vaults.domain.graph.entities.entity_lists import EntityKind, EntityPage, EntitySort
from vaults.domain.notes.edit.amendments import EditOptions
from vaults.domain.notes.edit.edit_results import EditResult
from vaults.domain.paging import token_budget
from vaults.domain.text.fields import Label, Text
from vaults.errors import InvalidArgument

EntitiesAction = Literal[
    "list", "alias", "suggest_aliases", "merge", "suggest_merges", "dismiss_merge", "dismiss_prospect"
]  # fmt: skip
Name = Annotated[Text | None, Field(min_length=1, max_length=1024)]
OptionalName = Annotated[Label | None, Field()]


class EntitiesArguments(Arguments):
    action: Annotated[EntitiesAction, Field(description="what to do")] = "list"
    entity: Annotated[Name, Field(description="a note's path, title or alias; merge: the one that goes")] = None
    into: Annotated[Name, Field(description="merge, dismiss_merge: the one that stays")] = None
    alias: Annotated[OptionalName, Field(description="alias: the further name")] = None
    remove: Annotated[bool, Field(description="alias: take it away")] = False
    keep_text: Annotated[bool, Field(description="merge: append the text of the note that goes")] = True
    undo: Annotated[bool, Field(description="dismiss_*: propose it again")] = False
    kind: Annotated[EntityKind | None, Field(description="list: with a note, only in memories, only linked to")] = None
    category: Annotated[OptionalName, Field(description="list: such as person")] = None
    prefix: Annotated[OptionalName, Field(description="list: a name begins so")] = None
    contains: Annotated[OptionalName, Field(description="list: a name holds this")] = None
    has_aliases: Annotated[bool | None, Field(description="list: only with, or without, aliases")] = None
    sort_by: Annotated[EntitySort, Field(description="list: most central, most mentioned, or by name")] = "hub"
    limit: Annotated[int, Field(ge=1, le=200, description="entities or proposals at most")] = 30
    cursor: Annotated[str | None, Field(max_length=4000, description="list: from the page before")] = None
    max_tokens: MaxTokens = 3000
    dry_run: DryRun = False
    etag: Etag = None
    entity_etag: Etag = None


@dataclass(frozen=True, slots=True)
class EntityProposal:
    """``one`` may be the same as ``into``. ``do``: merge, or alias where ``one`` has no note. ``score``: 0 to 100."""

    one: str
    into: str
    do: Literal["merge", "alias"]
    score: float
    because: list[str]


@dataclass(frozen=True, slots=True)
class AliasIdeas:
    """Of suggest_aliases."""

    aliases: list[AliasIdea]
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class EntityProposals:
    """Of suggest_merges."""

    merges: list[EntityProposal]
    total: int
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class ProposalDismissal:
    """Of dismiss_merge and dismiss_prospect."""

    dismissed: bool


EntitiesResult = Annotated[
    EntityPage | AliasIdeas | EntityProposals | EditResult | ProposalDismissal,
    """Of list: ``entities`` of ``total``. Of suggestions: ``aliases`` or ``merges``. Of a change: what every change of
    a note answers; ``links``: how many were rewritten, in ``others`` too. ``dismissed``: whether it is now.""",
    "entities total truncated cursor categories aliases merges path etag changed change links others diff dismissed"
    " warnings",
]

EDITING = Action(Role.WRITER, "change what notes are called, or merge two")
DISMISSING = replace(EDITING, dry_run=False)


def _activity_entry(args: EntitiesArguments, done: EntitiesResult) -> ActivityEntry | None:
    verb = "merged a note into" if args.action == "merge" else "changed the aliases of"
    return note_change_entry(verb)(args, done)


def _head(found: EntitiesResult) -> str:
    match found:
        case EntityPage():
            return f"{len(found.entities)} of {found.total} entities."
        case AliasIdeas():
            return f"{len(found.aliases)} aliases notes could have." if found.aliases else "No alias to suggest."
        case EntityProposals():
            return (
                f"{len(found.merges)} of {found.total} that may be one thing." if found.merges else "Nothing to merge."
            )
        case EditResult():
            return describe_change(found) + describe_followed_links(found)
        case ProposalDismissal():
            return "It is not proposed any more." if found.dismissed else "It may be proposed again."


@tool(
    role=Role.READER,
    effect=EDITS,
    head=_head,
    preset="notes",
    actions={
        "list": LOOKS,
        "suggest_aliases": LOOKS,
        "suggest_merges": LOOKS,
        "alias": EDITING,
        "merge": replace(EDITING, instead={("keep_text", False): replace(EDITING, destroys=True)}),
        "dismiss_merge": DISMISSING,
        "dismiss_prospect": DISMISSING,
    },
    activity_entry=_activity_entry,
)
async def entities(call: Call, args: EntitiesArguments) -> EntitiesResult:
    """The people, things and ideas of this vault, whether they have a note, stand in memories or are only linked to.
    Use it to learn what something is called here, and to tidy: alias adds a name to a note, merge makes one note of two
    (links, names and text follow; one change, undone by history), suggest_* find what to tidy."""
    return await _HANDLERS[args.action](call, args)


async def _list(call: Call, args: EntitiesArguments) -> EntityPage:
    wanted = domain.EntityFilter(
        kind=args.kind,
        category=args.category,
        prefix=args.prefix,
        contains=args.contains,
        has_aliases=args.has_aliases,
        sort_by=args.sort_by,
    )
    return await domain.list_entities(call.vault, call.actor, wanted, (args.limit, args.max_tokens), args.cursor)


def _require(value: str | None, name: str, what: str) -> str:
    if value is None:
        raise InvalidArgument(name, f"is needed: {what}")
    return value


async def _alias(call: Call, args: EntitiesArguments) -> EditResult:
    name = _require(args.alias, "alias", "the name to add or take away")
    terms = EditOptions("entities", args.etag, args.dry_run, session=call.session.id)
    asked = note_aliases.AliasRequest(_require(args.entity, "entity", "the note to name"), name, args.remove, terms)
    return await note_aliases.change_alias(call.vault, call.actor, asked)


async def _suggest_aliases(call: Call, args: EntitiesArguments) -> AliasIdeas:
    found = await note_aliases.suggest_aliases(call.vault, call.actor, args.entity, args.limit + 1)
    kept = await token_budget.fit_rows(call.vault, found[: args.limit], args.max_tokens)
    return AliasIdeas(kept, len(kept) < len(found))


async def _merge(call: Call, args: EntitiesArguments) -> EditResult:
    gone, into = (
        _require(args.entity, "entity", "the note that goes"),
        _require(args.into, "into", "the note that stays"),
    )
    asked = note_merges.MergeRequest(
        gone=gone,
        into=into,
        keep_text=args.keep_text,
        dry_run=args.dry_run,
        etag=args.etag,
        gone_etag=args.entity_etag,
        session=call.session.id,
    )
    return await note_merges.merge_notes(call.vault, call.actor, asked)


async def _suggest_merges(call: Call, args: EntitiesArguments) -> EntityProposals:
    found, total = await merge_proposals.propose_merges(call.vault, call.actor, args.entity, args.limit)
    kept = await token_budget.fit_rows(call.vault, [_proposal(each) for each in found], args.max_tokens)
    return EntityProposals(kept, total, total > len(kept))


def _proposal(pair: MergeCandidate) -> EntityProposal:
    one = pair.one.path or pair.one.name
    do: Literal["merge", "alias"] = "merge" if pair.one.path else "alias"
    return EntityProposal(one, pair.into.path or pair.into.name, do, pair.score, list(pair.because))


async def _dismiss_merge(call: Call, args: EntitiesArguments) -> ProposalDismissal:
    names = _require(args.entity, "entity", "one of the two"), _require(args.into, "into", "the other")
    await merge_proposals.dismiss_merge(call.vault, call.actor, names, undo=args.undo)
    return ProposalDismissal(not args.undo)


async def _dismiss_prospect(call: Call, args: EntitiesArguments) -> ProposalDismissal:
    name = _require(args.entity, "entity", "the name that is to have no note")
    await merge_proposals.dismiss_prospect(call.vault, call.actor, name, undo=args.undo)
    return ProposalDismissal(not args.undo)


_HANDLERS: Mapping[str, Callable[[Call, EntitiesArguments], Awaitable[EntitiesResult]]] = {
    "list": _list,
    "alias": _alias,
    "suggest_aliases": _suggest_aliases,
    "merge": _merge,
    "suggest_merges": _suggest_merges,
    "dismiss_merge": _dismiss_merge,
    "dismiss_prospect": _dismiss_prospect,
}
